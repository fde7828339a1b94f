import pytest

from modernnca import load


@pytest.fixture
def result(shell):
    return shell("demo", "--out", "here")


def test_it_scores_us_beside_others_and_leaves_models_that_predict(shell, result):
    assert result.exit_code == 0, result.stderr
    assert "epoch" in result.stderr  # the progress bar
    scores = {}
    for line in result.stdout.splitlines():
        name, *rest = line.split() or [""]
        if name in ("breast_cancer", "diabetes"):
            scores[name] = [float(score) for score in rest[2:]]
    assert all(score > 0.9 for score in scores["breast_cancer"])
    assert len(scores["diabetes"]) == 3
    assert list(load("here/breast_cancer.mnca").classes_) == ["benign", "malignant"]
    last = result.stdout.splitlines()[-1]
    assert last == (
        "  modernnca predict here/breast_cancer.mnca here/breast_cancer.csv "
        "--neighbors 3"
    )
    again = shell(*last.split()[1:])
    assert again.exit_code == 0, again.stderr
    assert len(again.stdout.splitlines()) == 1 + 143  # a quarter of 569 rows


def test_a_file_is_no_folder(shell):
    open("here", "w").close()
    result = shell("demo", "--out", "here")
    assert result.exit_code == 1
    assert result.stderr == "Error: 'here' is a file; name a folder with --out.\n"
