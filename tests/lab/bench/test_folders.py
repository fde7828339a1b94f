"""What info.json says, or fails to say."""

import pytest
from tests.lab.bench.made_tables import make_parquet_folder, make_talent

from modernnca.errors import TableError
from modernnca.lab.bench.folders import (
    data_folder,
    names_in,
    open_folder,
    paths_by_name,
)


def test_both_kinds_say_their_size(tmp_path):
    parquet = open_folder(make_parquet_folder(tmp_path))
    talent = open_folder(make_talent(tmp_path))
    assert (parquet.kind, parquet.task, parquet.n_rows, parquet.n_columns) == (
        "parquet",
        "multiclass",
        50,
        3,
    )
    assert (talent.kind, talent.task, talent.n_rows, talent.n_columns) == (
        "talent",
        "binclass",
        6,
        3,
    )


def test_sizes_may_be_unsaid(tmp_path):
    folder = open_folder(make_parquet_folder(tmp_path, n_rows=None, n_num="many"))
    assert folder.n_rows is None
    assert folder.n_columns is None


def test_folders_without_a_table_are_not_named(tmp_path):
    make_parquet_folder(tmp_path, "b")
    make_talent(tmp_path, "a")
    (tmp_path / "cache").mkdir()
    (tmp_path / "README.md").write_text("no table")
    assert names_in(tmp_path) == ["a", "b"]


def test_a_table_is_found_by_its_other_names(tmp_path):
    make_parquet_folder(tmp_path, "a", name="b", talent_name_if_in_tables="TALENT's")
    make_parquet_folder(tmp_path, "b")
    paths = paths_by_name(tmp_path)
    assert paths["TALENT's"] == tmp_path / "a"
    assert paths["b"] == tmp_path / "b"  # a folder's own name comes first


def test_a_broken_folder_keeps_its_name(tmp_path):
    (make_parquet_folder(tmp_path) / "info.json").unlink()
    assert paths_by_name(tmp_path) == {"toys": tmp_path / "toys"}


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "Cannot read .*info.json': No such file or directory; it must be"),
        ("{", "Cannot read .*info.json': Expecting property name"),
        ("[1]", "has task None; it must be one of: binclass, multiclass, regression."),
        ("{}", "has task None; it must be one of"),
        ('{"task": "ranking"}', "has task 'ranking'; it must be one of"),
    ],
)
def test_info_that_does_not_say_the_task_is_refused(tmp_path, content, words):
    file = make_parquet_folder(tmp_path) / "info.json"
    file.unlink() if content is None else file.write_text(content)
    with pytest.raises(TableError, match=words):
        open_folder(file.parent)


def test_an_empty_folder_is_refused(tmp_path):
    with pytest.raises(TableError, match=r"has neither data.parquet nor y_train.npy"):
        open_folder(tmp_path)


def test_the_environment_names_the_data_folder(tmp_path, monkeypatch):
    monkeypatch.delenv("MODERNNCA_DATA", raising=False)
    assert data_folder(None) is None
    monkeypatch.setenv("MODERNNCA_DATA", str(tmp_path))
    assert data_folder(None) == tmp_path


def test_a_data_folder_that_is_not_there_is_named(tmp_path):
    with pytest.raises(TableError) as error:
        data_folder(tmp_path / "nowhere")
    assert str(error.value) == (
        f"The data folder {str(tmp_path / 'nowhere')!r} does not exist; set it with "
        "--data or MODERNNCA_DATA."
    )
