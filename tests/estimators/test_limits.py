"""A time limit is kept, does not change the kind of model, and tells what it cost."""

import time
import warnings

import numpy as np
import pytest
from tests.estimators.models import classifier, regressor

from modernnca import (
    BaselineWarning,
    ModernNCAClassifier,
    ModernNCARegressor,
    TimeLimitWarning,
    load,
)
from modernnca.ensemble import fitting, time_plan
from modernnca.ensemble.costs import Costs
from modernnca.ensemble.time_plan import Work

RNG = np.random.RandomState(0)
X = RNG.randn(600, 5)
Y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2]
ENDLESS = {"max_epochs": 100_000, "patience": float("inf"), "random_state": 0}


def costing(monkeypatch, costs):
    """Let a rehearsal find these costs."""
    monkeypatch.setattr(time_plan, "_rehearse", lambda *_: costs)


def test_a_limit_that_binds_leaves_time_for_all_that_follows_training():
    began = time.monotonic()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TimeLimitWarning)  # of networks, if it is slow
        model = regressor(**ENDLESS, n_members=2, time_limit=4).fit(X, Y)
    assert time.monotonic() - began < 4 * 1.05 + 1
    assert set(model.ended_) == {"time_limit"}
    assert len(set(model.member_weights_)) == len(model.members_)  # learned, not equal
    settled = ("weights of the members", "fine-tuning")
    assert not any(part.startswith(settled) for part in model.fit_report_.left_out)
    assert model.validation_score_ is not None
    assert model.fit_report_.ended == "time_limit"


def test_a_generous_limit_changes_nothing():
    quick = {"max_epochs": 3, "n_members": 2, "random_state": 0}
    without = regressor(**quick).fit(X, Y)
    within = regressor(**quick, time_limit=1000).fit(X, Y)
    np.testing.assert_array_equal(within.predict(X), without.predict(X))
    assert within.fit_report_.ended == "complete"
    assert within.fit_report_.left_out == ()


def test_a_large_table_is_sampled_if_the_time_is_short(monkeypatch):
    """A row takes 10 ms in an epoch: there is time for some of 5,000."""
    costing(monkeypatch, Costs(epoch=0.01, start=1e-5, embed=1e-5))
    big = np.random.RandomState(1).randn(5000, 4)
    y = np.where(big[:, 0] > 0, "a", "b")
    y[:3] = "c"
    with pytest.warns(TimeLimitWarning, match=r"left out: \d,\d{3} of 5,000 rows"):
        model = classifier(max_epochs=2, time_limit=100, random_state=0).fit(big, y)
    assert 1000 <= model.fit_report_.n_rows == len(model.rows_.index) < 2500
    assert model.classes_.tolist() == ["a", "b", "c"]
    assert "c" in y[model.rows_.index]  # no class is lost
    assert model.score(big, y) > 0.8


def test_resumed_fits_see_the_same_rows(monkeypatch, tmp_path):
    costing(monkeypatch, Costs(epoch=0.01))
    quick = {"max_epochs": 1, "n_members": 1, "random_state": 0}
    model = regressor(**quick, time_limit=10, checkpoint_dir=tmp_path).fit(X, Y)
    assert len(model.rows_.index) == 600


def test_fewer_networks_are_trained_if_the_time_is_short(monkeypatch):
    """Each network needs a minute, and has less."""
    costing(monkeypatch, Costs(epoch=0.02))
    quick = {"max_epochs": 2, "n_members": 4, "time_limit": 30, "random_state": 0}
    monkeypatch.setattr(fitting, "n_at_once", lambda *_: 1)
    with pytest.warns(TimeLimitWarning, match="left out: [123] of 4 networks"):
        model = regressor(**quick).fit(X, Y)
    assert 1 <= len(model.members_) < 4
    assert model.transform(X).shape == (600, 4 * model.config_.dim)


def test_a_network_without_an_epoch_does_not_vote():
    with (
        pytest.warns(
            BaselineWarning, match=r"No network finished an epoch; plain k-NN"
        ),
        pytest.warns(TimeLimitWarning, match="4 of 4 networks"),
    ):
        model = ModernNCAClassifier(time_limit=1e-6, random_state=0).fit(X, Y > 0)
    assert model.baseline_ == "knn"
    assert [member.kind for member in model.members_] == ["knn"]
    assert model.score(X, Y > 0) > 0.7


@pytest.mark.parametrize("time_limit", [None, 50])
def test_a_forest_may_vote_alone(time_limit):
    model = ModernNCAClassifier(
        members=["forest"], time_limit=time_limit, random_state=0
    ).fit(X, Y > 0)
    assert [member.kind for member in model.members_] == ["forest"]
    assert model.fit_report_.left_out == ()


