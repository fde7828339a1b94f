"""The same rows for ever."""

import hashlib

import numpy as np
import pandas as pd
import pytest
from benchmarks import tables
from tests.lab.bench.made_tables import make_parquet_folder

from modernnca.errors import TableError
from modernnca.lab.bench.dataset import Dataset
from modernnca.lab.bench.readers import read_dataset
from modernnca.lab.bench.splits import split_rows


def make_dataset(y, task="multiclass", given=None):
    y = np.asarray(y)
    return Dataset("made", task, pd.DataFrame({"x": range(len(y))}), y, {}, given)


def checksum(parts):
    rows = [np.asarray(part, dtype="<i8").tobytes() for part in parts]
    return hashlib.sha256(b"|".join(rows)).hexdigest()[:16]


# Computed once, with scikit-learn 1.9 and numpy 2.4; they must never change.
STORED = {
    ("builtin:iris", "given"): "f1663add5d223eda",
    ("builtin:iris", "random-0"): "f1663add5d223eda",
    ("builtin:iris", "random-7"): "a8ca7d23a608f351",
    ("builtin:diabetes", "given"): "440371dff0048642",
    ("builtin:diabetes", "random-123456789"): "4804e2bab89a57f1",
    ("builtin:breast_cancer", "random-1"): "e1c2401a870ed114",
}


@pytest.mark.parametrize(("dataset", "split"), STORED)
def test_rows_are_the_same_for_ever(dataset, split):
    parts = split_rows(read_dataset(dataset), split)
    assert checksum(parts) == STORED[dataset, split]


@pytest.mark.parametrize(
    "splits",
    [
        None,
        {"train": [*range(5, 45)], "test": [0, 1, 2, 3, 4]},
        {"train": [9, 5, 7], "val": [1, 2], "test": [30, 3]},
    ],
)
@pytest.mark.parametrize("task", ["multiclass", "regression"])
def test_rows_are_those_of_earlier_benchmarks(tmp_path, splits, task):
    target = {"multiclass": "kind", "regression": "count"}[task]
    folder = make_parquet_folder(tmp_path, splits=splits, task=task, target=target)
    parts = split_rows(read_dataset("toys", data=tmp_path), "given")
    table = tables.read(folder)
    for part in parts._fields:
        X, _ = getattr(table, part)
        assert getattr(parts, part).tolist() == X.index.tolist()


@pytest.mark.parametrize("n_rows", [5, 7, 100, 1001])
@pytest.mark.parametrize("task", ["binclass", "regression"])
def test_rows_are_parted_64_16_20(n_rows, task):
    parts = split_rows(make_dataset(np.arange(n_rows) % 2, task), "random-3")
    assert sorted(np.concatenate(parts)) == [*range(n_rows)]
    assert len(parts.test) == np.ceil(0.2 * n_rows)
    assert len(parts.val) == np.ceil(0.2 * (n_rows - len(parts.test)))


def test_classes_give_their_share():
    y = np.repeat(["a", "b"], [900, 100])
    parts = split_rows(make_dataset(y, "binclass"), "random-0")
    assert [np.sum(y[rows] == "b") for rows in parts] == [64, 16, 20]


@pytest.mark.parametrize("y", [[*"aaaaaaaaab"], [*"aabbccddeeff"]])
def test_classes_too_small_to_share_are_drawn_as_they_come(y):
    parts = split_rows(make_dataset(y), "random-0")
    assert sorted(np.concatenate(parts)) == [*range(len(y))]


def test_without_a_given_split_it_is_the_one_of_seed_0():
    dataset = make_dataset(np.arange(60) % 3)
    given, drawn = split_rows(dataset, "given"), split_rows(dataset, "random-0")
    assert checksum(given) == checksum(drawn)
    assert checksum(drawn) != checksum(split_rows(dataset, "random-1"))


def test_random_splits_pass_over_the_given_one():
    given = {"train": np.arange(50), "test": np.arange(50, 60)}
    y = np.arange(60) % 3
    drawn = split_rows(make_dataset(y, given=given), "random-4")
    assert checksum(drawn) == checksum(split_rows(make_dataset(y), "random-4"))


def test_a_given_test_part_stays_and_val_comes_from_train():
    given = {"train": np.arange(50)[::-1], "test": np.arange(50, 60)}
    parts = split_rows(make_dataset(np.arange(60) % 2, given=given), "given")
    assert parts.test.tolist() == [*range(50, 60)]
    assert sorted([*parts.train, *parts.val]) == [*range(50)]
    assert len(parts.val) == 10


@pytest.mark.parametrize("task", ["multiclass", "regression"])
def test_rows_without_a_target_are_in_no_part(task):
    y = np.array([None, *"ab" * 20] if task == "multiclass" else [np.nan, *range(40)])
    given = {"train": np.arange(30), "test": np.arange(30, 41)}
    for dataset in (make_dataset(y, task), make_dataset(y, task, given)):
        rows = np.concatenate(split_rows(dataset, "given"))
        assert sorted(rows) == [*range(1, 41)]


def test_drawing_leaves_the_global_generator_alone():
    np.random.seed(5)
    before = np.random.get_state()[1].tolist()
    split_rows(make_dataset(range(50), "regression"), "random-1")
    assert np.random.get_state()[1].tolist() == before


@pytest.mark.parametrize("name", ["random", "random-", "random--1", "random-1.5", "cv"])
def test_unknown_splits_are_refused(name):
    with pytest.raises(ValueError) as error:
        split_rows(make_dataset(range(9)), name)
    assert str(error.value) == (
        f"Unknown split {name!r}; choose 'given', 'in-order' or 'random-SEED', such as "
        "'random-0'."
    )


def test_too_few_rows_are_refused():
    with pytest.raises(TableError) as error:
        split_rows(make_dataset([0.0, 1.0, np.nan, 2.0, 3.0], "regression"), "given")
    assert str(error.value) == (
        "'made' has 4 rows with a target for train; the split 'given' needs at least 5."
    )


def test_a_given_part_without_targets_is_refused():
    y = np.array([*range(9), np.nan])
    given = {"train": np.arange(9), "test": np.array([9])}
    with pytest.raises(TableError, match=r"has 0 rows .* for test; .* at least 1\."):
        split_rows(make_dataset(y, "regression", given), "given")


def test_rows_in_order_are_learned_from_before_they_are_asked():
    train, val, test = split_rows(make_dataset(range(100)), "in-order")
    assert [len(train), len(val), len(test)] == [64, 16, 20]
    assert [*train, *val, *test] == list(range(100))


def test_too_few_rows_in_order_are_refused():
    with pytest.raises(TableError, match="'in-order' needs at least 5"):
        split_rows(make_dataset(range(3)), "in-order")
