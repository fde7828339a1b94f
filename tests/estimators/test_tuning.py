"""What `tune` promises: better options by one metric, reproducible."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris
from tests.estimators.models import classifier, regressor
from tests.estimators.tables import classes_of, mixed_table, numbers_of
from tests.processes import start

from modernnca import (
    LNCAClassifier,
    ModernNCAClassifier,
    ModernNCARegressor,
    NCAClassifier,
    TabConRegressor,
)
from modernnca.execute.local import Pool
from modernnca.tune.space import Choice, Int, LogFloat

FRAME = mixed_table()
LABELS, NUMBERS = classes_of(FRAME), numbers_of(FRAME)
QUICK = {"max_epochs": 3, "patience": 5, "random_state": 0}
TWO = {**QUICK, "n_members": 2}  # networks are enough to be tuned
SMALL = {"dim": Int(4, 32), "learning_rate": LogFloat(1e-4, 0.1)}


def test_classification_is_tuned_for_accuracy_on_the_validation_rows():
    X, y = load_iris(return_X_y=True, as_frame=True)
    model = classifier(**TWO).tune(X, y, trials=4, space=SMALL)
    assert model.best_score_ == max(trial.score for trial in model.tuning_)
    # Without the validation rows in its memory, the model has this score on them.
    alone = clone(model).set_params(refit="none").fit(X, y)
    held = np.setdiff1d(np.arange(150), alone.rows_.index)
    assert len(held) == 30
    assert alone.score(X.iloc[held], y[held]) == pytest.approx(model.best_score_)


def test_regression_is_tuned_for_rmse_whatever_the_eval_metric():
    X, y = load_diabetes(return_X_y=True)
    model = regressor(eval_metric="mae", **TWO)
    model.tune(X[:300], y[:300], trials=4, space=SMALL, eval_set=(X[300:], y[300:]))
    default = model.tuning_[0]
    assert default.settings == {"dim": 64, "learning_rate": 0.004}
    plain = regressor(eval_metric="mae", refit="none", **TWO)
    plain.fit(X[:300], y[:300], eval_set=(X[300:], y[300:]))
    error = np.sqrt(np.mean((plain.predict(X[300:]) - y[300:]) ** 2))
    assert default.score == pytest.approx(-error)
    assert model.best_score_ >= default.score


def test_the_best_options_are_taken_over_and_fitted():
    model = classifier(**TWO)
    assert model.tune(FRAME, LABELS, trials=3, space=SMALL) is model
    best = max(model.tuning_, key=lambda trial: trial.score)
    assert model.best_params_ == best.settings
    assert {n: model.get_params()[n] for n in SMALL} == model.best_params_
    assert model.get_params()["random_state"] == 0
    assert model.get_params()["time_limit"] is None
    again = clone(model).fit(FRAME, LABELS)  # a plain fit gives the same bits
    assert np.array_equal(again.predict_proba(FRAME), model.predict_proba(FRAME))
    assert len(model.rows_.index) == 120  # with the validation rows


def test_the_same_seed_gives_the_same_model():
    one, two = (
        regressor(**TWO).tune(FRAME, NUMBERS, trials=4, space=SMALL) for _ in range(2)
    )
    assert [t.settings for t in one.tuning_] == [t.settings for t in two.tuning_]
    assert [t.score for t in one.tuning_] == [t.score for t in two.tuning_]
    assert np.array_equal(one.predict(FRAME), two.predict(FRAME))


def test_without_a_seed_all_trials_have_the_same_validation_rows():
    np.random.seed(3)
    before = np.random.get_state()[1].copy()
    model = ModernNCAClassifier(max_epochs=2)
    model.tune(FRAME, LABELS, trials=3, space={"n_knots": Choice([0])})
    scores = {trial.score for trial in model.tuning_[1:]}
    assert len(scores) == 1  # the same settings three times
    assert np.array_equal(before, np.random.get_state()[1])
    assert model.random_state is None


def test_what_the_user_has_set_stays():
    model = classifier(dim=8, learning_rate=0.02, **TWO)
    model.tune(FRAME, LABELS, trials=2)
    assert (model.dim, model.learning_rate) == (8, 0.02)
    assert set(model.best_params_) == {
        *("n_blocks", "d_block", "dropout", "n_frequencies", "frequency_scale"),
        *("d_encoding", "sample_rate", "weight_decay"),
    }


def test_tuning_again_searches_again():
    model = ModernNCAClassifier(max_epochs=1, random_state=0)
    model.tune(FRAME, LABELS, trials=2)
    first = model.best_params_
    model.random_state = 1
    model.tune(FRAME, LABELS, trials=2)
    assert set(model.best_params_) == set(first)
    assert model.tuning_[0].settings["dim"] == 64  # the default, not the found


@pytest.mark.parametrize(
    ("model", "y", "names"),
    [
        (
            LNCAClassifier(**QUICK),
            LABELS,
            {"dim", "learning_rate", "weight_decay"},
        ),
        (
            NCAClassifier(preset="nca-v0", **QUICK),
            LABELS,
            {"dim", "learning_rate", "weight_decay"},
        ),
        (TabConRegressor(**QUICK), NUMBERS, {"temperature", "dim", "dropout"}),
    ],
    ids=lambda value: type(value).__name__,
)
def test_the_relatives_are_tuned_in_spaces_of_their_own(model, y, names):
    model.tune(FRAME, y, trials=3)
    assert names <= set(model.best_params_)
    assert [trial.state for trial in model.tuning_] == ["done"] * 3
    assert model.predict(FRAME).shape == (120,)


def test_another_metric_or_a_function_may_be_asked_for():
    space = {"dim": Int(4, 32)}
    model = classifier(**TWO)
    model.tune(FRAME, LABELS, trials=2, space=space, metric="log-loss")
    assert model.best_score_ < 0

    def share_of_yes(y, probabilities):
        return float((y == "yes").mean())

    model.tune(FRAME, LABELS, trials=2, space=space, metric=share_of_yes)
    assert {trial.score for trial in model.tuning_} == {model.best_score_}
    assert 0 < model.best_score_ < 1


def test_weights_and_several_networks_work():
    weights = np.where(np.arange(120) < 100, 1.0, 0.0)
    model = classifier(**TWO)
    model.tune(FRAME, LABELS, sample_weight=weights, trials=2, space=SMALL)
    assert len(model.members_) == 3  # the two, and a forest
    assert len(model.rows_.index) == 100


def test_options_that_fail_do_not_end_the_search():
    space = {"distance": Choice(["cosine", "euclidean"])}
    model = classifier(loss="t-distribution", **TWO)
    model.tune(FRAME, LABELS, trials=6, space=space)
    states = {t.settings["distance"]: t.state for t in model.tuning_}
    assert states == {"cosine": "failed", "euclidean": "done"}
    error = next(t.error for t in model.tuning_ if t.state == "failed")
    assert error.startswith("ValueError: The loss 't-distribution' needs a distance")


def test_hopeless_trials_are_pruned():
    space = {"learning_rate": LogFloat(1e-7, 0.01)}
    X, y = load_diabetes(return_X_y=True)
    model = regressor(max_epochs=12, random_state=0, dim=8, encoding="none")
    model.tune(X[:200], y[:200], trials=12, space=space)
    pruned = [trial for trial in model.tuning_ if trial.state == "pruned"]
    assert pruned
    assert model.best_score_ > max(trial.score for trial in pruned)


@pytest.mark.filterwarnings("ignore::modernnca.errors.TimeLimitWarning")
def test_the_time_limit_is_kept():
    X = np.random.RandomState(0).randn(2000, 6)
    began = time.monotonic()
    model = ModernNCARegressor(
        patience=float("inf"), max_epochs=100_000, random_state=0
    )
    model.tune(X, X[:, 0], time_limit=1.5)
    assert time.monotonic() - began < 4
    assert model.tuning_
    assert model.score(X, X[:, 0]) > 0.3
    assert model.time_limit is None


def test_verbose_shows_trials_and_the_best_score(capsys):
    model = classifier(verbose=1, **TWO)
    model.tune(FRAME, LABELS, trials=2, space=SMALL, time_limit=60)
    shown = capsys.readouterr().err
    assert "tune: 100%" in shown
    assert f"best accuracy {model.best_score_:.4g}, " in shown
    assert " s left" in shown


X = np.random.RandomState(0).randn(80, 3)
Y = X[:, 0] + X[:, 1] > 0
SCRIPT = """
import sys
import numpy as np
from modernnca import ModernNCAClassifier
from modernnca.tune.space import Int, LogFloat
X = np.random.RandomState(0).randn(80, 3)
def say(epoch):
    print("epoch", epoch.epoch, flush=True)
