import gzip
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pa_parquet
import pytest

from modernnca import ModernNCAClassifier, ModernNCARegressor, load
from modernnca.cli.table_files import read_table

SHORT = ("--set", "max_epochs=2")


def test_it_says_what_it_understood_how_well_it_went_and_where_the_model_is(
    shell, shop
):
    result = shell(
        *("fit", shop, "-t", "bought", "-o", "m.mnca", "--categorical", "zip", *SHORT),
        *("--set", "temperature=100", "--set", "forest_member=false"),
    )
    assert result.exit_code == 0, result.stderr
    said = result.stdout
    assert said.startswith(
        "Classification: the target bought holds 2 classes (no, yes).\n"
        "Learning from 87 rows; skipped 3 rows without a target.\n"
    )
    columns = {tuple(line.split()[:2]) for line in said.splitlines()}
    assert ("age", "number") in columns
    assert ("zip", "category") in columns
    assert ("joined", "datetime") in columns
    model = load("m.mnca")
    assert "Network 1: 2 epochs (max_epochs reached).\n" in said
    # At such a temperature all rows count alike: plain neighbors are better.
    assert (
        "The trained model is no better than a baseline, plain k-NN, which is used "
        "instead.\n" in said
    )
    final = f"The final model has a validation accuracy {model.validation_score_:.4g}."
    value, error, n_rows = model.expected_score_
    expected = (
        f"Expected accuracy {value:.2f} ± {error:.2f} (one standard error, from "
        f"{n_rows} held-out rows)."
    )
    assert f"{final}\n{expected}\nSaved to m.mnca (" in said
    assert "epoch" in result.stderr  # the progress bar
    assert "Error" not in result.stderr


def test_the_share_of_a_forest_is_printed(shell, shop):
    result = shell("fit", shop, "-t", "bought", "-o", "m.mnca", *SHORT)
    share = load("m.mnca").member_weights_[-1]
    said = f"forest has {share:.0%} of the vote"
    assert said in result.stdout
    assert said in shell("info", "m.mnca").stdout


def test_it_learns_what_the_python_api_learns(shell, shop):
    shell("fit", shop, "-t", "spent", "-o", "m.mnca", "--drop", "id", *SHORT)
    table = read_table(shop)
    X = table.drop_columns(["id", "spent"])
    model = ModernNCARegressor(max_epochs=2, random_state=0)
    model.fit(X, table["spent"].to_numpy())
    np.testing.assert_array_equal(load("m.mnca").predict(X), model.predict(X))


def test_a_number_is_predicted_and_its_error_shown_as_an_error(shell, shop):
    result = shell("fit", shop, "-t", "spent", "-o", "m.mnca", *SHORT)
    assert result.stdout.startswith(
        "Regression: the target spent holds numbers. "
        "If that is wrong, add --task classification.\n"
    )
    assert "The final model has a validation rmse " in result.stdout
    assert "rmse -" not in result.stdout


def test_quiet_prints_nothing(shell, shop):
    result = shell("fit", shop, "-t", "spent", "-o", "m.mnca", "--quiet", *SHORT)
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "")


@pytest.mark.parametrize("ending", [".parquet", ".tsv", ".CSV"])
def test_every_format_gives_the_same_model(shell, shop, ending):
    table = read_table(shop)
    if ending == ".parquet":
        pa_parquet.write_table(table, "t.parquet")
    else:
        options = pa_csv.WriteOptions(delimiter="\t" if ending == ".tsv" else ",")
        pa_csv.write_csv(table, f"t{ending}", options)
    for path, out in ((shop, "a.mnca"), (f"t{ending}", "b.mnca")):
        result = shell("fit", path, "-t", "bought", "-o", out, *SHORT)
        assert result.exit_code == 0, result.stderr
    X = table.drop_columns(["bought"])
    np.testing.assert_array_equal(
        load("a.mnca").predict_proba(X), load("b.mnca").predict_proba(X)
    )


def test_settings_reach_the_estimator(shell, shop):
    result = shell(
        *("fit", shop, "-t", "bought", "-o", "m.mnca", "--preset", "linear", *SHORT),
        *("--set", "dim=7", "--set", "patience=inf", "--set", "distance=manhattan"),
        *(
            "--set",
            "learning_rate=1e-3",
            "--set",
            "missing_indicators=true",
            "--seed",
            "5",
        ),
        *("--numerical", "zip", "--time-limit", "100", "--device", "cpu"),
    )
    assert result.exit_code == 0, result.stderr
    model = load("m.mnca")
    assert model.config_.embedding == "linear"
    assert model.config_.dim == 7
    assert model.config_.patience == float("inf")
    assert model.config_.distance == "manhattan"
    assert model.config_.learning_rate == 0.001
    assert model.config_.missing_indicators is True
    assert model.get_params()["random_state"] == 5
    assert model.get_params()["time_limit"] == 100
    kinds = {
        column["name"]: column["kind"]
        for column in model.preparation_.preprocessor.describe()
    }
    assert kinds["zip"] == "number"


