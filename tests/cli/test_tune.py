import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from tests.processes import start

from modernnca import ModernNCAClassifier, ModernNCARegressor, load
from modernnca.cli.table_files import read_table
from modernnca.estimators.resolve import given_options

SHORT = ("--set", "max_epochs=2", "--set", "n_blocks=0", "--set", "dim=8")


def test_it_says_what_it_tried_and_what_was_best(shell, shop):
    result = shell("tune", shop, "-t", "bought", "-o", "m.mnca", "--trials", 3, *SHORT)
    assert result.exit_code == 0, result.stderr
    said = result.stdout
    assert said.startswith(
        "Classification: the target bought holds 2 classes (no, yes).\n"
        "Learning from 87 rows; skipped 3 rows without a target.\n"
    )
    lines = [line.split() for line in said.splitlines()]
    assert ["option", "default", "tuned"] in lines
    default = {line[0]: line[1] for line in lines if len(line) == 3}
    assert default["n_frequencies"] == "16"
    assert default["learning_rate"] == "0.004"
    assert "dim" not in default  # it was set, so it is not searched
    assert "Trials: 3 done.\n" in said
    assert "On the validation rows: default accuracy " in said
    assert said.splitlines()[-1].startswith("Saved to m.mnca (")
    assert "tune: 100%" in result.stderr
    assert "Error" not in result.stderr


def test_it_saves_what_the_python_api_finds(shell, shop):
    result = shell(
        *("tune", shop, "-t", "spent", "-o", "m.mnca", "--drop", "id", *SHORT),
        *("--trials", 2, "--seed", 4, "--metric", "mae", "--quiet"),
    )
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "")
    table = read_table(shop)
    X, y = table.drop_columns(["id", "spent"]), table["spent"].to_numpy()
    model = ModernNCARegressor(max_epochs=2, n_blocks=0, dim=8, random_state=4)
    model.tune(X, y, trials=2, metric="mae")
    loaded = load("m.mnca")
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    options = given_options(loaded)
    assert {name: options[name] for name in model.best_params_} == model.best_params_


def test_an_error_is_shown_as_an_error(shell, shop):
    result = shell(
        *("tune", shop, "-t", "spent", "-o", "m.mnca", "--trials", 2, *SHORT),
        *("--no-rows", "--time-limit", 60),
    )
    assert "default rmse " in result.stdout
    assert "rmse -" not in result.stdout
    assert len(load("m.mnca").rows_.table.columns) == 0


def test_neighbors_are_numbered_as_in_the_file(shell, shop):
    shell("tune", shop, "-t", "bought", "-o", "m.mnca", "--trials", 1, *SHORT)
    bought = read_table(shop)["bought"].to_pylist()
    there = [row for row, value in enumerate(bought) if value is not None]
    assert sorted(load("m.mnca").rows_.index) == there


@pytest.mark.skipif(os.name == "nt", reason="needs SIGKILL")
def test_an_interrupted_command_goes_on(shell, shop):
    command = ["tune", str(shop), "-t", "bought", "-o", "m.mnca", "--trials", "4"]
    command += ["--storage", "kept", *SHORT]
    process = start(
        [sys.executable, "-m", "modernnca.cli", *command], stderr=subprocess.DEVNULL
    )
    journal = Path("kept/study.journal")
    while not journal.exists() or journal.read_text().count('"place"') < 2:
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    result = shell(*command)
    assert result.exit_code == 0, result.stderr
    assert "Trials: 4 done.\n" in result.stdout
    shell(*command[:5], "whole.mnca", *command[6:8], *SHORT)
    X = read_table(shop).drop_columns(["bought"])
    np.testing.assert_array_equal(
        load("m.mnca").predict_proba(X), load("whole.mnca").predict_proba(X)
    )


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--trials", 0), "trials must be a whole number of at least 1; got 0."),
        (
            ("--time-limit", -1),
            "time_limit must be a number above 0 or None; got -1",
        ),
        (
            ("--metric", "rmse"),
            "Unknown metric 'rmse'; choose one of: accuracy, auc, balanced-accuracy, "
            "log-loss.",
        ),
        (("--storage", "m.csv"), "'m.csv' is a file; name a folder."),
        (("--out", "no/m.mnca"), "There is no folder 'no' to write 'm.mnca' into"),
        (("--drop", "agee"), "There is no column 'agee' for --drop; did you mean"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(shell, shop, words, said):
    Path("m.csv").touch()
    result = shell("tune", shop, "-t", "bought", "-o", "m.mnca", *SHORT, *words, "-q")
    assert result.exit_code == 1
    assert result.stderr.startswith(f"Error: {said}")
    assert result.stderr.count("\n") == 1


def test_failed_trials_are_mentioned(shell, shop, monkeypatch):
    fit, calls = ModernNCAClassifier.fit, []

    def break_once(self, *given, **options):
        calls.append(self)
        if len(calls) == 2:
            raise RuntimeError("the lights\nwent out")
        return fit(self, *given, **options)

    monkeypatch.setattr(ModernNCAClassifier, "fit", break_once)
    result = shell("tune", shop, "-t", "bought", "-o", "m.mnca", "--trials", 3, *SHORT)
    assert "Trials: 2 done, 1 failed.\n" in result.stdout
    assert (
        "The first failure was trial 1: RuntimeError: the lights went out\n"
        in result.stdout
    )
