import io
import shutil

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pa_parquet
import pytest

from modernnca import ModernNCAClassifier, load
from modernnca.cli.table_files import read_table

NOTE = "Ignored columns that the model does not use: id, spent, bought.\n"


def known(model, shop):
    table = read_table(shop, texts=["zip"])
    return table.select(list(model.feature_names_in_))


def test_classes_come_with_their_probabilities(shell, classifier_file, shop):
    result = shell("predict", classifier_file, shop, "-o", "out.csv")
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr == NOTE + "Wrote 90 predictions to out.csv.\n"
    out = pa_csv.read_csv("out.csv")
    model = load(classifier_file)
    X = known(model, shop)
    assert out.column_names == ["prediction", "probability_no", "probability_yes"]
    assert out["prediction"].to_pylist() == model.predict(X).tolist()
    for place in (0, 1):
        np.testing.assert_array_equal(
            out.column(place + 1).to_numpy(), model.predict_proba(X)[:, place]
        )


def test_numbers_are_predicted_to_the_last_bit(shell, regressor_file, shop):
    shell("predict", regressor_file, shop, "-o", "out.parquet")
    out = pa_parquet.read_table("out.parquet")
    model = load(regressor_file)
    X = read_table(shop).select(list(model.feature_names_in_))
    assert out.column_names == ["prediction"]
    np.testing.assert_array_equal(out["prediction"].to_numpy(), model.predict(X))


def test_without_out_the_csv_goes_to_stdout_and_notes_to_stderr(
    shell, classifier_file, shop
):
    result = shell("predict", classifier_file, shop)
    assert result.stderr == NOTE
    out = pa_csv.read_csv(io.BytesIO(result.stdout.encode()))
    assert out.num_rows == 90


def test_keep_puts_the_columns_in_front(shell, classifier_file, shop):
    shell("predict", classifier_file, shop, "--keep", "-o", "out.tsv")
    out = pa_csv.read_csv("out.tsv", parse_options=pa_csv.ParseOptions(delimiter="\t"))
    names = pa_csv.read_csv(shop).column_names
    assert out.column_names[: len(names)] == names
    assert out.column_names[len(names)] == "prediction"


def test_keep_does_not_hide_a_column_of_the_table(shell, classifier_file, shop):
    table = pa_csv.read_csv(shop).append_column("prediction", pa.array([0] * 90))
    pa_csv.write_csv(table, "t.csv")
    result = shell("predict", classifier_file, "t.csv", "--keep")
    assert result.exit_code == 1
    assert result.stderr.endswith(
        "Error: The table has a column 'prediction' already; "
        "rename it, or leave out --keep.\n"
    )


def test_neighbors_and_their_shares_are_added(shell, classifier_file, shop):
    shell("predict", classifier_file, shop, "--neighbors", 2, "-o", "out.parquet")
    out = pa_parquet.read_table("out.parquet")
    model = load(classifier_file)
    found = model.explain(known(model, shop), n_neighbors=2)
    for place in (1, 2):
        assert (out[f"neighbor_{place}"].to_numpy() == found.indices.T[place - 1]).all()
        assert (out[f"share_{place}"].to_numpy() == found.shares.T[place - 1]).all()


def test_codes_keep_their_zeros_even_if_the_table_holds_digits_only(
    shell, classifier_file
):
    header = "age,color,zip,joined,member\n"
    rows = ["30,red,007,2024-03-05,true\n", "30,red,7,2024-03-05,true\n"]
    with open("t.csv", "w") as file:
        file.writelines([header, *rows])
    shell("predict", classifier_file, "t.csv", "-o", "out.parquet")
    first, second = pa_parquet.read_table("out.parquet")["probability_yes"].to_pylist()
    assert first != second  # 7 is no code that was there in fit


def test_a_model_learned_from_an_array_takes_columns_by_position(shell):
    X, y = np.arange(20.0).reshape(10, 2), [0, 1] * 5
    ModernNCAClassifier(max_epochs=1, random_state=0).fit(X, y).save("m.mnca")
    pa_csv.write_csv(pa.table({"a": X[:, 0], "b": X[:, 1]}), "t.csv")
    result = shell("predict", "m.mnca", "t.csv", "-o", "out.csv")
    assert result.stderr == "Wrote 10 predictions to out.csv.\n"
    prediction = load("m.mnca").predict(X).tolist()
    assert pa_csv.read_csv("out.csv")["prediction"].to_pylist() == prediction


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_a_failure_leaves_the_file_that_was_there(
    shell, classifier_file, shop, ending, monkeypatch
):
    out = f"out{ending}"
    with open(out, "w") as file:
        file.write("before")
    broken = pa_csv.read_csv(shop).drop_columns(["age"])
    pa_csv.write_csv(broken, "t.csv")
    result = shell("predict", classifier_file, "t.csv", "-o", out)
    assert result.exit_code == 1
    assert result.stderr == (
        "Error: The table lacks the column 'age', which was there in fit. It has 'id', "
        "'spent', 'bought', not there in fit.\n"
    )
    with open(out) as file:
        assert file.read() == "before"


def test_no_trace_is_left_beside_the_file(shell, classifier_file, shop, tmp_path):
    shutil.copy(classifier_file, "m.mnca")
    shell("predict", "m.mnca", shop, "-o", "out.csv")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m.mnca", "out.csv"]


def test_the_wrong_table_names_the_columns_that_are_missing(shell, classifier_file):
    pa_csv.write_csv(pa.table({"u": [1.0], "v": ["x"]}), "t.csv")
    result = shell("predict", classifier_file, "t.csv")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == (
        "Error: The table lacks the columns 'age', 'color', 'zip', 'joined', 'member', "
        "which were there in fit. It has 'u', 'v', not there in fit.\n"
    )


def test_intervals_and_sets_stand_beside_the_predictions(
    shell, classifier_file, regressor_file, shop
):
    shell("predict", regressor_file, shop, "--interval", "0.8", "-o", "out.parquet")
    out = pa_parquet.read_table("out.parquet")
    assert out.column_names == ["prediction", "interval_low", "interval_high"]
    model = load(regressor_file)
    X = read_table(shop).select(list(model.feature_names_in_))
    found = np.stack([out["interval_low"], out["interval_high"]], 1)
    np.testing.assert_array_equal(found, model.predict_interval(X, coverage=0.8))
    shell("predict", classifier_file, shop, "--set", "0.8", "-o", "out.parquet")
    out, model = pa_parquet.read_table("out.parquet"), load(classifier_file)
    found = np.stack([out["in_set_no"], out["in_set_yes"]], 1)
    expected = model.predict_set(known(model, shop), coverage=0.8)
    np.testing.assert_array_equal(found, expected)


def test_an_interval_is_of_numbers_and_a_set_of_classes(
    shell, classifier_file, regressor_file, shop
):
    result = shell("predict", classifier_file, shop, "--interval", "0.8")
    assert "--interval is for models that predict numbers; use --set." in result.stderr
    result = shell("predict", regressor_file, shop, "--set", "0.8")
    assert "--set is for models that predict classes; use --interval." in result.stderr
    result = shell("predict", regressor_file, shop, "--interval", "1.5")
    assert "coverage must be above 0 and below 1" in result.stderr
