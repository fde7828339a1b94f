"""Folders of data.parquet, info.json and splits.npz."""

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from tests.lab.bench.made_tables import make_frame, make_parquet_folder

from modernnca.errors import TableError
from modernnca.lab.bench.folders import open_folder
from modernnca.lab.bench.parquet_folders import read_parquet_folder


def read(folder):
    return read_parquet_folder(open_folder(folder))


def test_a_table_is_read_with_its_split(tmp_path):
    splits = {"train": np.arange(40)[::-1], "val": [40, 41], "test": np.arange(42, 50)}
    dataset = read(make_parquet_folder(tmp_path, splits=splits, source="a shop"))
    frame = make_frame()
    assert (dataset.name, dataset.task) == ("toys", "multiclass")
    pd.testing.assert_frame_equal(dataset.X, frame.drop(columns="kind"))
    assert dataset.y.tolist() == frame["kind"].tolist()
    assert dataset.info["source"] == "a shop"
    assert {part: rows.tolist() for part, rows in dataset.given.items()} == {
        part: [*rows] for part, rows in splits.items()
    }


def test_without_splits_none_is_given(tmp_path):
    assert read(make_parquet_folder(tmp_path)).given is None


def test_text_and_declared_columns_become_categories(tmp_path):
    frame = make_frame().assign(word="x")
    dataset = read(
        make_parquet_folder(tmp_path, frame=frame, cat_columns=["count", "color"])
    )
    assert dataset.X.dtypes.astype(str).to_dict() == {
        "size": "float64",
        "count": "category",
        "color": "category",
        "word": "category",
    }


def test_numbers_are_predicted_as_floats(tmp_path):
    dataset = read(make_parquet_folder(tmp_path, task="regression", target="count"))
    assert dataset.y.dtype == np.float64


def test_a_target_that_is_no_column_is_named(tmp_path):
    folder = make_parquet_folder(tmp_path, target="knid")
    with pytest.raises(TableError) as error:
        read(folder)
    assert str(error.value) == (
        f"The target 'knid' of {str(folder / 'info.json')!r} is not a column of the "
        "table; did you mean 'kind'?"
    )


def test_a_damaged_table_is_named(tmp_path):
    folder = make_parquet_folder(tmp_path)
    (folder / "data.parquet").write_bytes(b"PAR1 not so")
    with pytest.raises(TableError, match=r"Cannot read .*data.parquet.*; repair the"):
        read(folder)


def test_damage_that_pandas_does_not_expect_is_named(tmp_path):
    folder = make_parquet_folder(tmp_path)
    table = pq.read_table(folder / "data.parquet")
    told = table.schema.metadata[b"pandas"]  # what pandas wrote about the columns
    told = {b"pandas": told.replace(b"pandas_type", b"pandas_tyqe")}
    pq.write_table(table.replace_schema_metadata(told), folder / "data.parquet")
    with pytest.raises(TableError, match=r"Cannot read .*data.parquet.*; repair the"):
        read(folder)


@pytest.mark.parametrize(
    ("splits", "words"),
    [
        (
            {"train": [0, 1], "test": [2, 50]},
            "has row 50, but the table has rows 0 to 49",
        ),
        ({"train": [0, -1], "test": [2]}, "train in .* has row -1, but"),
        (
            {"train": [0, 1], "test": [2, 1]},
            "has row 1 more than once, but each row may be in one part",
        ),
        ({"train": [0, 0], "test": [2, 1]}, "has row 0 more than once"),
        (
            {"train": [0.0, 1.0], "test": [2]},
            "train in .* is not a list of row numbers",
        ),
        ({"train": [[0, 1]], "test": [2]}, "train in .* is not a list of row numbers"),
        ({"train": [], "test": [2]}, "train in .* is not a list of row numbers"),
        ({"train": [1]}, "has no train or no test rows"),
        ({"train": np.array([None]), "test": [1]}, "Cannot read .*splits.npz"),
    ],
)
def test_splits_that_are_none_are_refused(tmp_path, splits, words):
    folder = make_parquet_folder(tmp_path, splits=splits)
    with pytest.raises(TableError, match=words) as error:
        read(folder)
    assert "splits.npz" in str(error.value)
    assert "repair" in str(error.value)


def test_damaged_splits_are_named(tmp_path):
    folder = make_parquet_folder(tmp_path)
    (folder / "splits.npz").write_bytes(b"PK no zip")
    with pytest.raises(TableError, match=r"Cannot read .*splits.npz"):
        read(folder)
