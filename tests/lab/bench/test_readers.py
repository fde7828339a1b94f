"""Datasets by name, wherever they are."""

import pytest
from tests.lab.bench.made_tables import make_frame, make_parquet_folder, make_talent

from modernnca.errors import TableError
from modernnca.lab.bench.readers import read_dataset


@pytest.fixture(autouse=True)
def no_data_folder(monkeypatch):
    monkeypatch.delenv("MODERNNCA_DATA", raising=False)


def test_folders_are_told_apart_by_their_files(tmp_path):
    make_parquet_folder(tmp_path)
    make_talent(tmp_path)
    assert read_dataset("toys", data=tmp_path).X.shape == (50, 3)
    assert read_dataset("bank", data=tmp_path).X.shape == (6, 3)


def test_the_environment_says_where(tmp_path, monkeypatch):
    make_parquet_folder(tmp_path)
    monkeypatch.setenv("MODERNNCA_DATA", str(tmp_path))
    assert read_dataset("toys").name == "toys"


def test_a_folder_answers_to_its_name_in_talent_and_keeps_its_own(tmp_path):
    make_parquet_folder(tmp_path, talent_name_if_in_tables="BNG(toys)")
    assert read_dataset("BNG(toys)", data=tmp_path).name == "toys"


def test_a_folder_comes_before_a_builtin_table_unless_that_is_meant(tmp_path):
    assert read_dataset("wine", data=tmp_path).name == "builtin:wine"
    make_parquet_folder(tmp_path, "wine")
    assert read_dataset("wine", data=tmp_path).name == "wine"
    assert read_dataset("builtin:wine", data=tmp_path).X.shape == (178, 13)


def test_a_file_needs_no_data_folder(tmp_path):
    make_frame().to_csv(tmp_path / "a.csv", index=False)
    assert read_dataset(f"{tmp_path}/a.csv:kind").X.shape == (50, 3)


def test_unknown_names_are_answered_with_the_closest(tmp_path):
    make_parquet_folder(tmp_path, "adult")
    with pytest.raises(TableError) as error:
        read_dataset("adlut", data=tmp_path)
    assert str(error.value) == (
        "Unknown dataset 'adlut': it is not built in, and no folder in "
        f"{str(tmp_path)!r} has this name; did you mean 'adult'?"
    )


def test_names_close_to_nothing_are_answered_with_the_other_ways():
    with pytest.raises(TableError) as error:
        read_dataset("zzz")
    assert str(error.value) == (
        "Unknown dataset 'zzz': it is not built in, and no data folder is set by "
        "--data or MODERNNCA_DATA; write FILE.csv:TARGET for a file, or openml:ID."
    )


@pytest.mark.parametrize("name", ["..", ".", "", "../toys", "/"])
def test_a_name_does_not_leave_the_data_folder(tmp_path, name):
    make_parquet_folder(tmp_path)
    (tmp_path / "data").mkdir()
    with pytest.raises(TableError, match="Unknown dataset"):
        read_dataset(name, data=tmp_path / "data")


def test_a_broken_folder_says_so_when_asked_for(tmp_path):
    (make_parquet_folder(tmp_path) / "info.json").write_text("{")
    with pytest.raises(TableError, match=r"Cannot read .*info.json"):
        read_dataset("toys", data=tmp_path)
    make_parquet_folder(tmp_path, "others", name="fine")
    assert read_dataset("fine", data=tmp_path).name == "others"
