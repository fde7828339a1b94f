"""Nothing is learned from validation rows but when to stop: not even a scale."""

import numpy as np
import pytest
from tests.estimators.models import classifier, regressor

from modernnca.estimators import estimator, tuning
from modernnca.table.read import read_table

RNG = np.random.RandomState(0)
X, Y = RNG.randn(120, 3), RNG.randn(120) + 5
QUICK = {
    "max_epochs": 1,
    "n_members": 1,
    "forest_member": False,
    "refit": "none",
    "random_state": 0,
}


def learned_scale(model):
    target = model.preparation_.target
    return [target.mean_, target.scale_]


def test_the_target_is_scaled_by_the_training_rows():
    model = regressor(**QUICK).fit(X[:90], Y[:90], eval_set=(X[90:], 1000 * Y[90:]))
    assert learned_scale(model) == pytest.approx([Y[:90].mean(), Y[:90].std()])


def test_the_target_is_scaled_without_rows_that_are_held_out(monkeypatch):
    parts, split = [], estimator.split

    def spy(*args):
        parts.extend(split(*args))
        return parts

    monkeypatch.setattr(estimator, "split", spy)
    model = regressor(**QUICK).fit(X, Y)
    train, valid = parts
    assert len(train) + len(valid) == len(Y)
    assert learned_scale(model) == pytest.approx([train.y.mean(), train.y.std()])


def test_columns_are_scaled_by_the_training_rows():
    rows = read_table(X)
    cells = [
        regressor(**QUICK)
        .fit(X[:90], Y[:90], eval_set=(valid, Y[90:]))
        .preparation_.preprocessor.transform(rows)
        for valid in (X[90:], 1000 * X[90:])
    ]
    for one, other in zip(*cells, strict=True):
        np.testing.assert_array_equal(one, other)


def test_trials_do_not_let_validation_rows_vote(monkeypatch):
    """Noise: at this temperature, a row that finds itself is always right."""
    labels, fitted, fit = RNG.randint(2, size=120), [], tuning._fit

    def spy(model, data):
        fit(model, data)
        fitted.append((model.config_.refit, len(model.rows_)))

    monkeypatch.setattr(tuning, "_fit", spy)
    cold = {**QUICK, "refit": "remember", "temperature": 1e-4, "baseline_check": False}
    model = classifier(**cold, calibrate=False, cooling=False, diversity="alike")
    model.tune(X, labels, trials=2)
    assert [refit for refit, _ in fitted] == ["none", "none", "remember"]
    assert fitted[0][1] < fitted[2][1]
    assert model.best_score_ < 0.8


@pytest.mark.parametrize("given", ["nothing", "rows", "times"])
def test_only_rows_drawn_at_random_may_vote_on_each_other(monkeypatch, given):
    runs, combine = [], estimator.combine_members

    def spy(*args):
        runs.append(args[-1])
        return combine(*args)

    monkeypatch.setattr(estimator, "combine_members", spy)
    model = regressor(**QUICK, time_column=0 if given == "times" else None)
    model.fit(X, Y, eval_set=(X[90:], Y[90:]) if given == "rows" else None)
    assert [run.drawn for run in runs] == [given == "nothing"]
