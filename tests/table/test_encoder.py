"""The encoder as a whole: laws that hold for every table."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from modernnca.errors import TableError
from modernnca.table.categories import CATEGORIES
from modernnca.table.encoder import TableEncoder
from modernnca.table.numbers import NUMBERS
from modernnca.table.schema import read_table


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


@pytest.fixture
def frame():
    return mixed_frame()


@pytest.fixture
def table(frame):
    return read_table(frame)


def test_widths_are_those_said(table):
    encoder = TableEncoder(few_values=3).fit(table)
    encoded = encoder.transform(table)
    n = len(table)
    # number, gapped; days, day, weekday, hour of `when`; days, day, weekday of `day`
    assert encoded.numbers.shape == (n, encoder.n_numbers) == (n, 2 + 4 + 3)
    # count; month of `when` (January to March); the gaps of gapped, when and day
    assert encoded.plain.shape == (n, encoder.n_plain) == (n, 1 + 1 + 3)
    assert encoded.codes.shape == (n, encoder.n_codes) == (n, 2)
    assert encoder.n_levels == 2 + 4
    assert [part.dtype for part in encoded] == [np.float32, np.float32, np.int64]


@pytest.mark.parametrize("numbers", NUMBERS)
@pytest.mark.parametrize("categories", CATEGORIES)
def test_rows_are_encoded_each_by_itself(table, numbers, categories):
    encoder = TableEncoder(numbers=numbers, categories=categories).fit(table)
    whole = encoder.transform(table)
    for row in (0, 1, 79):
        alone = encoder.transform(table.take(np.array([row])))
        assert_same(alone, [part[[row]] for part in whole])


def test_the_order_of_rows_does_not_matter(table):
    order = np.random.RandomState(0).permutation(len(table))
    found = TableEncoder().fit(table.take(order)).transform(table)
    for one, other in zip(
        found, TableEncoder().fit(table).transform(table), strict=True
    ):
        np.testing.assert_allclose(one, other, atol=1e-6)


def test_the_order_of_named_columns_does_not_matter(frame):
    encoder = TableEncoder().fit(read_table(frame))
    turned = read_table(frame[frame.columns[::-1]])
    assert_same(encoder.transform(turned), encoder.transform(read_table(frame)))


def test_every_frame_and_array_gives_the_same_arrays(frame):
    expected = TableEncoder().fit(read_table(frame)).transform(read_table(frame))
    for same in (
        pl.from_pandas(frame),
        pa.Table.from_pandas(frame, preserve_index=False),
        frame.to_numpy(dtype=object),
        frame.to_numpy(dtype=object).tolist(),
        frame.convert_dtypes(),
        frame.astype({"city": "category"}),
    ):
        table = read_table(same)
        assert_same(TableEncoder().fit(table).transform(table), expected)


@pytest.mark.parametrize("numbers", NUMBERS)
@pytest.mark.parametrize("categories", CATEGORIES)
def test_a_state_through_json_and_arrays_encodes_the_same(table, numbers, categories):
    encoder = TableEncoder(
        numbers=numbers,
        categories=categories,
        few_values=3,
        categorical_columns=(np.int64(0),),
    ).fit(table)
    arrays = []

    def put(value):
        assert isinstance(value, np.ndarray)
        arrays.append(value)
        return {"array": len(arrays) - 1}

    def get(found):
        return arrays[found["array"]] if set(found) == {"array"} else found

    text = json.dumps(encoder.state(), default=put)
    again = TableEncoder.from_state(json.loads(text, object_hook=get))
    new = read_table(mixed_frame(seed=1))
    assert_same(again.transform(new), encoder.transform(new))
    assert again.schema_ == encoder.schema_
    names = ("n_numbers", "n_plain", "n_codes", "n_levels")
    assert [getattr(again, n) for n in names] == [getattr(encoder, n) for n in names]


def test_nothing_is_learned_in_transform(table):
    encoder = TableEncoder().fit(table)
    before = encoder.transform(table)
    encoder.transform(read_table(mixed_frame(seed=1)))
    assert_same(encoder.transform(table), before)


def test_gaps_and_levels_that_first_appear_at_prediction_are_encoded():
    rows = [[1.0, "a"], [2.0, "a"], [3.0, "b"], [6.0, "b"]]
    encoder = TableEncoder().fit(read_table(rows))
    found = encoder.transform(read_table([[None, "c"], [np.nan, None], [3, "b"]]))
    assert found.numbers.ravel().tolist() == [0, 0, 0]
    assert found.plain.shape == (3, 0)
    assert found.codes.ravel().tolist() == [2, 2, 1]


def test_gaps_of_fit_are_marked_if_asked():
    table = read_table([[1.0], [None], [3.0]])
    assert TableEncoder().fit(table).transform(table).plain.ravel().tolist() == [
        0,
        1,
        0,
    ]
    assert TableEncoder(indicators=False).fit(table).n_plain == 0


def test_a_number_that_is_there_or_not_is_its_mark_alone():
    table = read_table([[7.0], [None], [7.0]])
    encoder = TableEncoder().fit(table)
    assert (encoder.n_numbers, encoder.n_plain) == (0, 1)


@pytest.mark.parametrize(
    "rows", [[[7, "a"]] * 4, [["k1"], ["k2"], ["k3"]], [[None], [None]], [[5.0]]]
)
def test_a_table_without_variation_has_one_column_of_zeros(rows):
    table = read_table(rows)
    encoder = TableEncoder().fit(table)
    found = encoder.transform(table)
    assert found.plain.tolist() == [[0.0]] * len(rows)
    assert (encoder.n_numbers, encoder.n_plain, encoder.n_codes) == (0, 1, 0)


@pytest.mark.parametrize("numbers", NUMBERS)
def test_everything_comes_out_finite(numbers):
    rng = np.random.RandomState(0)
    x = rng.randn(50, 6) * [1, 1e300, 1e-300, 1, 1e38, 1]
    x[::3, 0], x[::4, 3], x[::5, 5] = np.inf, -np.inf, np.nan
    encoder = TableEncoder(numbers=numbers).fit(read_table(x))
    far = np.array([[np.inf] * 6, [-np.inf] * 6, [1.7e308] * 6, [np.nan] * 6])
    found = encoder.transform(read_table(np.r_[x, far]))
    assert np.isfinite(found.numbers).all()
    assert np.isfinite(found.plain).all()


def test_few_valued_numbers_go_past_the_numerical_encoding():
    x = np.c_[np.tile([0.0, 1.0], 10), np.arange(20.0)]
    encoder = TableEncoder(few_values=2).fit(read_table(x))
    found = encoder.transform(read_table(x))
    assert (encoder.n_numbers, encoder.n_plain) == (1, 1)
    assert found.plain.ravel().tolist() == [-1.0, 1.0] * 10


def test_a_column_of_another_kind_is_refused(frame):
    encoder = TableEncoder().fit(read_table(frame))
    with pytest.raises(TableError, match="'number' held numbers in fit"):
        encoder.transform(read_table(frame.assign(number="abc")))


def test_columns_are_described_in_words(table):
    rows = {
        row["name"]: row for row in TableEncoder(few_values=3).fit(table).describe()
    }
    assert rows["number"] == {
        "name": "number",
        "kind": "number",
        "treatment": "standardized",
        "n_distinct": 80,
        "share_missing": 0.0,
    }
    words = {name: row["treatment"] for name, row in rows.items()}
    assert words["count"] == "standardized, kept plain"
    assert words["gapped"] == "standardized, gaps marked"
    assert words["flag"] == "2 levels"
    assert words["city"] == "4 levels"
    assert words["day"] == "days, day, weekday, standardized, gaps marked"
    assert words["id"] == "dropped: no two levels are left"
    assert words["same"] == "dropped"
    assert rows["city"]["share_missing"] == pytest.approx(9 / 80)
    grouped = TableEncoder().fit(read_table([["a"], ["a"], ["b"], ["c"]])).describe()
    assert grouped[0]["treatment"] == "2 levels, 2 rare ones grouped"


@pytest.mark.parametrize("part", ["numbers", "categories"])
def test_unknown_treatments_are_named(table, part):
    with pytest.raises(ValueError, match=f"Unknown treatment of {part} 'best'"):
        TableEncoder(**{part: "best"}).fit(table)
