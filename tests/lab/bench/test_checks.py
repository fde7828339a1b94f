"""Faults of tables, found where they were put and nowhere else."""

import time

import numpy as np
import pandas as pd
import pytest

from modernnca.lab.bench.checks import check
from modernnca.lab.bench.dataset import Dataset
from modernnca.lab.bench.splits import Parts, split_rows


def make(n_rows=400, task="binclass", seed=0, **columns):
    """A table of noise and of the columns given, and a target that follows it a bit."""
    rng = np.random.RandomState(seed)
    X = pd.DataFrame(rng.normal(size=(n_rows, 3)), columns=["n0", "n1", "n2"])
    X["color"] = pd.Categorical(rng.choice(["red", "green", None], n_rows))
    y = X["n0"].to_numpy() + rng.normal(size=n_rows)
    if task != "regression":
        y = np.where(y > 0.5, "yes", "no").astype(object)
    given = columns.pop("y", y)
    for name, cells in columns.items():
        X[name] = cells(given) if callable(cells) else cells
    return Dataset("made", task, X, given)


def found(dataset, parts=None):
    findings = check(dataset, parts or split_rows(dataset, "given"))
    return {finding.kind: finding for finding in findings}


@pytest.mark.parametrize("task", ["binclass", "regression"])
def test_a_table_of_noise_has_no_fault(task):
    assert found(make(task=task)) == {}


def test_test_rows_that_were_learned_are_counted():
    X = pd.DataFrame(
        {"a": [1.0, 2, 3, np.nan, 1], "b": pd.Categorical([*"xxy", None, "x"])}
    )
    X = pd.concat([X, X.iloc[[3]]], ignore_index=True)
    dataset = Dataset("made", "binclass", X, np.array([*"pqpqqq"], dtype=object))
    parts = Parts(np.array([0, 1]), np.array([3]), np.array([2, 4, 5]))
    faults = found(dataset, parts)
    assert faults["duplicate"].count == 2  # row 4 is row 0, row 5 is row 3
    assert faults["duplicate"].share == pytest.approx(2 / 3)
    assert faults["duplicate-with-target"].count == 1  # row 4 has another target
    assert faults["duplicate"].text == (
        "66.7% of the test rows (2 of 3) have the features of a row in train or "
        "validation."
    )


def test_twins_inside_a_part_do_no_harm():
    dataset = make(100)
    X = pd.concat([dataset.X, dataset.X.iloc[:50]], ignore_index=True)
    dataset = Dataset(
        "made", "binclass", X, np.concatenate([dataset.y, dataset.y[:50]])
    )
    parts = Parts(np.r_[0:50, 100:150], np.arange(50, 75), np.arange(75, 100))
    assert found(dataset, parts) == {}


@pytest.mark.parametrize(
    "cells",
    [
        np.arange(400) + 7,
        np.arange(400)[::-1] * 3,
        np.arange(400.0) ** 2,
        np.random.RandomState(0).permutation(400),
        pd.Categorical([f"row {i}" for i in range(400)]),
        pd.Categorical([f"row {min(i, 385)}" for i in range(400)]),
    ],
)
def test_columns_that_name_rows_are_found(cells):
    faults = found(make(one=cells))
    assert [*faults] == ["row-id"]
    assert "The column 'one'" in faults["row-id"].text
    assert faults["row-id"].share >= 0.95


@pytest.mark.parametrize(
    "cells",
    [
        np.random.RandomState(0).permutation(900)[
            :400
        ],  # whole and distinct, with gaps
        np.arange(400) / 8,
        np.r_[0, np.arange(399)],
        pd.Categorical([f"row {i // 2}" for i in range(400)]),
    ],
)
def test_columns_that_only_look_like_numbers_of_rows_are_left(cells):
    assert found(make(one=cells)) == {}


@pytest.mark.parametrize("cells", [3, None, "x", np.nan])
def test_constant_columns_are_found(cells):
    faults = found(make(one=cells, two=cells))
    assert [*faults] == ["constant"]
    assert faults["constant"].text == "2 columns are constant: 'one', 'two'."
    assert faults["constant"].count == 2


def test_many_columns_are_named_in_short():
    faults = found(make(**{f"c{i}": 0 for i in range(8)}))
    assert faults["constant"].text.endswith("'c0', 'c1', 'c2', 'c3', 'c4' and 3 more.")


