import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.metrics import log_loss

from modernnca import load
from modernnca.ensemble.calibration import Calibration, fit_calibration
from tests.estimators.models import classifier


def votes_of(rng, power, n=4000):
    """Votes that are wrong about how sure they are, by a known power."""
    truth = rng.dirichlet([0.5] * 4, size=n)
    codes = np.array([rng.choice(4, p=row) for row in truth])
    votes = truth ** (1 / power)
    return votes / votes.sum(1, keepdims=True), codes


@pytest.mark.parametrize("power", [0.4, 1.0, 2.5])
def test_the_power_by_which_votes_were_wrong_is_found(power):
    votes, codes = votes_of(np.random.RandomState(0), power)
    found = fit_calibration(votes, codes)
    assert found.power == pytest.approx(power, rel=0.08)
    assert found.floor < 0.01


def test_the_log_loss_of_other_rows_falls_and_the_order_of_classes_stays():
    votes, codes = votes_of(np.random.RandomState(0), 0.4)
    fresh, truth = votes_of(np.random.RandomState(1), 0.4)
    given = fit_calibration(votes, codes)(fresh)
    assert log_loss(truth, given) < 0.9 * log_loss(truth, fresh)
    assert np.array_equal(given.argsort(1), fresh.argsort(1))
    np.testing.assert_allclose(given.sum(1), 1)


def test_a_vote_of_zero_for_the_right_class_is_survived():
    votes = np.array([[1.0, 0.0]] * 50)
    codes = np.array([0] * 49 + [1])
    given = fit_calibration(votes, codes)(votes)
    assert 0.002 < given[0, 1] < 0.2
    assert Calibration()(votes[:1] * 2).tolist() == [[1.0, 0.0]]


def test_weights_count():
    votes = np.array([[0.9, 0.1], [0.9, 0.1]] * 200)
    codes = np.array([0, 1] * 200)
    heavy = np.array([1.0, 0.01] * 200)
    assert (
        fit_calibration(votes, codes, heavy).power > fit_calibration(votes, codes).power
    )


def test_a_classifier_is_calibrated_and_saved(tmp_path):
    X, y = load_digits(return_X_y=True)
    settings = {"preset": "fast", "random_state": 0, "max_epochs": 6}
    plain = classifier(calibrate=False, **settings).fit(X[::2], y[::2])
    model = classifier(**settings).fit(X[::2], y[::2])
    assert plain.calibration_ == Calibration()
    losses = [log_loss(y[1::2], m.predict_proba(X[1::2])) for m in (model, plain)]
    assert losses[0] < losses[1]
    assert np.array_equal(model.predict(X[1::2]), plain.predict(X[1::2]))
    model.save(tmp_path / "m.mnca")
    again = load(tmp_path / "m.mnca")
    assert again.calibration_ == model.calibration_
    assert np.array_equal(again.predict_proba(X), model.predict_proba(X))