def test_classes_that_are_whole_numbers_stay_whole_numbers(shell):
    table = pa.table({"x": list(range(40)), "y": [i % 2 + 3 for i in range(40)]})
    pa_csv.write_csv(table, "t.csv")
    result = shell("fit", "t.csv", "-t", "y", "-o", "m.mnca", *SHORT)
    assert result.stdout.startswith(
        "Classification: the target y holds 2 classes (3, 4). "
        "If that is wrong, add --task regression.\n"
    )
    model = load("m.mnca")
    assert isinstance(model, ModernNCAClassifier)
    assert model.classes_.dtype == np.int64


def test_the_task_can_be_given(shell):
    table = pa.table({"x": list(range(40)), "y": [i % 2 + 3 for i in range(40)]})
    pa_csv.write_csv(table, "t.csv")
    shell("fit", "t.csv", "-t", "y", "-o", "m.mnca", "--task", "regression", *SHORT)
    assert isinstance(load("m.mnca"), ModernNCARegressor)


def test_listed_categories_keep_their_leading_zeros(classifier_file):
    model = load(classifier_file)
    columns = {
        column.name: column
        for column in model.preparation_.preprocessor.schema_.columns
    }
    assert columns["zip"].held == "text"
    assert columns["zip"].kind == "category"


def test_dropped_columns_are_not_asked_for(classifier_file):
    names = list(load(classifier_file).feature_names_in_)
    assert names == ["age", "color", "zip", "joined", "member"]


def test_no_rows_leaves_the_raw_rows_out(classifier_file, regressor_file):
    assert len(load(classifier_file).rows_.table.columns) == 5
    assert len(load(regressor_file).rows_.table.columns) == 0


def test_neighbors_are_numbered_as_in_the_file(classifier_file, shop):
    bought = read_table(shop)["bought"].to_pylist()
    origin = load(classifier_file).rows_.index
    assert sorted(origin) == [row for row, b in enumerate(bought) if b is not None]


def test_of_many_columns_only_some_are_shown(shell):
    rows = np.random.default_rng(0).normal(size=(45, 30))
    table = pa.table({f"column{i}": cells for i, cells in enumerate(rows)})
    pa_csv.write_csv(table, "t.csv")
    result = shell("fit", "t.csv", "-t", "column44", "-o", "m.mnca", *SHORT)
    assert "column39 " in result.stdout
    assert "column40 " not in result.stdout
    assert "... and 4 more columns." in result.stdout


def test_the_time_column_is_told(shell, shop):
    told = ("--time-column", "joined", "--set", "validation_split=last")
    result = shell("fit", shop, "-t", "spent", "-o", "m.mnca", *told, *SHORT)
    assert result.exit_code == 0, result.stderr
    model = load("m.mnca")
    assert model.time_column == "joined"
    assert len(model.preparation_.times.times) == 12


def test_an_unknown_time_column_is_refused(shell, shop):
    words = ("fit", shop, "-t", "spent", "-o", "m.mnca", "--time-column")
    result = shell(*words, "joind")
    assert result.exit_code == 1
    assert "no column 'joind' for --time-column; did you mean 'joined'?" in (
        " ".join(result.stderr.split())
    )
    result = shell(*words, "spent")
    assert "There is no column 'spent' for --time-column" in result.stderr


def test_a_raw_csv_is_read_as_people_read_it_and_the_losses_are_told(shell):
    lines = ["row;when;charges;price"]
    for i in range(90):
        charges = " " if i % 10 == 0 else f"{i % 17},5"
        lines.append(f"{i};{1 + i % 28:02}.01.2014;{charges};${1000 + 37 * i % 1000:,}")
    lines[20] = lines[20].replace(lines[20].split(";")[2], "plenty")
    with gzip.open("raw.csv.gz", "wt") as file:
        file.write("\n".join(lines))
    result = shell("fit", "raw.csv.gz", "-t", "price", "-o", "m.mnca", *SHORT)
    assert result.exit_code == 0, result.stderr
    assert result.stdout.startswith("Regression: the target price holds numbers.")
    told = [
        line for line in result.stderr.splitlines() if line.startswith("The column")
    ]
    assert len(told) == 2
    assert told[0].startswith("The column 'row' is different in each of the 72 rows")
    assert "cannot be read so (such as 'plenty')" in told[1]
    shown = " ".join(shell("info", "m.mnca").stdout.split())
    assert "row identifier dropped: it identifies the rows" in shown
    assert "numbers in text, with a decimal comma: standardized" in shown
    assert "dates in text, the day before the month: " in shown
    kept = ("--keep", "row", "--quiet")
    result = shell("fit", "raw.csv.gz", "-t", "price", "-o", "k.mnca", *kept, *SHORT)
    assert (result.exit_code, result.stderr) == (0, "")
    assert load("k.mnca").columns_[0]["kind"] == "number"
    result = shell("predict", "m.mnca", "raw.csv.gz", "-o", "out.csv.gz")
    assert result.exit_code == 0, result.stderr
    assert "Ignored columns that the model does not use: price.\n" in result.stderr
    assert read_table(Path("out.csv.gz")).num_rows == 90
