"""The command `explain`: neighbors on the screen, as a page and as a table."""

import pyarrow.csv as pa_csv
import pytest

from modernnca import load
from modernnca.cli.table_files import read_table


def test_a_row_is_explained_on_the_screen(shell, classifier_file, shop):
    result = shell("explain", classifier_file, shop, "--row", "17", "--neighbors", "3")
    assert result.exit_code == 0, result.output
    model, table = load(classifier_file), read_table(shop, texts=["zip"])
    known = table.select(list(model.feature_names_in_))
    found = model.explain(known.slice(17, 1), n_neighbors=3)
    assert result.stdout.startswith(f"row 17: {found.prediction[0]} (as ")
    for index, share in zip(found.indices[0], found.shares[0], strict=True):
        assert f"{index} " in result.stdout
        assert f"{share:.1%}" in result.stdout
    assert "nearest in" in result.stdout
    assert "nearest rows that disagree:" in result.stdout


def test_rows_are_explained_as_a_page_and_a_table(shell, classifier_file, shop):
    files = ("--html", "why.html", "-o", "why.csv")
    result = shell("explain", classifier_file, shop, "--row", "3", "--row", "5", *files)
    assert (result.exit_code, result.stdout) == (0, "")
    assert "Wrote 10 neighbors to why.csv." in result.stderr
    assert "Wrote 2 explanations to why.html." in result.stderr
    frame = pa_csv.read_csv("why.csv")
    assert frame["query"].to_pylist() == [3] * 5 + [5] * 5
    with open("why.html", encoding="utf-8") as file:
        page = file.read()
    assert "Row 3 of the table" in page
    assert "Row 5 of the table" in page


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--row", "90"), "There is no row 90 in the table; its 90 rows are numbered"),
        (("--row", "-1"), "There is no row -1 in the table; its 90 rows are numbered"),
        (("--neighbors", "0"), "n_neighbors must be between 1 and"),
        (("--groups", "nobody"), "There is no column 'nobody' for --groups"),
        (("--groups", "zip"), "The model was fitted without groups"),
    ],
)
def test_mistakes_are_told_in_one_line(
    shell, classifier_file, shop, arguments, message
):
    result = shell("explain", classifier_file, shop, *arguments)
    assert result.exit_code == 1
    assert message in result.stderr
    assert result.stderr.strip().splitlines()[-1].count("Traceback") == 0


def test_a_model_without_rows_shows_shares_only(shell, regressor_file, shop):
    result = shell("explain", regressor_file, shop, "--row", "2")
    assert result.exit_code == 0, result.output
    assert "The model was saved without its rows: no columns are" in result.stdout
    result = shell("explain", regressor_file, shop, "-o", "why.csv")
    assert result.exit_code == 1
    assert "needs the raw rows, but the model was saved without them" in result.stderr