model = ModernNCAClassifier(
    n_members=1, max_epochs=3, patience=5, random_state=0, callbacks=[say]
)
space = {"dim": Int(4, 32), "learning_rate": LogFloat(1e-4, 0.1)}
model.tune(X, X[:, 0] + X[:, 1] > 0, trials=5, space=space, storage=sys.argv[1])
"""


@pytest.mark.skipif(os.name == "nt", reason="needs SIGKILL")
def test_a_killed_search_resumes(tmp_path):
    with start(
        [sys.executable, "-c", SCRIPT, tmp_path], stdout=subprocess.PIPE, text=True
    ) as process:
        lines = [line for line, _ in zip(process.stdout, range(8), strict=False)]
        process.send_signal(signal.SIGKILL)
    assert len(lines) == 8  # in the third trial
    begun = []
    one = {**QUICK, "n_members": 1}
    model = classifier(**one, callbacks=[lambda epoch: begun.append(epoch.epoch)])
    model.tune(X, Y, trials=5, space=SMALL, storage=tmp_path)
    whole = classifier(**one).tune(X, Y, trials=5, space=SMALL)
    assert [t.settings for t in model.tuning_] == [t.settings for t in whole.tuning_]
    assert [t.score for t in model.tuning_] == [t.score for t in whole.tuning_]
    assert begun.count(1) <= 3 + 2  # what was missing, the last fit, fine-tuning
    with pytest.raises(ValueError, match="holds another search"):
        classifier(**one).tune(X, Y[::-1], trials=5, space=SMALL, storage=tmp_path)


def test_trials_run_in_several_processes(tmp_path):
    model = classifier(**TWO).tune(
        X, Y, trials=3, space=SMALL, storage=tmp_path, executor=Pool(2)
    )
    assert [trial.place for trial in model.tuning_] == [0, 1, 2]
    assert {trial.state for trial in model.tuning_} == {"done"}
    assert model.tuning_[0].settings == {"dim": 64, "learning_rate": 0.004}


@pytest.mark.parametrize(
    ("model", "arguments", "words"),
    [
        (
            {},
            {"space": {"dmi": Int(1, 2)}},
            "Unknown option to search 'dmi'; did you mean 'dim'",
        ),
        (
            {},
            {"space": {"refit": Choice(["none"])}},
            "Unknown option to search 'refit'",
        ),
        ({}, {"metric": "rmse"}, "Unknown metric 'rmse'; choose one of: accuracy"),
        ({}, {"time_limit": -1}, "time_limit must be a number above 0"),
        ({}, {"trials": 0}, "trials must be a whole number of at least 1; got 0"),
        ({"dim": 0}, {}, "dim must be a whole number of at least 1; got 0"),
        (
            {"validation_fraction": 0},
            {},
            "There are no validation rows to score trials on",
        ),
        (
            {"preset": "linear", "dim": 4, "sample_rate": 0.5, "learning_rate": 0.1}
            | {"weight_decay": 0.0},
            {},
            "All options that could be searched are set: dim, learning_rate",
        ),
        (
            {"random_state": None},
            {"storage": "here"},
            "storage needs random_state to be a whole number",
        ),
    ],
)
def test_bad_input_is_refused_before_any_work(model, arguments, words):
    with pytest.raises(ValueError, match=words):
        classifier(**{**QUICK, **model}).tune(FRAME, LABELS, **arguments)
