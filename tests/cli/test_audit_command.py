import pandas as pd
import pyarrow as pa
import pyarrow.csv as pa_csv
import pytest

from modernnca import load
from modernnca.cli.table_files import read_table

NOTE = "Ignored columns that the model does not use: id, spent.\n"


def lines_of(text):
    return [" ".join(line.split()) for line in text.splitlines()]


def test_findings_are_counted_and_the_report_is_written(shell, classifier_file):
    result = shell("audit", classifier_file, "-o", "report.html")
    assert (result.exit_code, result.stderr) == (0, "Wrote the audit to report.html.\n")
    lines = lines_of(result.stdout)
    n_likely = load(classifier_file).audit().summary()["likely wrong targets"]
    assert f"likely wrong targets {n_likely}" in lines
    with open("report.html") as file:
        assert file.read().startswith("<!doctype html>")


def test_another_table_is_compared_and_its_rows_keep_their_numbers(
    shell, classifier_file, shop
):
    result = shell(
        "audit", classifier_file, shop, "--target", "bought", "-o", "found.csv"
    )
    assert result.exit_code == 0, result.stderr
    assert "Skipped 3 rows without a target.\n" in result.stderr
    assert result.stderr.endswith(NOTE + "Wrote the audit to found.csv.\n")
    found = pd.read_csv("found.csv", low_memory=False)
    leaks = found[found["part"] == "leaks"]
    kept = [i for i, each in enumerate(read_table(shop)["bought"]) if each.is_valid]
    assert sorted(leaks["row"].astype(int)) == kept  # rows 0, 30, 60 have no target
    new = found[found["part"] == "new_labels"]
    assert sorted(new["row"].astype(int)) == kept


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (
            ["--out", "a.pdf"],
            "Unknown suffix '.pdf' of 'a.pdf'; choose one of: .html, ",
        ),
        (["--target", "y"], "--target y names a column of another table; name that"),
        (
            ["t.csv", "--target", "u"],
            "The table has no column 'u'; its columns are: a.",
        ),
        (["gone.csv"], "There is no file 'gone.csv' in "),
    ],
)
def test_mistakes_are_told_in_a_line(shell, classifier_file, words, error):
    pa_csv.write_csv(pa.table({"a": [1.0, 2.0]}), "t.csv")
    result = shell("audit", classifier_file, *words)
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith(f"Error: {error}")
    assert result.stderr.count("\n") == 1


def test_a_model_without_its_rows_says_what_to_do(shell, regressor_file):
    result = shell("audit", regressor_file)
    assert result.exit_code == 1
    assert result.stderr == (
        "Error: audit needs the raw rows, but the model was saved without them; save "
        "it with save(path, rows=True), or audit it before it is saved.\n"
    )