@pytest.mark.parametrize(
    ("task", "leak"),
    [
        ("binclass", lambda y: np.where(y == "yes", 5.0, 2.0)),
        ("binclass", lambda y: pd.Categorical(y)),
        ("binclass", lambda y: np.where(y == "yes", np.nan, 1.0)),  # by its gaps
        ("binclass", lambda y: np.where(y == "yes", 1e300, -np.inf)),
        ("regression", lambda y: y**3),
        ("regression", lambda y: y.round(1)),
    ],
)
def test_a_column_that_tells_the_target_is_found(task, leak):
    dataset = make(3000, task=task, secret=leak)
    faults = found(dataset)
    assert [*faults] == ["leak"]
    assert "The column 'secret' alone explains " in faults["leak"].text
    assert faults["leak"].share > 0.95


@pytest.mark.parametrize("n_rows", [19, 20])
def test_in_fewer_than_twenty_rows_it_may_be_chance(n_rows):
    y = np.array(["no", "yes"] * 10, dtype=object)[:n_rows]
    rows = np.arange(n_rows)
    faults = found(make(n_rows, y=y, secret=lambda y: pd.Categorical(y), row=rows))
    assert ("leak" in faults) == ("row-id" in faults) == (n_rows == 20)


def test_a_rare_class_is_not_told_by_saying_it_is_rare():
    y = np.array(["no"] * 990 + ["yes"] * 10, dtype=object)
    assert found(make(1000, y=y)) == {}


def test_many_classes_are_told_too():
    y = np.array([f"c{i:02}" for i in range(26)] * 100, dtype=object)
    faults = found(
        make(2600, task="multiclass", y=y, secret=lambda y: pd.Categorical(y))
    )
    assert "leak" in faults


@pytest.mark.parametrize("task", ["binclass", "regression"])
def test_a_leak_in_a_wide_table_is_found_and_the_choice_of_columns_said(task):
    dataset = make(300, task=task)
    rng = np.random.RandomState(1)
    wide = pd.DataFrame(rng.normal(size=(300, 900))).rename(columns="w{}".format)
    y = dataset.y
    wide["secret"] = y * 2 if task == "regression" else (y == "yes").astype(int)
    faults = found(Dataset("made", task, wide, y))
    assert {*faults} == {"sampled", "leak"}
    assert faults["sampled"].text == (
        "Target leaks were searched in 200 of 901 columns, those with the "
        "largest differences of means."
    )
    assert "'secret'" in faults["leak"].text


def test_small_and_absent_classes_are_counted():
    y = np.array(["a"] * 200 + ["b"] * 191 + ["c"] * 7 + ["d"] * 2, dtype=object)
    dataset = make(400, task="multiclass", y=y)
    parts = Parts(np.arange(398), np.array([398]), np.array([399]))
    faults = found(dataset, parts)
    assert {*faults} == {"tiny-class", "absent-class"}
    assert faults["tiny-class"].text == (
        "2 of 4 classes have fewer than 10 rows: 'c' (7), 'd' (2)."
    )
    assert (
        faults["absent-class"].text == "1 of 4 classes have no row in train: 'd' (2)."
    )
    assert faults["absent-class"].share == pytest.approx(2 / 400)


def test_rows_without_a_target_are_counted():
    y = make().y.copy()
    y[:100] = None
    faults = found(make(y=y))
    assert [*faults] == ["missing-target"]
    assert faults["missing-target"].text == (
        "100 of 400 rows have no target and are left out."
    )
    assert faults["missing-target"].share == 0.25


@pytest.mark.parametrize("n_rows", [5, 12])
def test_a_few_rows_are_not_suspected(n_rows):
    dataset = make(n_rows, task="regression", one=range(n_rows))
    assert found(dataset) == {}


def test_a_target_of_one_value_is_no_error():
    assert found(make(task="regression", y=np.ones(400))) == {}


def test_the_table_is_as_it_was():
    dataset = make()
    before = dataset.X.copy()
    found(dataset)
    pd.testing.assert_frame_equal(dataset.X, before)


def test_a_large_table_is_checked_in_seconds():
    rng = np.random.RandomState(0)
    X = pd.DataFrame(rng.normal(size=(50_000, 50)))
    dataset = Dataset(
        "made", "regression", X.rename(columns=str), rng.normal(size=50_000)
    )
    parts = split_rows(dataset, "given")
    began = time.process_time()
    check(dataset, parts)
    assert time.process_time() - began < 6  # 1 s on an idle core
