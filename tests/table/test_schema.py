"""The kinds of columns: learned once, and checked in later tables."""

import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pytest

from modernnca.errors import TableError
from modernnca.table.schema import conform, learn_schema, read_table


def kinds(frame, **listed):
    schema = learn_schema(read_table(frame), **listed)
    return {column.name: column.kind for column in schema.columns}


def kind(values, **listed):
    return kinds(pd.DataFrame({"a": values}), **listed)["a"]


def check(fitted, now, **listed):
    """Conform the column `now` to what was learned from the column `fitted`."""
    schema = learn_schema(read_table(pd.DataFrame({"a": fitted})), **listed)
    return conform(read_table(pd.DataFrame({"a": now})), schema).columns["a"]


def test_kinds_follow_the_values():
    assert kind([1, 2]) == "number"
    assert kind([True, False]) == "boolean"
    assert kind(["u", "v"]) == "category"
    assert kind(pd.Categorical([1, 2])) == "category"
    assert kind(pd.to_datetime(["2024-01-31", "2024-02-01"])) == "datetime"


def test_one_value_or_none_is_constant_but_with_gaps_it_varies():
    assert kind([7, 7]) == kind(["u", "u"]) == kind([None, None]) == "constant"
    assert kind([True, True]) == kind([np.nan, np.nan]) == "constant"
    assert kind([7, None]) == "number"
    assert kind(["u", None]) == "category"


@pytest.mark.parametrize(
    "text",
    [
        "2024-01-31",
        "2024-01-31 12:00:00",
        "2024-01-31T12:00:00",
        "2024-01-31T12:00",
        "2024-01-31T12:00:00.123",
        "2024-01-31T12:00:00.123456789Z",
        "2024-01-31T12:00:00Z",
    ],
)
def test_texts_that_are_all_iso_dates_are_dates(text):
    assert kind([text, None, "2024-02-01"]) == "datetime"
    assert kind([text, "soon"]) == "category"
    assert kind(pd.Categorical([text, "2024-02-01"])) == "category"


def test_dates_that_do_not_exist_are_text():
    assert kind(["2024-02-30", "2024-02-01"]) == "category"


def test_numbers_in_text_form_are_numbers_unless_they_are_codes():
    assert kind(["1", "2"]) == "number"
    assert kind(["007", "010"]) == "category"  # padded with zeros
    assert kind(["007", "010"], numerical_features=["a"]) == "number"
    assert kind(pd.Categorical(["1", "2"])) == "category"
    assert kind(["1", "2"], categorical_features=["a"]) == "category"
    found = check(["1", "2"], ["2.5", None])
    np.testing.assert_array_equal(found, [2.5, np.nan])
    assert check(["1", "2"], [3]).tolist() == [3]


def test_a_column_listed_as_numbers_may_hold_anything_else_besides():
    cells = ["29.85", "ask us", "1,889.5", " ", "no contract"]
    assert kind(cells) == "category"
    found = check(cells, cells, numerical_features=["a"])
    np.testing.assert_array_equal(found, [29.85, np.nan, 1889.5, np.nan, np.nan])


def test_numbers_that_come_as_text_at_prediction_are_read():
    found = check([1, 2], ["3", " ", "1,430"])
    np.testing.assert_array_equal(found, [3, np.nan, 1430])
    assert check([True, False], ["true", " ", "False"]).tolist() == [True, None, False]


def test_numbers_can_be_listed_as_categories_by_name_or_position():
    frame = pd.DataFrame({"a": [1, 2], "b": [1, 2]})
    found = {"a": "category", "b": "number"}
    assert kinds(frame, categorical_features=["a"]) == found
    assert kinds(frame, categorical_features=[np.int64(0)]) == found
    assert kinds(frame.to_numpy(), categorical_features=["x0"])["x0"] == "category"


def test_listed_dates_become_categories_and_booleans_numbers():
    dates = pd.to_datetime(["2024-01-31", None, "2024-02-01"])
    assert check(dates, dates, categorical_features=["a"])[1] is None
    found = check([True, False], [True, False], numerical_features=["a"])
    assert found.tolist() == [1.0, 0.0]


@pytest.mark.parametrize(
    ("listed", "text"),
    [
        (
            {"categorical_features": ["z"]},
            "Unknown column 'z' in categorical_features; the columns are: a, b, c.",
        ),
        (
            {"numerical_features": [3]},
            "Unknown column 3 in numerical_features; the columns are: a, b, c.",
        ),
        (
            {"categorical_features": ["a"], "numerical_features": [0]},
            "The column 'a' is in both categorical_features and numerical_features; "
            "keep it in one.",
        ),
        (
            {"numerical_features": ["b"]},
            "The column 'b' is listed in numerical_features, but holds 'one' and no "
            "number at all; clean it or leave it out.",
        ),
        (
            {"numerical_features": ["c"]},
            "The column 'c' is listed in numerical_features, but holds dates; leave it "
            "out, dates have their own encoding.",
        ),
    ],
)
def test_wrong_lists_of_columns_are_explained(listed, text):
    dates = pd.to_datetime(["2024-01-31", "2024-02-01"])
    frame = pd.DataFrame({"a": [1, 2], "b": ["one", "two"], "c": dates})
    with pytest.raises(ValueError) as error:
        learn_schema(read_table(frame), **listed)
    assert str(error.value) == text