@pytest.mark.parametrize("number", [0, 1])  # the first is always begun
def test_one_of_two_networks_without_an_epoch_does_not_vote(number, monkeypatch):
    def cut(part, *_):
        return part.but(budget=part.budget.first(0)) if part.number == number else part

    monkeypatch.setattr(fitting, "_timed", cut)
    quick = {"max_epochs": 3, "n_members": 2, "time_limit": 1000, "random_state": 0}
    quick |= {"patience": 5}  # so that each is trained alone
    with pytest.warns(TimeLimitWarning, match="left out: 1 of 2 networks"):
        model = regressor(**quick).fit(X, Y)
    assert len(model.members_) == 1


def test_a_settled_model_is_told_what_it_lacks(monkeypatch):
    """The baselines take hours."""
    costing(monkeypatch, Costs(knn=1.0))
    quick = {"max_epochs": 2, "n_members": 2, "time_limit": 60, "random_state": 0}
    with pytest.warns(TimeLimitWarning, match="weights of the members, calibration"):
        model = regressor(**quick).fit(X, Y)
    assert len(set(model.member_weights_)) == 1
    assert model.validation_score_ is None


@pytest.mark.parametrize(
    ("refit", "step", "part"),
    [
        ("remember", "_share_of_finetuning", "fine-tuning"),
        ("full", "_refit", "retraining on all rows"),
    ],
)
def test_a_last_step_without_time_is_told(refit, step, part, monkeypatch):
    monkeypatch.setattr(fitting, step, lambda *_: None)
    quick = {"max_epochs": 2, "n_members": 1, "time_limit": 1000, "random_state": 0}
    quick |= {"baseline_check": False, "refit": refit}
    with pytest.warns(TimeLimitWarning, match=f"left out: {part}"):
        model = regressor(**quick).fit(X, Y)
    assert model.fit_report_.left_out == (part,)


def test_there_is_time_for_as_much_as_it_costs():
    work = Work(8000, 2000, n_members=4, n_together=1, batch_size=1000)
    costs = Costs(epoch=0.001, embed=1e-4)
    seconds = work.seconds(costs)
    assert time_plan._affordable(work, costs, seconds) == (4, 1.0)
    n_members, share = time_plan._affordable(work, costs, seconds / 2)
    assert (n_members, share) == (2, 1.0)
    n_members, share = time_plan._affordable(work, costs, seconds / 10)
    assert n_members == 1
    one = Work(8000, 2000, n_members=1, n_together=1, batch_size=1000)
    assert one.scaled(share).seconds(costs) <= seconds / 10
    assert one.scaled(1.2 * share).seconds(costs) > seconds / 10


def test_the_report_is_saved(tmp_path):
    model = regressor(max_epochs=1, random_state=0, time_limit=50).fit(X, Y)
    model.save(tmp_path / "m")
    again = load(tmp_path / "m")
    assert again.fit_report_ == model.fit_report_
    assert repr(again.fit_report_).startswith("FitReport(")
    assert again.validation_score_ == model.validation_score_
    assert again.n_features_out_ == model.n_features_out_


def test_the_validation_score_is_that_of_the_final_model():
    valid = np.random.RandomState(1).randn(300, 5)
    y_val = np.sin(2 * valid[:, 0]) + valid[:, 1] * valid[:, 2]
    quick = {"max_epochs": 4, "refit": "none", "random_state": 0}
    one = classifier(**quick, n_members=1).fit(X, Y > 0, X_val=valid, y_val=y_val > 0)
    assert one.validation_score_ == one.score(valid, y_val > 0)
    many = regressor(**quick, n_members=3).fit(X, Y, eval_set=(valid, y_val))
    error = np.sqrt(np.mean((many.predict(valid) - y_val) ** 2))
    # Weights are learned from other rows than those that are scored.
    assert -many.validation_score_ == pytest.approx(error, rel=0.05)
    assert -many.validation_score_ != error
    paper = ModernNCARegressor(preset="paper", max_epochs=3, random_state=0).fit(X, Y)
    best = paper.history_[paper.best_epochs_[0] - 1]
    assert paper.validation_score_ == best.score
    alone = {"n_members": 1, "validation_fraction": 0.0, "patience": 5}
    none = regressor(**quick, **alone).fit(X, Y)
    assert none.validation_score_ == none.history_[none.best_epochs_[0] - 1].score


def test_log_loss_is_scored_with_calibrated_probabilities():
    quick = {"max_epochs": 12, "random_state": 0, "n_members": 1, "refit": "none"}
    options = {**quick, "eval_metric": "log-loss", "cooling": False}
    given = {"eval_set": (X[400:], Y[400:] > 0)}
    plain = classifier(**options, calibrate=False).fit(X[:400], Y[:400] > 0, **given)
    scored = classifier(**options).fit(X[:400], Y[:400] > 0, **given)
    assert scored.validation_score_ > plain.validation_score_
