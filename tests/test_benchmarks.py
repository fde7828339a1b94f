"""The benchmarks start, and what they build from parts is what the library does."""

import importlib
import re
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

from modernnca import ModernNCAClassifier

FOLDER = Path(__file__).parents[1] / "benchmarks"
SCRIPTS = sorted(path.stem for path in FOLDER.glob("*.py"))


@pytest.fixture(autouse=True)
def on_path(monkeypatch):
    """Scripts import each other by their names."""
    monkeypatch.syspath_prepend(FOLDER)


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_shows_its_help(name, monkeypatch, capsys):
    module = importlib.import_module(name)
    source = (FOLDER / f"{name}.py").read_text()
    if "__main__" not in source:
        return
    monkeypatch.setattr(sys, "argv", [name, "--help"])
    run = getattr(module, "main", None)
    if hasattr(module, "jobs"):  # several scripts share their command line
        run = partial(run, module.__doc__, module.jobs, module.report)
    with pytest.raises(SystemExit) as ended:
        run()
    assert ended.value.code == 0
    assert module.__doc__.split("\n")[0].split()[0] in capsys.readouterr().out


def test_our_opponent_learns_and_predicts():
    opponents = importlib.import_module("opponents")
    x, y = opponents.make_table(500, 5, "cpu")
    for options in ({"n_knots": 32}, {"n_knots": 0}):
        ours = opponents.ours(x, y, **options)
        losses = [float(ours.step()) for _ in range(20)]
        assert np.mean(losses[-5:]) < np.mean(losses[:5])
        votes = ours.predict(x[:7])
        assert votes.shape == (7, opponents.N_CLASSES)
        torch.testing.assert_close(votes.sum(1), torch.ones(7))


@pytest.fixture
def table():
    """A table of numbers, in three parts."""
    tables, rng = importlib.import_module("tables"), np.random.RandomState(0)
    parts = []
    for n_rows in (120, 30, 30):
        X = pd.DataFrame(rng.randn(n_rows, 3), columns=list("abc"))
        parts.append((X, (X["a"] + X["b"] > 0).to_numpy().astype(int)))
    return tables.Table("made", False, *parts)


@pytest.fixture
def fit(table):
    """Fit a member of batchnorm.py for one epoch of four batches."""

    def fit(way: str, n_blocks: int):
        member = importlib.import_module("batchnorm").WAYS[way]
        model = ModernNCAClassifier(
            preset="paper",
            members=[member],
            n_blocks=n_blocks,
            max_epochs=1,
            batch_size=32,
            random_state=0,
        )
        return model.fit(*table.train, eval_set=table.val)

    return fit


def test_batchnorm_sees_rows_together_or_apart(fit):
    def n_passes(model) -> set[int]:
        modules = model.members_[0].network_.modules()
        norms = [each for each in modules if isinstance(each, torch.nn.BatchNorm1d)]
        return {int(norm.num_batches_tracked) for norm in norms}

    assert n_passes(fit("together", 1)) == {4}
    assert n_passes(fit("apart", 1)) == {8}


def test_without_batchnorm_it_makes_no_difference(fit, table):
    together, apart = (fit(way, 0) for way in ("together", "apart"))
    X, _ = table.test
    one, two = (model.predict_proba(X) for model in (together, apart))
    np.testing.assert_allclose(one, two, atol=1e-4)


def test_links_of_the_page_lead_somewhere():
    for page in ("README.md", "accuracy.md", "peers.md"):
        text = (FOLDER / page).read_text()
        for target in re.findall(r"\]\((?!https?:)([^)#]+)", text):
            assert (FOLDER / target).exists(), target


def test_the_page_of_accuracy_is_that_of_its_records():
    accuracy = importlib.import_module("accuracy")
    page = accuracy.page(pd.read_csv(FOLDER / "accuracy.csv"))
    assert (FOLDER / "accuracy.md").read_text("utf-8") == page


def test_the_readme_leads_with_tables_that_were_not_used_for_choosing():
    """Its figures are those of accuracy.md, with two digits: median; mean, interval."""
    readme = (FOLDER.parent / "README.md").read_text("utf-8")
    found = (FOLDER / "accuracy.md").read_text("utf-8")
    row = re.compile(
        r"\| (.+) \| \d+, confirm \| (\w+) \| (\S+) \| (\S+) \| (\S+) to (\S+) \|"
    )
    figures = {
        (other.replace("ModernNCA, paper", "the paper's defaults"), task): [
            float(number) for number in numbers
        ]
        for other, task, *numbers in row.findall(found)
    }
    cell = r"(\d\.\d\d; .+)"
    shown = re.findall(rf"^\| (.+) \| {cell} \| {cell} \|$", readme, re.MULTILINE)
    assert len(shown) == 5
    for other, *cells in shown:
        for task, text in zip(("classification", "regression"), cells, strict=True):
            shown_here = [float(number) for number in re.findall(r"\d\.\d\d", text)]
            assert shown_here == pytest.approx(figures[other, task], abs=0.00501)
