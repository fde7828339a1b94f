"""Folders of TALENT's arrays."""

import numpy as np
import pytest
from tests.lab.bench.made_tables import make_talent

from modernnca.errors import TableError
from modernnca.lab.bench.dataset import PARTS
from modernnca.lab.bench.folders import open_folder
from modernnca.lab.bench.talent import read_talent

NO_COLUMNS = {f"{kind}_{part}": None for kind in "NC" for part in PARTS}


def read(folder):
    return read_talent(open_folder(folder))


def test_parts_are_stacked_and_their_rows_known(tmp_path):
    dataset = read(make_talent(tmp_path))
    assert (dataset.name, dataset.task) == ("bank", "binclass")
    assert dataset.X["N0"].tolist() == [1, 3, 5, 7, 9, 11]
    assert dataset.X["N1"].tolist() == [2, 4, 6, 8, 10, 12]
    assert dataset.y.tolist() == [0, 1, 1, 0, 1, 0]
    given = {part: rows.tolist() for part, rows in dataset.given.items()}
    assert given == {"train": [0, 1, 2], "val": [3], "test": [4, 5]}


def test_gaps_among_categories_are_missing(tmp_path):
    column = read(make_talent(tmp_path)).X["C0"]
    assert column.cat.categories.tolist() == ["a", "b"]
    assert column.cat.codes.tolist() == [0, -1, -1, 1, 0, -1]


@pytest.mark.parametrize(
    "described",
    [
        {"num_feature_intro": {"age": "", "pay": ""}, "cat_feature_intro": {"job": ""}},
        {"feature_intro": {"num": {"age": "", "pay": ""}, "cat": {"job": ""}}},
    ],
)
def test_columns_have_the_names_of_info(tmp_path, described):
    dataset = read(make_talent(tmp_path, info=described))
    assert dataset.X.columns.tolist() == ["age", "pay", "job"]


def test_names_that_do_not_fit_are_left(tmp_path):
    described = {"num_feature_intro": {"age": "", "job": ""}}
    described["cat_feature_intro"] = {"job": ""}
    dataset = read(make_talent(tmp_path, info=described))
    assert dataset.X.columns.tolist() == ["N0", "N1", "C0"]


def test_one_kind_of_columns_is_enough(tmp_path):
    none = dict.fromkeys(("N_train", "N_val", "N_test"))
    assert read(make_talent(tmp_path, **none)).X.columns.tolist() == ["C0"]


def test_a_folder_without_val_gives_train_and_test(tmp_path):
    none = dict.fromkeys(("N_val", "C_val", "y_val"))
    assert [*read(make_talent(tmp_path, **none)).given] == ["train", "test"]


def test_one_column_may_be_flat_and_numbers_may_be_objects(tmp_path):
    arrays = {"N_train": [1.5, None, 2], "N_val": [3], "N_test": [4, 5]}
    arrays = {name: np.array(cells, dtype=object) for name, cells in arrays.items()}
    arrays |= {"y_train": np.array([[1], [0], [1]]), "y_val": np.array([[1]])}
    arrays |= {"y_test": np.array([[0], [1]])}
    dataset = read(make_talent(tmp_path, **arrays))
    np.testing.assert_array_equal(dataset.X["N0"], [1.5, np.nan, 2, 3, 4, 5])
    assert dataset.y.tolist() == [1, 0, 1, 1, 0, 1]


def test_numbers_to_predict_are_floats(tmp_path):
    info = {"task_type": "regression"}
    assert read(make_talent(tmp_path, info=info)).y.dtype == np.float64


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        ({"y_test": None}, "has no y_test.npy"),
        ({"N_val": np.ones((2, 2))}, "arrays N_ and y_ of .* have different numbers"),
        ({"C_val": None}, "arrays C_ and y_ of .* have different numbers"),
        ({"N_val": np.ones((1, 3))}, "cannot be combined"),
        ({"N_val": np.array([["a", "b"]], dtype=object)}, "cannot be combined"),
        (NO_COLUMNS, "has no N_train.npy or C_train.npy"),
    ],
)
def test_incomplete_folders_are_refused(tmp_path, arrays, words):
    folder = make_talent(tmp_path, **arrays)
    with pytest.raises(TableError, match=words) as error:
        read(folder)
    assert str(folder) in str(error.value)