def test_named_columns_may_come_in_any_order():
    frame = pd.DataFrame({"a": [1, 2], "b": ["u", "v"]})
    schema = learn_schema(read_table(frame))
    found = conform(read_table(pl.from_pandas(frame[["b", "a"]])), schema)
    assert list(found.columns) == ["a", "b"]
    assert found.columns["a"].tolist() == [1, 2]


def test_without_names_columns_are_matched_by_position():
    frame = pd.DataFrame({"a": [1, 2], "b": ["u", "v"]})
    found = conform(read_table([[3, "w"]]), learn_schema(read_table(frame)))
    assert {name: cells.tolist() for name, cells in found.columns.items()} == {
        "a": [3],
        "b": ["w"],
    }


@pytest.mark.parametrize(
    ("names", "text"),
    [
        (["b", "c"], "The table lacks the column 'a', which was there in fit."),
        (["c"], "The table lacks the columns 'a', 'b', which were there in fit."),
        (
            ["y", "b", "c", "z"],
            "The table lacks the column 'a', which was there in fit. It has 'y', 'z', "
            "not there in fit.",
        ),
    ],
)
def test_missing_columns_are_named_beside_new_ones(names, text):
    schema = learn_schema(read_table(pd.DataFrame(np.eye(3), columns=list("abc"))))
    frame = pd.DataFrame(np.ones((1, len(names))), columns=names)
    with pytest.raises(TableError) as error:
        conform(read_table(frame), schema)
    assert str(error.value) == text


def test_further_columns_are_ignored():
    schema = learn_schema(read_table(pd.DataFrame(np.eye(3), columns=list("abc"))))
    frame = pd.DataFrame(np.ones((1, 5)), columns=list("yabcz"))
    assert list(conform(read_table(frame), schema).columns) == ["a", "b", "c"]


def test_another_number_of_columns_is_refused():
    schema = learn_schema(read_table(np.eye(4)))
    with pytest.raises(
        TableError, match=r"^X has 3 features, but 4 were there in fit\.$"
    ):
        conform(read_table(np.eye(3)), schema)


@pytest.mark.parametrize(
    ("fitted", "now", "text"),
    [
        ([1, 2], ["abc"], "held numbers in fit, but now holds text, such as 'abc'"),
        (
            [1, 2],
            ["3", "abc"],
            "held numbers in fit, but now holds text, such as 'abc'",
        ),
        (
            [1, 2],
            [dt.datetime(2024, 1, 31)],
            "held numbers in fit, but now holds dates, such as "
            "2024-01-31T00:00:00.000000",
        ),
        (
            ["u", "v"],
            [dt.datetime(2024, 1, 31)],
            "held categories in fit, but now holds dates, such as "
            "2024-01-31T00:00:00.000000",
        ),
        (
            [True, False],
            [2],
            "held booleans in fit, but now holds numbers, such as 2.0",
        ),
        (
            pd.to_datetime(["2024-01-31", "2024-02-01"]),
            ["2024-01-31", "soon"],
            "held dates in fit, but now holds text, such as 'soon'",
        ),
        (
            pd.to_datetime(["2024-01-31", "2024-02-01"]),
            ["31.01.2024"],
            "held dates in fit, but now holds text, such as '31.01.2024'",
        ),
    ],
)
def test_another_kind_is_refused_with_an_example(fitted, now, text):
    with pytest.raises(TableError) as error:
        check(fitted, now)
    assert str(error.value) == f"The column 'a' {text}; convert it first."


@pytest.mark.parametrize(
    ("fitted", "now", "found"),
    [
        (["1", "2"], ["3", "abc"], [3, np.nan]),
        (["1,5", "2,25"], ["1.000,5", "1.5"], [1000.5, np.nan]),
    ],
)
def test_what_cannot_be_read_as_in_fit_is_missing_and_counted(fitted, now, found):
    schema = learn_schema(read_table(pd.DataFrame({"a": fitted})))
    read = conform(read_table(pd.DataFrame({"a": now})), schema)
    np.testing.assert_array_equal(read.columns["a"], found)
    assert (read.readings["a"].n_unread, read.readings["a"].example) == (1, now[1])


def test_numbers_where_categories_were_give_the_same_levels():
    whole = check([1, 2], [1, 2], categorical_features=["a"])
    gapped = check([1, 2], [1, None], categorical_features=["a"])  # floats, in pandas
    assert whole.tolist() == ["1", "2"]
    assert gapped.tolist() == ["1", None]
    assert check(["1", "u"], [1]).tolist() == ["1"]
    assert check(["True", "u"], [True]).tolist() == ["True"]


@pytest.mark.parametrize(
    "fitted", [[1, 2], [True, False], ["u", "v"], ["2024-01-31", None]]
)
@pytest.mark.parametrize("nothing", [None, np.nan, pd.NaT])
def test_a_column_of_gaps_fits_any_kind(fitted, nothing):
    assert pd.isna(check(fitted, [nothing])).all()


def test_constant_columns_are_not_checked():
    assert check([7, 7], ["abc"]).tolist() == ["abc"]
