"""Tables in one file."""

import pandas as pd
import pytest
from tests.lab.bench.made_tables import make_frame

from modernnca.errors import TableError
from modernnca.lab.bench.file_datasets import read_file


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".parquet", ".CSV"])
def test_every_ending_gives_the_same_table(tmp_path, ending):
    path, frame = tmp_path / f"a:b.csv.d{ending}", make_frame()
    if ending == ".parquet":
        frame.to_parquet(path)
    else:
        frame.to_csv(path, index=False, sep="\t" if ending == ".tsv" else ",")
    dataset = read_file(f"{path}:kind")
    expected = frame.drop(columns="kind").astype({"color": "str"})
    pd.testing.assert_frame_equal(dataset.X.astype({"color": "str"}), expected)
    assert isinstance(dataset.X["color"].dtype, pd.CategoricalDtype)
    assert dataset.y.tolist() == frame["kind"].tolist()
    assert (dataset.task, dataset.given) == ("multiclass", None)


def test_the_target_says_the_task(tmp_path):
    make_frame().to_csv(tmp_path / "a.csv", index=False)
    assert read_file(f"{tmp_path}/a.csv:size").task == "regression"


def test_a_target_may_have_any_name(tmp_path):
    frame = make_frame().rename(columns={"kind": "a.csv:b"})
    frame.to_csv(tmp_path / "a.csv", index=False)
    assert read_file(f"{tmp_path}/a.csv:a.csv:b").info["target"] == "a.csv:b"


def test_a_target_must_be_named(tmp_path):
    make_frame().to_csv(tmp_path / "a.csv", index=False)
    with pytest.raises(TableError) as error:
        read_file(f"{tmp_path}/a.csv")
    assert str(error.value) == (
        f"'{tmp_path}/a.csv' has no target column; write, for example, "
        f"'{tmp_path}/a.csv:kind'."
    )


def test_a_wrong_target_is_answered_with_the_closest(tmp_path):
    make_frame().to_csv(tmp_path / "a.csv", index=False)
    with pytest.raises(TableError, match=r"The target 'colour' of .* mean 'color'?"):
        read_file(f"{tmp_path}/a.csv:colour")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "Cannot read .*: No columns to parse from file; repair the file"),
        (b"x,y\n", "has 0 rows and 2 columns"),
        (b"x\n1\n", "has 1 rows and 1 columns"),
        (b"x,y\n1,2\n1,2,3,4\n", "Cannot read .*: Error tokenizing data"),
        (b"x,y\n\xff,1\n", "Cannot read .*: .*utf-8.* can't decode"),
    ],
)
def test_files_that_are_no_tables_are_refused(tmp_path, content, words):
    (tmp_path / "a.csv").write_bytes(content)
    with pytest.raises(TableError, match=words):
        read_file(f"{tmp_path}/a.csv:y")


def test_absent_files_are_named(tmp_path):
    with pytest.raises(TableError, match=r"The file '.*a.parquet' does not exist"):
        read_file(f"{tmp_path}/a.parquet:y")
