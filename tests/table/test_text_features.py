"""Free text: texts that share much are near, and each is encoded by itself."""

import numpy as np
import pandas as pd
import pytest

from modernnca.table.preprocessor import PreprocessingConfig, Preprocessor
from modernnca.table.read import read_table
from modernnca.table.text_features import TextFeatures

WHAT = ("blue cotton shirt", "oak dining table", "steel kitchen knife")
TEXTS = np.array(
    [f"{what} {number:03}" for number in range(60) for what in WHAT], dtype=object
)


def test_texts_that_share_words_are_near():
    features = TextFeatures(4).fit(TEXTS).transform(TEXTS)
    group = np.arange(len(TEXTS)) % 3
    centers = np.stack([features[group == g].mean(0) for g in range(3)])
    distances = ((features[:, None] - centers) ** 2).sum(2)
    assert (distances.argmin(1) == group).all()


def test_a_misspelled_text_is_near_the_text_itself():
    found = TextFeatures(4).fit(TEXTS)
    known, typo, other = found.transform(
        np.array(["oak dining table", "oak dinning tabel", "steel knife"], dtype=object)
    )
    assert np.linalg.norm(known - typo) < np.linalg.norm(known - other) / 2


def test_each_text_is_encoded_by_itself_and_gaps_are_missing():
    found = TextFeatures(4).fit(TEXTS)
    whole = found.transform(TEXTS)
    np.testing.assert_array_equal(found.transform(TEXTS[7:8]), whole[7:8])
    gap = found.transform(np.array([None], dtype=object))
    assert gap.shape == (1, 4)
    assert np.isnan(gap).all()


def test_a_column_of_free_text_becomes_text_features_and_comes_back_from_its_state():
    rng = np.random.RandomState(0)
    table = read_table([[text, rng.randn()] for text in TEXTS])
    unfitted = Preprocessor(PreprocessingConfig.defaults())
    fitted = unfitted.fit(table)
    assert fitted.schema_.columns[0].kind == "text"
    assert fitted.describe()[0]["treatment"] == "16 text features"
    assert fitted.warnings_ == []
    encoded = fitted.transform(table)
    assert encoded.numbers.shape[1] + encoded.plain.shape[1] == 17
    again = Preprocessor.from_state(fitted.state())
    for one, two in zip(again.transform(table), encoded, strict=True):
        np.testing.assert_array_equal(one, two)


def test_without_text_features_the_loss_is_told():
    table = read_table([[text, 1.0] for text in TEXTS])
    config = PreprocessingConfig.defaults().updated({"n_text_features": 0})
    fitted = Preprocessor(config).fit(table)
    assert fitted.describe()[0]["treatment"] == "dropped: no two levels are left"
    (text,) = fitted.warnings_
    assert text.startswith("The column 'x0' has 180 levels, of which 180 are rare and")


def test_texts_that_are_equal_but_for_their_case_are_no_trouble():
    letters = "abcdef"
    texts = [
        "".join(c.upper() if row >> i & 1 else c for i, c in enumerate(letters))
        for row in range(64)
    ]
    table = read_table([[text, row % 3] for row, text in enumerate(texts)])
    config = PreprocessingConfig.defaults().updated({"keep": ["x0"]})
    fitted = Preprocessor(config).fit(table)
    assert np.isfinite(fitted.transform(table).numbers).all()


def test_a_short_column_that_is_dropped_is_told():
    fitted = Preprocessor(PreprocessingConfig.defaults())
    fitted.fit(read_table([[text, row % 3] for row, text in enumerate(TEXTS[:12])]))
    assert fitted.describe()[0]["treatment"] == "dropped: no two levels are left"
    (text,) = fitted.warnings_
    assert "of which 12 are rare and share one code, so it is dropped;" in text


def test_codes_are_categories_though_many_are_rare():
    numbers = np.random.RandomState(0).randint(0, 120, 200)
    codes = [[f"N{number:03}", number] for number in numbers]
    columns = Preprocessor(PreprocessingConfig.defaults()).fit(read_table(codes))
    assert columns.schema_.columns[0].kind == "category"
    # A space, or no digit, and they are texts.
    for form in ("tail {}", "N{}XY"):
        texts = [[form.format(chr(97 + n % 25) * (1 + n // 25)), n] for n in numbers]
        columns = Preprocessor(PreprocessingConfig.defaults()).fit(read_table(texts))
        assert columns.schema_.columns[0].kind == "text"


def test_declared_categories_that_are_grouped_are_told():
    frame = pd.DataFrame({"a": pd.Categorical(TEXTS), "b": np.arange(len(TEXTS)) % 7})
    frame.loc[:99, "a"] = frame.loc[0, "a"]
    fitted = Preprocessor(PreprocessingConfig.defaults()).fit(read_table(frame))
    assert fitted.schema_.columns[0].kind == "category"
    (text,) = fitted.warnings_
    assert text == (
        "The column 'a' has 81 levels, of which 80 are rare and share one code; "
        "config={'categorical_encoding': 'onehot'} gives each its own code."
    )


def test_a_projection_of_another_shape_is_refused():
    with pytest.raises(ValueError, match="a text projection has the shape"):
        TextFeatures.from_state({"projection": np.zeros((3, 2))})
