"""An interrupted fit keeps the best model so far, wherever it is interrupted."""

import os
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest
from tests.estimators.models import classifier, regressor
from tests.processes import start

from modernnca import ModernNCAClassifier, load
from modernnca.ensemble import fitting, forest_member, network_member
from modernnca.ensemble.ensemble import Ensemble
from modernnca.ensemble.preparation import Preparation
from modernnca.table.preprocessor import Preprocessor

RNG = np.random.RandomState(0)
X = RNG.randn(300, 4)
Y = X[:, 0] + X[:, 1] > 0
X_TEST = RNG.randn(200, 4)
Y_TEST = X_TEST[:, 0] + X_TEST[:, 1] > 0
QUICK = {"max_epochs": 15, "n_members": 2, "random_state": 0}


def interrupting(function, after):
    """The function, which sends SIGINT to this process at its `after`-th call."""
    calls = 0

    def call(*args, **kwargs):
        nonlocal calls
        calls += 1
        if calls == after:
            signal.raise_signal(signal.SIGINT)
        return function(*args, **kwargs)

    return call


# Where it is interrupted: an object, its attribute, and at which call.
PLACES = [
    (fitting, "fit_combiner", 1),
    (fitting, "fit_calibration", 1),
    (fitting, "default_baselines", 1),
    (fitting, "concatenate", 1),
    (fitting, "concatenate_raw", 1),
    (forest_member, "grow_forest", 1),
    (forest_member, "as_trees", 1),
    (network_member, "importance_scales", 2),
    (network_member, "train", 2),
    (network_member, "train", 3),
    (Ensemble, "votes", 1),
    (Ensemble, "remembering", 1),
    (Ensemble, "remembering", 2),
    (Preparation, "evaluator", 1),
    (Preparation, "part", 2),
    (Preprocessor, "fit", 1),
    (Preprocessor, "transform", 1),
]


@pytest.mark.parametrize(
    ("owner", "name", "after"), PLACES, ids=lambda value: getattr(value, "__name__", "")
)
def test_control_c_anywhere_gives_a_model_that_is_saved(
    owner, name, after, monkeypatch, tmp_path
):
    function = interrupting(getattr(owner, name), after)
    static = isinstance(vars(owner).get(name), classmethod | staticmethod)
    monkeypatch.setattr(owner, name, staticmethod(function) if static else function)
    model = classifier(**QUICK).fit(X, Y)
    monkeypatch.undo()
    assert model.score(X_TEST, Y_TEST) > 0.8, "not the best model so far"
    model.save(tmp_path / "m")
    again = load(tmp_path / "m")
    np.testing.assert_array_equal(again.predict(X_TEST), model.predict(X_TEST))


@pytest.mark.parametrize("refit", ["remember", "full"])
@pytest.mark.parametrize("epoch", [1, 4, 16, 20, 31])
def test_an_interrupted_epoch_keeps_the_epochs_before(refit, epoch):
    seen = []

    def stop(record):
        seen.append(record)
        if len(seen) == epoch:
            signal.raise_signal(signal.SIGINT)

    model = classifier(**QUICK, callbacks=[stop], refit=refit).fit(X, Y)
    assert len(seen) <= epoch  # it ended within the next epoch
    assert model.score(X_TEST, Y_TEST) > (0.8 if epoch > 1 else 0.5)
    assert len(model.rows_.index) == 300


def test_a_network_that_was_not_trained_does_not_vote():
    def stop(record):
        if record.epoch == 15:  # the last one of the first network
            signal.raise_signal(signal.SIGINT)

    model = classifier(**QUICK, callbacks=[stop], forest_member=False).fit(X, Y)
    assert len(model.members_) == 1
    assert model.ended_[0] == "max_epochs"


def test_an_interrupted_full_refit_keeps_the_model_of_before():
    quick = {**QUICK, "patience": 15}
    whole = regressor(**quick, finetune=0.0).fit(X, X[:, 0])
    seen = []

    def stop(record):
        seen.append(record)
        if len(seen) == len(whole.history_) + 2:  # in the refit
            signal.raise_signal(signal.SIGINT)

    model = regressor(**quick, callbacks=[stop], refit="full").fit(X, X[:, 0])
    np.testing.assert_allclose(model.predict(X_TEST), whole.predict(X_TEST), rtol=1e-5)
    assert model.member_weights_ == whole.member_weights_


def test_the_second_control_c_gives_up_and_leaves_the_model_as_it_was():
    model = classifier(**QUICK).fit(X, Y)
    before = model.predict_proba(X_TEST)

    def stop(record):
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)

    model.set_params(callbacks=[stop])
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, ~Y)
    np.testing.assert_array_equal(model.predict_proba(X_TEST), before)


def test_the_signal_handler_is_restored():
    before = signal.getsignal(signal.SIGINT)
    classifier(**QUICK).fit(X, Y)
    assert signal.getsignal(signal.SIGINT) is before
    with pytest.raises(ValueError, match="dim must be"):
        classifier(**QUICK, dim=0).fit(X, Y)
    assert signal.getsignal(signal.SIGINT) is before


def test_a_fit_in_another_thread_leaves_signals_alone():
    before, fitted = signal.getsignal(signal.SIGINT), []
    thread = threading.Thread(
        target=lambda: fitted.append(classifier(**QUICK).fit(X, Y)), daemon=True
    )
    thread.start()
    thread.join(240)
    assert fitted[0].score(X, Y) > 0.8
    assert signal.getsignal(signal.SIGINT) is before


SCRIPT = """
import sys
import numpy as np
from modernnca import ModernNCAClassifier
X = np.random.RandomState(0).randn(400, 4)
y = X[:, 0] + X[:, 1] > 0
model = ModernNCAClassifier(random_state=0)
print("ready", flush=True)
model.fit(X, y)
model.save(sys.argv[1])
print("score", model.score(X, y), flush=True)
"""


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="needs POSIX signals")
@pytest.mark.parametrize("seconds", np.linspace(0.05, 2.5, 6).round(2))
def test_control_c_at_any_time_in_another_process(tmp_path, seconds):
    path = tmp_path / "m"
    with start(
        [sys.executable, "-c", SCRIPT, path], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout.readline() == "ready\n"
        threading.Timer(seconds, process.send_signal, [signal.SIGINT]).start()
        last = process.stdout.read()
    if process.returncode != 0:  # the signal came before or after the fit
        assert process.returncode == -signal.SIGINT or "KeyboardInterrupt" in last
        return
    model = load(path)
    assert isinstance(model, ModernNCAClassifier)
    assert float(last.split()[1]) > 0.75
