"""Scores under their natural sign."""

import numpy as np
import pytest
from sklearn import metrics as sklearn_metrics

from modernnca.lab.bench.scores import LOWER_IS_BETTER, MAIN, ece, score_all

CLASSES = np.array(["a", "b", "c"])


@pytest.fixture
def guesses():
    rng = np.random.RandomState(0)
    return rng.choice(CLASSES, 200), rng.dirichlet([1, 1, 1], 200)


def test_classes_are_scored_as_scikit_learn_does(guesses):
    y, probabilities = guesses
    labels = CLASSES[probabilities.argmax(axis=1)]
    areas = [
        sklearn_metrics.roc_auc_score(y == label, probabilities[:, place])
        for place, label in enumerate(CLASSES)
    ]
    assert score_all("multiclass", y, probabilities, CLASSES) == pytest.approx(
        {
            "accuracy": sklearn_metrics.accuracy_score(y, labels),
            "balanced-accuracy": sklearn_metrics.balanced_accuracy_score(y, labels),
            "log-loss": sklearn_metrics.log_loss(y, probabilities),
            "auc": np.mean(areas),
            "ece": ece(np.searchsorted(CLASSES, y), probabilities),
        }
    )


def test_calibration_by_hand():
    sure = np.array([0.9, 0.9, 0.6, 0.6, 0.6])
    right = np.array([True, False, True, True, False])
    probabilities = np.stack([sure, 1 - sure], axis=1)
    # Of two rows 0.5 is right for 0.9; of three, 2/3 for 0.6.
    expected = (2 * abs(0.5 - 0.9) + 3 * abs(2 / 3 - 0.6)) / 5
    assert ece(np.where(right, 0, 1), probabilities) == pytest.approx(expected)


@pytest.mark.parametrize(("sharpness", "most"), [(1.0, 0.02), (3.0, 1.0)])
def test_overconfident_probabilities_are_not_calibrated(sharpness, most):
    rng = np.random.RandomState(0)
    true = rng.dirichlet([1, 1, 1], 40_000)
    codes = (rng.rand(len(true), 1) > true.cumsum(1)).sum(1)
    stated = true**sharpness / (true**sharpness).sum(1, keepdims=True)
    assert ece(codes, stated) < most
    assert (ece(codes, stated) > 0.1) == (sharpness > 1)


def test_numbers_are_scored_as_scikit_learn_does():
    rng = np.random.RandomState(0)
    y, prediction = rng.normal(size=(2, 99))
    assert score_all("regression", y, prediction, None) == pytest.approx(
        {
            "rmse": sklearn_metrics.root_mean_squared_error(y, prediction),
            "mae": sklearn_metrics.mean_absolute_error(y, prediction),
            "r2": sklearn_metrics.r2_score(y, prediction),
        }
    )


@pytest.mark.parametrize("dtype", [object, str])
def test_the_order_of_the_classes_is_that_of_the_columns(guesses, dtype):
    y, probabilities = guesses
    turned = score_all(
        "multiclass", y.astype(dtype), probabilities[:, ::-1], CLASSES[::-1]
    )
    assert turned == pytest.approx(score_all("multiclass", y, probabilities, CLASSES))


def test_a_class_that_was_never_learned_counts_as_wrong():
    y = np.array([0, 1, 7, 7])
    sure = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0], [0.0, 1.0]])
    scores = score_all("multiclass", y, sure, np.array([0, 1]))
    assert scores["accuracy"] == 0.5
    assert scores["balanced-accuracy"] == pytest.approx(2 / 3)
    assert scores["log-loss"] == pytest.approx(-np.log(1e-7) / 2)


def test_errors_are_positive_and_low_is_good(guesses):
    y, probabilities = guesses
    right = np.eye(3)[np.searchsorted(CLASSES, y)]
    good = score_all("multiclass", y, right, CLASSES)
    bad = score_all("multiclass", y, probabilities, CLASSES)
    numbers = np.arange(9.0)
    good |= score_all("regression", numbers, numbers, None)
    bad |= score_all("regression", numbers, numbers[::-1], None)
    for name in good:
        assert (good[name] < bad[name]) == (name in LOWER_IS_BETTER), name
        assert name != "log-loss" or bad[name] > 0
    assert set(MAIN.values()) <= good.keys()


@pytest.mark.parametrize(
    ("prediction", "classes", "words"),
    [
        (np.ones((2, 3)), ["a", "b"], r"has shape \(2, 3\); it must be \(2, 2\)"),
        (np.ones(2), ["a", "b"], r"has shape \(2,\); it must be \(2, 2\)"),
        (np.full((2, 2), np.nan), ["a", "b"], "4 of 4 values are NaN"),
        (np.ones((2, 2)), [0, 1], "No label of y is among the classes: 'a' is not"),
    ],
)
def test_what_cannot_be_scored_is_refused(prediction, classes, words):
    y = np.array(["a", "b"], dtype=object)
    with pytest.raises(ValueError, match=words):
        score_all("binclass", y, prediction, np.array(classes))


def test_unknown_tasks_are_refused():
    with pytest.raises(ValueError, match="Unknown task 'ranking'; choose one of: bin"):
        score_all("ranking", np.zeros(2), np.zeros(2), None)


def test_an_infinite_number_cannot_be_scored():
    with pytest.raises(ValueError, match="1 of 2 values are NaN or infinite"):
        score_all("regression", np.zeros(2), np.array([0.0, np.inf]), None)
