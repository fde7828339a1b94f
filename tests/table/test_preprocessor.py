"""The preprocessor as a whole: laws that hold for every table."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from modernnca.errors import TableError
from modernnca.table.categorical import CATEGORICAL_ENCODINGS
from modernnca.table.feature_selection import is_wide
from modernnca.table.preprocessor import PreprocessingConfig, Preprocessor
from modernnca.table.schema import read_table

STANDARDIZE = pytest.mark.parametrize("standardize", [True, False])
ENCODINGS = pytest.mark.parametrize("encoding", CATEGORICAL_ENCODINGS)


def preprocessor(**changes):
    """An unfitted one that treats all numbers and all columns alike."""
    options = {"max_plain_values": 0, "time_features": "column", **changes}
    return Preprocessor(PreprocessingConfig.defaults().updated(options))


def mixed_frame(n_rows=80, seed=0):
    rng = np.random.RandomState(seed)
    frame = pd.DataFrame(
        {
            "number": rng.randn(n_rows),
            "count": rng.randint(0, 3, n_rows),
            "gapped": rng.randn(n_rows),
            "flag": rng.rand(n_rows) > 0.5,
            "city": rng.choice(["Rome", "Bern", "Oslo"], n_rows),
            "when": pd.Timestamp("2024-01-01")
            + pd.to_timedelta(rng.randint(0, 10**5, n_rows), unit="min"),
            "day": [f"2024-01-{day:02}" for day in rng.randint(1, 29, n_rows)],
            "id": [f"k{row}" for row in range(n_rows)],
            "same": 1.0,
        }
    )
    frame.loc[::9, ["gapped", "city", "when", "day"]] = None
    return frame


def assert_same(left, right):
    for one, other in zip(left, right, strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)


def through_json(fitted):
    """The same preprocessor, from a state of which only arrays are not JSON."""
    arrays = []

    def put(value):
        assert isinstance(value, np.ndarray)
        arrays.append(value)
        return {"array": len(arrays) - 1}

    def get(found):
        return arrays[found["array"]] if set(found) == {"array"} else found

    text = json.dumps(fitted.state(), default=put)
    return Preprocessor.from_state(json.loads(text, object_hook=get))


@pytest.fixture
def frame():
    return mixed_frame()


@pytest.fixture
def table(frame):
    return read_table(frame)


def test_widths_are_as_documented(table):
    fitted = preprocessor(max_plain_values=3).fit(table)
    encoded = fitted.transform(table)
    n = len(table)
    # number, gapped; days, day, weekday, hour of `when`; days, day, weekday of `day`
    assert encoded.numbers.shape == (n, fitted.n_numbers) == (n, 2 + 4 + 3)
    # count; month of `when` (January to March); indicators of gapped, when and day
    assert encoded.plain.shape == (n, fitted.n_plain) == (n, 1 + 1 + 3)
    assert encoded.codes.shape == (n, fitted.n_codes) == (n, 2)
    assert fitted.n_levels == 2 + 4
    assert [part.dtype for part in encoded] == [np.float32, np.float32, np.int64]


@STANDARDIZE
@ENCODINGS
def test_rows_are_encoded_each_by_itself(table, standardize, encoding):
    unfitted = preprocessor(standardize=standardize, categorical_encoding=encoding)
    fitted = unfitted.fit(table)
    whole = fitted.transform(table)
    for row in (0, 1, 79):
        alone = fitted.transform(table.take(np.array([row])))
        assert_same(alone, [part[[row]] for part in whole])


def test_the_order_of_rows_does_not_matter(table):
    order = np.random.RandomState(0).permutation(len(table))
    found = preprocessor().fit(table.take(order)).transform(table)
    for one, other in zip(
        found, preprocessor().fit(table).transform(table), strict=True
    ):
        np.testing.assert_allclose(one, other, atol=1e-6)


def test_the_order_of_named_columns_does_not_matter(frame):
    fitted = preprocessor().fit(read_table(frame))
    turned = read_table(frame[frame.columns[::-1]])
    assert_same(fitted.transform(turned), fitted.transform(read_table(frame)))


def test_every_frame_and_array_gives_the_same_arrays(frame):
    expected = preprocessor().fit(read_table(frame)).transform(read_table(frame))
    for same in (
        pl.from_pandas(frame),
        pa.Table.from_pandas(frame, preserve_index=False),
        frame.to_numpy(dtype=object),
        frame.to_numpy(dtype=object).tolist(),
        frame.convert_dtypes(),
        frame.astype({"city": "category"}),
    ):
        table = read_table(same)
        assert_same(preprocessor().fit(table).transform(table), expected)


@STANDARDIZE
@ENCODINGS
def test_a_state_through_json_and_arrays_encodes_the_same(table, standardize, encoding):
    fitted = preprocessor(
        standardize=standardize,
        categorical_encoding=encoding,
        max_plain_values=3,
        categorical_features=(0,),
    ).fit(table)
    again = through_json(fitted)
    new = read_table(mixed_frame(seed=1))
    assert_same(again.transform(new), fitted.transform(new))
    assert again.schema_ == fitted.schema_
    names = ("n_numbers", "n_plain", "n_codes", "n_levels")
    assert [getattr(again, n) for n in names] == [getattr(fitted, n) for n in names]


@pytest.mark.parametrize("positions", [(np.int64(0),), np.array([0])])
def test_positions_of_numpys_types_are_json_too(table, positions):
    fitted = preprocessor(categorical_features=positions).fit(table)
    assert through_json(fitted).schema_ == fitted.schema_


def test_nothing_is_learned_in_transform(table):
    fitted = preprocessor().fit(table)
    before = fitted.transform(table)
    fitted.transform(read_table(mixed_frame(seed=1)))
    assert_same(fitted.transform(table), before)


def test_gaps_and_levels_that_first_appear_at_prediction_are_encoded():
    rows = [[1.0, "a"], [2.0, "a"], [3.0, "b"], [6.0, "b"]]
    fitted = preprocessor().fit(read_table(rows))
    found = fitted.transform(read_table([[None, "c"], [np.nan, None], [3, "b"]]))
    assert found.numbers.ravel().tolist() == [0, 0, 0]
    assert found.plain.shape == (3, 0)
    assert found.codes.ravel().tolist() == [2, 2, 1]


def test_gaps_of_training_rows_have_an_indicator():
    table = read_table([[1.0], [None], [3.0]])
    assert preprocessor().fit(table).transform(table).plain.ravel().tolist() == [
        0,
        1,
        0,
    ]
    assert preprocessor(missing_indicators=False).fit(table).n_plain == 0


def test_a_constant_with_gaps_becomes_its_indicator_alone():
    table = read_table([[7.0], [None], [7.0]])
    fitted = preprocessor().fit(table)
    assert (fitted.n_numbers, fitted.n_plain) == (0, 1)


@pytest.mark.parametrize(
    "rows", [[[7, "a"]] * 4, [["k1"], ["k2"], ["k3"]], [[None], [None]], [[5.0]]]
)
def test_a_table_without_variation_has_one_column_of_zeros(rows):
    table = read_table(rows)
    fitted = preprocessor().fit(table)
    found = fitted.transform(table)
    assert found.plain.tolist() == [[0.0]] * len(rows)
    assert (fitted.n_numbers, fitted.n_plain, fitted.n_codes) == (0, 1, 0)


@STANDARDIZE
def test_everything_comes_out_finite(standardize):
    rng = np.random.RandomState(0)
    x = rng.randn(50, 6) * [1, 1e300, 1e-300, 1, 1e38, 1]
    x[::3, 0], x[::4, 3], x[::5, 5] = np.inf, -np.inf, np.nan
    fitted = preprocessor(standardize=standardize).fit(read_table(x))
    far = np.array([[np.inf] * 6, [-np.inf] * 6, [1.7e308] * 6, [np.nan] * 6])
    found = fitted.transform(read_table(np.r_[x, far]))
    assert np.isfinite(found.numbers).all()
    assert np.isfinite(found.plain).all()


def test_numbers_with_few_values_are_not_encoded():
    x = np.c_[np.tile([0.0, 1.0], 10), np.arange(20.0)]
    fitted = preprocessor(max_plain_values=2).fit(read_table(x))
    found = fitted.transform(read_table(x))
    assert (fitted.n_numbers, fitted.n_plain) == (1, 1)
    assert found.plain.ravel().tolist() == [-1.0, 1.0] * 10


def test_a_column_of_another_kind_is_refused(frame):
    fitted = preprocessor().fit(read_table(frame))
    with pytest.raises(TableError, match="'number' held numbers in fit"):
        fitted.transform(read_table(frame.assign(number="abc")))


def test_columns_are_described_in_words(table):
    rows = {
        row["name"]: row
        for row in preprocessor(max_plain_values=3).fit(table).describe()
    }
    assert rows["number"] == {
        "name": "number",
        "kind": "number",
        "treatment": "standardized",
        "n_distinct": 80,
        "share_missing": 0.0,
    }
    words = {name: row["treatment"] for name, row in rows.items()}
    assert words["count"] == "standardized, not encoded"
    assert words["gapped"] == "standardized, missing indicator"
    assert words["flag"] == "2 levels"
    assert words["city"] == "4 levels"
    assert words["day"] == (
        "dates in text: days, day, weekday, standardized, missing indicator"
    )
    assert words["id"] == "dropped: it identifies the rows"
    assert words["same"] == "dropped"
    assert rows["city"]["share_missing"] == pytest.approx(9 / 80)
    grouped = preprocessor().fit(read_table([["a"], ["a"], ["b"], ["c"]])).describe()
    assert grouped[0]["treatment"] == "2 levels, 2 rare ones grouped"


def test_numbers_that_are_not_standardized_are_described(table):
    rows = preprocessor(standardize=False).fit(table).describe()
    words = {row["name"]: row["treatment"] for row in rows}
    assert words["number"] == "as it is"


def test_an_unknown_encoding_is_named(table):
    with pytest.raises(ValueError, match="Unknown categorical encoding 'best'"):
        preprocessor(categorical_encoding="best").fit(table)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"categorical_encoding": "best"},
            "categorical_encoding must be one of: grouped, onehot; got 'best'.",
        ),
        (
            {"time_features": "best"},
            "time_features must be one of: both, column, fourier, none, seasons; "
            "got 'best'.",
        ),
        (
            {"categorical_features": "city"},
            "categorical_features must be a list of column names or positions; "
            "got 'city'.",
        ),
        ({"standardize": 1}, "standardize must be True or False; got 1."),
        (
            {"max_plain_values": -1},
            "max_plain_values must be a whole number of at least 0; got -1.",
        ),
    ],
)
def test_bad_options_are_named_with_what_is_allowed(changes, message):
    with pytest.raises(ValueError) as error:
        preprocessor(**changes).config.check()
    assert str(error.value) == message


def test_the_defaults_pass_their_check():
    config = PreprocessingConfig.defaults()
    config.check()
    assert config.max_plain_values == 2
    assert config.time_features == "seasons"


# ------------------------------------------------------------------- time columns


@pytest.mark.parametrize(
    ("time_features", "n_numbers", "n_plain"),
    [
        # days, month, day, weekday and hour of `when`, and its indicator, or
        # 12 Fourier features (week, day; 69 days are not a year), and a trend
        ("column", 5, 1),
        ("seasons", 0, 12),
        ("fourier", 0, 13),
        ("both", 5, 14),
        ("none", 0, 1),  # nothing is left: a column of zeros
    ],
)
def test_what_becomes_of_the_time_column(frame, time_features, n_numbers, n_plain):
    table = read_table(frame[["when"]])
    fitted = preprocessor(time_column="when", time_features=time_features).fit(table)
    encoded = fitted.transform(table)
    assert (fitted.n_numbers, fitted.n_plain) == (n_numbers, n_plain)
    assert encoded.numbers.shape == (80, n_numbers)
    assert encoded.plain.shape == (80, n_plain)
    if time_features != "none":
        assert (encoded.plain.std(0) > 0).all()
        words = fitted.describe()[0]["treatment"]
        n_fourier = n_plain - (n_numbers > 0)
        assert (f"{n_fourier} Fourier features" in words) == (n_fourier > 0)


def test_a_time_column_listed_as_categories_is_refused(table):
    with pytest.raises(ValueError) as error:
        preprocessor(time_column="when", categorical_features=["when"]).fit(table)
    assert str(error.value) == (
        "The time_column 'when' is also listed in categorical_features; "
        "remove it from one of them."
    )


# ------------------------------------------------------------- feature selection


def wide_frame(n_rows=120, n_columns=300):
    rng = np.random.RandomState(0)
    x = rng.randn(n_rows, n_columns)
    frame = pd.DataFrame(x, columns=[f"gene {i}" for i in range(n_columns)])
    frame["tissue"] = np.where(x[:, 3] > 0, "liver", "lung")
    frame["batch"] = rng.choice(list("abcdef"), n_rows)
    return frame, np.eye(2)[(x[:, 3] + 0.3 * x[:, 11] > 0).astype(int)]


def unused(fitted):
    return {column.name for column in fitted.schema_.columns if column.kind == "unused"}


def test_wide_tables_keep_the_relevant_columns():
    frame, values = wide_frame()
    fitted = preprocessor().fit(read_table(frame), values)
    selection = fitted.selection_
    assert selection.n_columns == 302
    assert selection.n_kept == len(selection.kept) < 64
    assert {"gene 3", "tissue"} <= set(selection.kept)
    assert unused(fitted) == set(frame.columns) - set(selection.kept)
    encoded = fitted.transform(read_table(frame))
    assert encoded.numbers.shape[1] + encoded.codes.shape[1] == selection.n_kept
    words = {row["name"]: row["treatment"] for row in fitted.describe()}
    assert words["gene 3"] == "standardized"
    dropped = {n for n, word in words.items() if word == "dropped by feature selection"}
    assert dropped == unused(fitted)


def test_dropped_columns_do_not_matter_but_must_be_there():
    frame, values = wide_frame()
    fitted = preprocessor().fit(read_table(frame), values)
    changed = frame.assign(**dict.fromkeys(sorted(unused(fitted)), "?"))
    assert_same(
        fitted.transform(read_table(changed)), fitted.transform(read_table(frame))
    )
    with pytest.raises(TableError, match="lacks the column"):
        fitted.transform(read_table(frame.drop(columns=min(unused(fitted)))))


def test_feature_selection_needs_targets_a_wide_table_and_consent():
    frame, values = wide_frame()
    table = read_table(frame)
    assert is_wide(302, 120)
    assert preprocessor().fit(table).selection_ is None
    assert preprocessor(feature_selection=False).fit(table, values).selection_ is None
    narrow = read_table(frame.iloc[:, :50])
    assert preprocessor().fit(narrow, values).selection_ is None
    for fitted in (
        preprocessor().fit(table),
        preprocessor(feature_selection=False).fit(table, values),
    ):
        assert unused(fitted) == set()


def test_the_time_column_is_kept():
    frame, values = wide_frame()
    frame["gene 0"] = np.arange(len(frame)) / 3  # which is not relevant
    table = read_table(frame)
    without = preprocessor().fit(table, values)
    assert "gene 0" in unused(without)
    fitted = preprocessor(time_column="gene 0").fit(table, values)
    assert fitted.selection_.kept is not None
    assert "gene 0" not in unused(fitted)


def test_equal_seeds_select_equal_columns():
    frame, values = wide_frame()
    table = read_table(frame)
    first, second, other = (
        preprocessor().fit(table, values, seed=seed).selection_ for seed in (0, 0, 1)
    )
    assert first == second
    assert first.errors != other.errors  # of other folds


def test_a_selection_comes_back_from_its_state():
    frame, values = wide_frame()
    fitted = preprocessor().fit(read_table(frame), values)
    again = through_json(fitted)
    assert again.selection_ == fitted.selection_
    assert unused(again) == unused(fitted)
    table = read_table(frame)
    assert_same(again.transform(table), fitted.transform(table))


def test_wide_tables_with_many_numbers_leave_them_unencoded():
    frame, values = wide_frame()
    table = read_table(frame)
    n_numbers = preprocessor().fit(table, values).n_numbers
    assert n_numbers > 1
    for most, encodes in ((n_numbers - 1, False), (n_numbers, True), (np.inf, True)):
        fitted = preprocessor(max_encoded_features=most).fit(table, values)
        assert fitted.encodes_numbers is encodes
    whole = preprocessor(max_encoded_features=1).fit(table)  # nothing was selected
    assert whole.encodes_numbers is True
