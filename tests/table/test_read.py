"""Any input becomes columns of the same few types."""

import datetime as dt
import tracemalloc
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

from modernnca.table.read import as_levels, column_type, read_table


def frames(data):
    """The same columns as a pandas, a polars and a pyarrow frame."""
    return [pd.DataFrame(data), pl.DataFrame(data), pa.table(data)]


def cells(frame, name="a"):
    return read_table(frame).columns[name].tolist()


@pytest.mark.parametrize("kind", [0, 1, 2])
def test_every_frame_gives_numbers_texts_booleans_and_dates(kind):
    data = {
        "number": [1, None, 3],
        "text": ["u", None, "w"],
        "boolean": [True, None, False],
        "date": [dt.datetime(2024, 1, 31, 12), None, dt.datetime(2024, 2, 1)],
        "nothing": [None, None, None],
        "decimal": [Decimal("1.5"), None, Decimal("2")],
        "duration": [dt.timedelta(minutes=1), None, dt.timedelta(seconds=1)],
    }
    table = read_table(frames(data)[kind])
    found = table.columns
    assert table.named
    assert list(found) == list(data)
    np.testing.assert_array_equal(found["number"], [1, np.nan, 3])
    assert found["text"].tolist() == ["u", None, "w"]
    assert found["boolean"].tolist() == [True, None, False]
    assert found["date"].dtype == "datetime64[us]"
    assert found["date"].tolist() == data["date"]
    np.testing.assert_array_equal(found["decimal"], [1.5, np.nan, 2])
    np.testing.assert_array_equal(found["duration"], [60, np.nan, 1])
    types = ["number", "text", "boolean", "datetime", "nothing", "number", "number"]
    assert [column_type(column) for column in found.values()] == types


def test_pandas_nullable_types_keep_their_gaps():
    frame = pd.DataFrame(
        {
            "a": pd.array([1, None], dtype="Int64"),
            "b": pd.array([True, None], dtype="boolean"),
            "c": pd.array(["u", None], dtype="string"),
            "d": pd.Series([pd.NA, "u"], dtype=object),
            "e": pd.Series([pd.NaT, pd.Timestamp("2024-01-31")], dtype=object),
            "f": pd.array([1.5, None], dtype="Float32"),
        }
    )
    np.testing.assert_array_equal(read_table(frame).columns["a"], [1, np.nan])
    assert cells(frame, "b") == [True, None]
    assert cells(frame, "c") == ["u", None]
    assert cells(frame, "d") == [None, "u"]
    assert cells(frame, "e") == [None, dt.datetime(2024, 1, 31)]
    np.testing.assert_array_equal(read_table(frame).columns["f"], [1.5, np.nan])


@pytest.mark.parametrize(
    "series",
    [
        pd.DataFrame({"a": pd.Categorical([3, None, 1])}),
        pd.DataFrame({"a": pd.Categorical(["3", None, "1"])}),
        pl.DataFrame({"a": pl.Series(["3", None, "1"], dtype=pl.Categorical)}),
        pl.DataFrame({"a": pl.Series(["3", None, "1"], dtype=pl.Enum(["1", "3"]))}),
        pa.table({"a": pa.array(["3", None, "1"]).dictionary_encode()}),
        pa.table({"a": pa.array([3, None, 1]).dictionary_encode()}),
    ],
)
def test_declared_categories_are_text_with_their_gaps(series):
    table = read_table(series)
    assert table.columns["a"].tolist() == ["3", None, "1"]
    assert table.categorical == {"a"}


def test_dates_of_other_zones_are_read_in_utc():
    moments = pd.to_datetime(["2024-01-31", None]).tz_localize("Europe/Berlin")
    expected = [dt.datetime(2024, 1, 30, 23), None]
    assert cells(pd.DataFrame({"a": moments})) == expected
    assert cells(pd.DataFrame({"a": moments.astype(object)})) == expected
    assert cells(pl.from_pandas(pd.DataFrame({"a": moments}))) == expected


@pytest.mark.parametrize("frame", frames({"a": [dt.date(2024, 1, 31), None]}))
def test_days_are_dates(frame):
    assert cells(frame) == [dt.datetime(2024, 1, 31), None]


def test_object_arrays_are_read_column_by_column():
    rows = [[1, True, "a", 1], [None, None, None, "b"], [2.5, False, "c", None]]
    for X in (rows, np.array(rows, dtype=object)):
        table = read_table(X)
        assert not table.named
        assert list(table.columns) == ["x0", "x1", "x2", "x3"]
        np.testing.assert_array_equal(table.columns["x0"], [1, np.nan, 2.5])
        assert table.columns["x1"].tolist() == [True, None, False]
        assert table.columns["x2"].tolist() == ["a", None, "c"]
        assert table.columns["x3"].tolist() == ["1", "b", None]


