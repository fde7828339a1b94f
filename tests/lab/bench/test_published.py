"""Published scores from a CSV, and what is refused."""

import math

import pytest

from modernnca.lab.bench.published import DISPLAY_NAMES, display_name, read_published

HEADER = "dataset,task,method,mean,std\n"
GOOD = HEADER + (
    "iris,multiclass,modernNCA,0.9,0.01\n"
    "iris,multiclass,knn,nan,nan\n"
    "NA,regression,knn,12.5,0\n"
    "NA,regression,svm,,\n"
)


@pytest.fixture
def read(tmp_path):
    def read_text(text, **options):
        path = tmp_path / "scores.csv"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return read_published(path, **options)

    return read_text


def test_rows_become_scores_in_their_order(read):
    scores = read(GOOD)
    assert list(scores.columns) == [
        *("dataset", "task", "method", "mean", "std", "n", "higher")
    ]
    first, failed, numbers, empty = scores.itertuples(index=False)
    assert first == ("iris", "multiclass", "modernNCA", 0.9, 0.01, 15, True)
    assert numbers == ("NA", "regression", "knn", 12.5, 0.0, 15, False)
    for row in (failed, empty):
        assert math.isnan(row.mean)
        assert math.isnan(row.std)
    assert read(GOOD, n=3)["n"].tolist() == [3] * 4


def test_other_columns_and_a_byte_order_mark_do_no_harm(read):
    text = "note,dataset,task,method,mean,std\nx,iris,binclass,knn,0.5,0.1\n"
    assert read(b"\xef\xbb\xbf" + text.encode())["mean"].tolist() == [0.5]
    assert "note" not in read(text).columns


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "cannot be read as a CSV file: No columns to parse"),
        (b"\xff\xfe\x00", "cannot be read as a CSV file: 'utf-8' codec"),
        (HEADER + 'a,b,"c', "cannot be read as a CSV file: "),
        (HEADER, "has a header but no scores; add one row per score."),
        (
            "dataset,method,score\n",
            "has no column 'task', 'mean', 'std'; published scores have the columns "
            "dataset, task, method, mean, std.",
        ),
        (
            GOOD + "x,binclass,knn,good,0\n",
            "line 6 has a mean that is not a number: x,",
        ),
        (
            GOOD + "x,binclass,knn,0.5,inf\n",
            "line 6 has a std that is not a number: x,",
        ),
        (
            GOOD + "x,classes,knn,0.5,0\n",
            "line 6 has a task other than binclass, multi",
        ),
        (GOOD + "x,binclass,,0.5,0\n", "line 6 has no dataset or no method: x,"),
        (
            GOOD + "iris,multiclass,knn,0.5,0\n",
            "line 6 has a second score of the same method",
        ),
        (GOOD + "NA,binclass,mlp,0.5,0\n", "line 4 has a dataset with two tasks: NA,"),
        (GOOD + "x,binclass,knn,90,0\n", "line 6 has an accuracy outside 0 to 1: x,"),
        (GOOD + "x,regression,knn,-9,0\n", "line 6 has an RMSE below 0: x,regression"),
        (GOOD + "x,regression,knn,9,-1\n", "line 6 has a std below 0: x,regression"),
        (
            GOOD + "x,regression,knn,9\n",
            "line 6 has a mean without a std: x,regression",
        ),
    ],
)
def test_bad_files_are_refused_with_the_line(read, text, words):
    with pytest.raises(ValueError) as error:
        read(text)
    assert "scores.csv" in str(error.value)
    assert words in str(error.value)


def test_no_runs_and_no_file_are_refused(read, tmp_path):
    with pytest.raises(ValueError, match="n is 0; it must be at least 1 run"):
        read(GOOD, n=0)
    with pytest.raises(FileNotFoundError):
        read_published(tmp_path / "none.csv")


def test_names_to_print():
    assert display_name("modernNCA") == "ModernNCA"
    assert display_name("ftt") == "FT-T"
    assert display_name("mine") == "mine"
    assert len(set(DISPLAY_NAMES.values())) == len(DISPLAY_NAMES)
