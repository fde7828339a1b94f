import re

import torch

from modernnca import __version__


def lines_of(text):
    return [" ".join(line.split()) for line in text.splitlines()]


def test_a_classifier_is_described(shell, classifier_file):
    result = shell("info", classifier_file)
    assert (result.exit_code, result.stderr) == (0, "")
    lines = lines_of(result.stdout)
    assert lines[:4] == [
        "estimator ModernNCAClassifier",
        f"written by modernnca {__version__}, torch {torch.__version__}",
        "target 2 classes: no, yes",
        "remembers 87 rows, with the raw rows",
    ]
    assert lines[4] == "training network 1: 2 epochs (max_epochs reached)"
    assert "arguments categorical_features=['zip'], max_epochs=2, random_state=0" in (
        lines
    )
    assert "max_epochs=2, patience=inf" in " ".join(lines)
    assert any(line.startswith("joined datetime days, month") for line in lines)


def test_a_regressor_is_described(shell, regressor_file):
    lines = lines_of(shell("info", regressor_file).stdout)
    assert lines[0] == "estimator ModernNCARegressor"
    assert lines[2].startswith("target numbers, mean ")
    assert lines[3] == "remembers 90 rows, without the raw rows"
    assert lines[4] == "training network 1: 2 epochs (max_epochs reached)"


def test_the_epoch_that_stopped_a_network_has_its_score(shell, shop):
    more = ("--set", "max_epochs=2", "--set", "patience=5", "--set", "n_members=1")
    shell("fit", shop, "-t", "spent", "-o", "m.mnca", *more, "-q")
    said = " ".join(shell("info", "m.mnca").stdout.split())
    assert re.search(r"training validation rmse \S+ at epoch [12] of 2", said)


def test_each_network_has_its_line(shell, shop):
    shell(
        *("fit", shop, "-t", "spent", "-o", "m.mnca", "--set", "max_epochs=1"),
        *("--set", "n_members=2", "-q"),
    )
    said = shell("info", "m.mnca").stdout
    assert "network 1: 1 epoch (" in said
    assert "network 2: 1 epoch (" in said


def test_a_name_cannot_give_orders_to_the_terminal(shell):
    with open("t.csv", "w") as file:
        file.write("a\x1b[31m[bold],y\n")
        file.writelines(f"{i},{i / 3}\n" for i in range(12))
    shell("fit", "t.csv", "-t", "y", "-o", "m.mnca", "--set", "max_epochs=1")
    said = shell("info", "m.mnca").stdout
    assert "\x1b" not in said
    assert "a\\x1b[31m[bold]" in said