def test_arrays_of_one_type_are_read_whole():
    np.testing.assert_array_equal(
        read_table(np.eye(2, dtype=int)).columns["x0"], [1, 0]
    )
    assert cells(np.array([["a"], ["b"]]), "x0") == ["a", "b"]
    assert cells(np.array([[True], [False]]), "x0") == [True, False]
    assert cells(np.array([["2024-01-31"]], dtype="datetime64[D]"), "x0") == [
        dt.datetime(2024, 1, 31)
    ]
    assert cells(np.array([[90]], dtype="timedelta64[m]"), "x0") == [5400.0]


def test_infinities_are_read_as_they_are():
    assert cells([[np.inf], [-np.inf]], "x0") == [np.inf, -np.inf]


def test_a_missing_token_is_not_truncated():
    # The public code writes '___null___' into a fixed-width array: '___' in training.
    assert cells([["ab"], [None], [float("nan")]], "x0") == ["ab", None, None]


def test_names_that_are_not_strings_are_ignored():
    table = read_table(pd.DataFrame(np.eye(2)))
    assert not table.named
    assert list(table.columns) == ["x0", "x1"]


def test_rows_can_be_taken_in_any_order():
    table = read_table(pd.DataFrame({"a": [1, 2, 3], "b": ["u", "v", "w"]}))
    taken = table.take(np.array([2, 0]))
    assert len(taken) == 2
    assert taken.columns["a"].tolist() == [3, 1]
    assert taken.columns["b"].tolist() == ["w", "u"]


def test_levels_of_whole_numbers_have_no_decimal_point():
    found = as_levels(np.array([1.0, -0.0, np.nan, 0.5, 2e17, 1e300]))
    assert found.tolist() == ["1", "0", None, "0.5", "200000000000000000", "1e+300"]


@pytest.mark.parametrize(
    ("X", "error", "text"),
    [
        ([1, 2], ValueError, "Reshape your data"),
        (np.ones((2, 2, 2)), ValueError, "Found array with dim 3"),
        (np.ones((2, 2), dtype=complex), ValueError, "Complex data not supported"),
        (sparse.eye_array(2), TypeError, "Sparse data was passed"),
        (
            np.ones((3, 0)),
            ValueError,
            r"0 feature\(s\) \(shape=\(3, 0\)\) while a minimum of 1 is required.",
        ),
        (
            pd.DataFrame(index=range(3)),
            ValueError,
            r"0 feature\(s\) \(shape=\(3, 0\)\) while a minimum of 1 is required.",
        ),
        (
            np.ones((0, 4)),
            ValueError,
            r"0 sample\(s\) \(shape=\(0, 4\)\) while a minimum of 1 is required.",
        ),
        (
            pd.DataFrame([[1, 2]], columns=["a", "a"]),
            ValueError,
            r"^The column name 'a' occurs twice; rename one of them\.$",
        ),
        (
            pa.table([[1], [2]], names=["a", "a"]),
            ValueError,
            r"^The column name 'a' occurs twice; rename one of them\.$",
        ),
        (
            np.array([[{"foo": "bar"}], [1]], dtype=object),
            TypeError,
            r"^The column 'x0' holds {'foo': 'bar'}, but in a cell each "
            r"argument must be a string or a number\.$",
        ),
        (
            pl.DataFrame({"a": [[1], [2]]}),
            TypeError,
            r"The column 'a' holds \[1\].* argument must be a string or a number",
        ),
        (
            pl.LazyFrame({"a": [1]}),
            TypeError,
            r"^X is a lazy frame; collect it first\.$",
        ),
    ],
)
def test_unreadable_tables_are_refused(X, error, text):
    with pytest.raises(error, match=text):
        read_table(X)


def test_texts_of_an_arrow_table_are_once_in_memory():
    levels = [f"a level with a long name {i}" for i in range(10)]
    table = pa.table({"a": [levels[i % 10] for i in range(200_000)]})
    tracemalloc.start()
    found = read_table(table).columns["a"]
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert found.tolist() == table["a"].to_pylist()
    assert peak < 30 * len(found)  # a text of its own has 70 bytes


@pytest.mark.parametrize(
    "chunks", [[["u", None]], [["u"], [None, "u"]], [["?"], [], [" "]]]
)
def test_texts_of_an_arrow_table_may_come_in_chunks(chunks):
    column = pa.chunked_array(chunks, pa.string())
    found = read_table(pa.table({"a": column, "b": np.ones(len(column))}))
    wanted = [None if each in ("?", " ") else each for each in column.to_pylist()]
    assert found.columns["a"].tolist() == wanted
