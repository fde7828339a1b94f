"""No fit, search or map sees rows that it is judged by.

A spy stands in for the method: it notes which rows it is given, by their number in a
column, and answers only for rows whose targets it was shown.
"""

import dataclasses
from itertools import product

import numpy as np
import pandas as pd
import pytest

from modernnca.lab.bench import job as bench
from modernnca.lab.bench.dataset import Dataset
from modernnca.lab.bench.job import Job, JobInput, run_job
from modernnca.lab.bench.splits import split_rows
from modernnca.lab.peers import peer
from modernnca.lab.peers.card import Peer
from modernnca.table.split import hold_out
from modernnca.tune.space import Int

N_ROWS = 100


class Spy:
    """Predicts the target of rows that it was shown, and 0 for all others."""

    def __init__(self, seen, task, settings):
        self.seen, self.task, self.settings = seen, task, settings
        self.classes_ = np.array(["0", "1"])

    def fit(self, X, y, *, eval_set=None):
        self.known = dict(zip(X["row"], y, strict=True))
        self.seen["train"] |= set(X["row"])
        if eval_set is not None:
            self.known |= dict(zip(eval_set[0]["row"], eval_set[1], strict=True))
            self.seen["val"] |= set(eval_set[0]["row"])
        return self

    def predict(self, X):
        self.seen["asked"] |= set(X["row"])
        return np.array([float(self.known.get(row, 0)) for row in X["row"]])

    def predict_proba(self, X):
        ones = self.predict(X) == 1
        return np.c_[~ones, ones].astype(float)

    def transform(self, X):
        self.seen["asked"] |= set(X["row"])
        return np.c_[X["row"], X["row"] % 7].astype(float)


@pytest.fixture(params=["binclass", "regression"])
def spied(request, monkeypatch):
    """The rows that a spy has seen in all fits of a job, and the parts of its table."""
    seen = {"train": set(), "val": set(), "asked": set()}
    rng, rows = np.random.RandomState(0), np.arange(N_ROWS)
    numbers = rng.permutation(rows) + 1.0
    labels = np.where(rng.rand(N_ROWS) < 0.5, "1", "0")
    y = numbers if request.param == "regression" else labels
    frame = pd.DataFrame({"row": rows})
    dataset = Dataset("spied", request.param, frame, y)

    def make(task, seed, report=None, **settings):
        return Spy(seen, task, settings)

    card = Peer(
        name="spy", title="Spy", paper="", source="", make=make, space={"k": Int(1, 9)}
    )
    monkeypatch.setattr(bench, "read_dataset", lambda name, data=None: dataset)
    monkeypatch.setattr(bench, "peer", lambda name: card)
    parts = split_rows(dataset, "random-0")
    return seen, {name: set(rows.tolist()) for name, rows in parts._asdict().items()}


def spy_job(**fields):
    return Job("spied", "spy", "random-0", **fields)


def test_trials_are_judged_on_the_validation_part(spied, tmp_path):
    seen, parts = spied
    search = spy_job(trials=2, kind="search")
    record = run_job(JobInput(search, storage=tmp_path))
    assert seen == {
        "train": parts["train"],
        "val": parts["val"],
        "asked": parts["val"],
    }
    perfect = {"accuracy": 1.0, "rmse": 0.0}
    assert all(record.scores[name] == perfect[name] for name in record.scores)


@pytest.mark.parametrize("kind", ["fit", "embed"])
def test_a_fit_learns_and_stops_without_the_test_part(spied, kind):
    seen, parts = spied
    record = run_job(JobInput(spy_job(kind=kind)))
    assert record.status == "done"
    assert seen["train"] == parts["train"]
    assert seen["val"] == parts["val"]
    assert seen["asked"] == parts["test"]


def test_scores_are_those_of_the_test_part(spied):
    record = run_job(JobInput(spy_job()))
    assert record.scores.get("accuracy", 0.0) < 1  # a spy knows train and val alone
    assert record.scores.get("rmse", 1.0) > 0


OWN = ("modernnca", "modernnca-paper", "l-nca", "nca", "tabcon")
REFITTED = (*OWN, "xgboost", "lightgbm", "catboost")


@pytest.mark.parametrize("name", REFITTED)
def test_no_model_of_a_trial_remembers_validation_rows(name, tmp_path, monkeypatch):
    card, built = peer(name), []

    def make(*args, **settings):
        built.append(settings)
        return peer("knn").build(args[0], seed=0)

    spied_card = dataclasses.replace(card, make=make)
    monkeypatch.setattr(bench, "peer", lambda name: spied_card)
    asked = '{"refit": "full"}' if name in OWN else '{"refit": true}'
    job = Job("builtin:iris", name, trials=2, settings=asked)
    run_job(JobInput(job.search, storage=tmp_path))
    off = "none" if name in OWN else False
    assert [settings["refit"] for settings in built] == [off, off]


def noise(tmp_path):
    """A table of a file whose classes nothing tells, each with two rows alike."""
    file = tmp_path / "noise.csv"
    rng = np.random.RandomState(0)
    rows = [f"{a},{b},{rng.randint(2)}" for a, b in rng.rand(200, 2)]
    file.write_text("a,b,y\n" + "\n".join(rows) + "\n")
    return f"{file}:y"


def test_a_validation_row_that_finds_itself_would_be_seen(tmp_path):
    """At this temperature the nearest row decides; nothing else can be right so often.

    The remembering model of the second half shows that the test can fail.
    """
    cold = '{"max_epochs": 1, "n_members": 1, "diversity": "alike", '
    cold += '"forest_member": false, "temperature": 1e-4, "baseline_check": false, '
    cold += '"cooling": false, "calibrate": false, "refit": "remember"}'
    job = Job(noise(tmp_path), "modernnca", trials=1, settings=cold)
    record = run_job(JobInput(job.search, storage=tmp_path / "trials"))
    assert record.scores["accuracy"] < 0.8

    card = dataclasses.replace(peer("modernnca"), tuning_settings={})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bench, "peer", lambda name: card)
        record = run_job(JobInput(job.search, storage=tmp_path / "others"))
    assert record.scores["accuracy"] > 0.95


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("knn", True),  # which holds no rows out
        *product(("mlp", "xgboost"), (True, False)),
    ],
)
def test_targets_of_other_methods_are_scaled_by_the_training_rows(name, given):
    card, rng = peer(name), np.random.RandomState(0)
    if card.extra:
        pytest.importorskip(name)
    X, y = rng.randn(100, 2), np.arange(100.0) ** 3
    steps = {"max_epochs": 1, "d_layer": 4} if name == "mlp" else {}
    if card.extra:
        steps = {"n_estimators": 2}
    model = card.build("regression", seed=0, settings=steps)
    if given:
        model.fit(X[:50], y[:50], eval_set=(X[50:], y[50:]))
        train = np.arange(50)
    else:
        model.fit(X, y)
        rng = np.random.RandomState(0)
        train, _ = hold_out(100, fraction=0.2, rng=rng, classes=None)
    found = [model.target_.mean_, model.target_.scale_]
    assert found == pytest.approx([y[train].mean(), y[train].std()])
