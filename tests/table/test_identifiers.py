"""Identifiers are found, and measured values are not taken for them."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from modernnca.table.identifiers import is_identifier
from modernnca.table.read import read_table
from modernnca.table.schema import conform, learn_schema

RNG = np.random.RandomState(0)
N = 200
SPACED = 7919 * RNG.permutation(10 * N)[:N]  # whole numbers, all different


def kinds(frame, **listed):
    return [column.kind for column in learn_schema(read_table(frame), **listed).columns]


@pytest.mark.parametrize(
    ("name", "cells", "found"),
    [
        ("row", np.arange(N), True),
        ("row", RNG.permutation(3 * N)[:N], True),  # some of the rows, in any order
        ("customerID", SPACED, True),
        ("order_id", SPACED, True),
        ("who", [f"{i:04x}-KX" for i in range(N)], True),
        ("price", SPACED, False),
        ("humid", SPACED, False),
        ("length", RNG.randn(N), False),
        ("age", RNG.randint(20, 60, N), False),
        ("row", [*range(N - 1), None], False),
        ("title", [f"the story of {i}" for i in range(N)], False),
        ("when", pd.date_range("2024-01-01", periods=N), False),
        ("row", np.arange(20), False),  # too few rows to tell
    ],
)
def test_rows_are_numbered_or_named_or_measured(name, cells, found):
    table = read_table(pd.DataFrame({name: cells}))
    assert is_identifier(name, table.columns[name]) is found


def test_identifiers_are_left_out_unless_they_are_listed_or_alone():
    frame = pd.DataFrame({"row": np.arange(N), "x": RNG.randn(N)})
    assert kinds(frame) == ["identifier", "number"]
    assert kinds(frame, keep=["row"]) == ["number", "number"]
    assert kinds(frame, keep=[0]) == ["number", "number"]
    assert kinds(frame, numerical_features=["row"]) == ["number", "number"]
    assert kinds(frame, categorical_features=["row"]) == ["category", "number"]
    assert kinds(frame[["row"]]) == ["number"]
    with pytest.raises(ValueError, match="Unknown column 'z' in keep; the columns are"):
        kinds(frame, keep=["z"])


def test_an_identifier_may_be_absent_or_change_in_prediction():
    frame = pd.DataFrame({"row": np.arange(N), "x": RNG.randn(N)})
    schema = learn_schema(read_table(frame))
    conform(read_table(frame[["x"]]), schema)
    conform(read_table(frame.assign(row="new")), schema)


LARGE = 2**62 + np.arange(N)


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"a": LARGE, "b": RNG.randn(N)}),
        pl.DataFrame({"a": LARGE, "b": RNG.randn(N)}),
        pa.table({"a": LARGE, "b": RNG.randn(N)}),
        pd.DataFrame({"a": LARGE.astype("uint64"), "b": RNG.randn(N)}),
        pd.DataFrame({"a": LARGE.astype(object), "b": RNG.randn(N)}),
    ],
)
def test_integers_near_2_to_the_62_are_not_constant(frame):
    assert kinds(frame) == ["identifier", "number"]


def test_large_integers_are_told_apart_one_by_one():
    codes = np.array([2**62, 2**62 + 1] * 30)
    array = np.stack([codes, np.arange(60) % 7], axis=1)
    schema = learn_schema(read_table(array))
    assert schema.columns[0].kind == "category"
    whole = conform(read_table(array), schema).columns["x0"]
    assert len(set(whole)) == 2
    for row in range(2):  # each row by itself
        assert conform(read_table(array[[row]]), schema).columns["x0"] == whole[row]
    gapped = pd.DataFrame({"a": pd.array([2**62, 2**62 + 1, None], dtype="Int64")})
    assert read_table(gapped).columns["a"].tolist() == [
        str(2**62),
        str(2**62 + 1),
        None,
    ]
