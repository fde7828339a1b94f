"""Metrics, compared with those of scikit-learn."""

import numpy as np
import pytest
from sklearn import metrics as theirs

from modernnca.table.metrics import METRICS, describe_score


@pytest.fixture(params=[2, 3])
def classes(request):
    rng = np.random.RandomState(0)
    codes = rng.randint(0, request.param, 60)
    return codes, rng.dirichlet(np.ones(request.param), 60), rng.rand(60)


@pytest.fixture
def numbers():
    rng = np.random.RandomState(0)
    return rng.randn(60), rng.randn(60), rng.rand(60)


@pytest.mark.parametrize("weighted", [False, True])
def test_class_scores_are_scikit_learns(classes, weighted):
    codes, p, weights = classes
    weights = weights if weighted else None
    scored = p[:, 1] if p.shape[1] == 2 else p
    expected = {
        "accuracy": theirs.accuracy_score(codes, p.argmax(1), sample_weight=weights),
        "balanced-accuracy": theirs.balanced_accuracy_score(
            codes, p.argmax(1), sample_weight=weights
        ),
        "log-loss": -theirs.log_loss(codes, p, sample_weight=weights),
    }
    if p.shape[1] == 2 or not weighted:
        expected["auc"] = theirs.roc_auc_score(
            codes, scored, multi_class="ovr", sample_weight=weights
        )
    for name, score in expected.items():
        assert METRICS[name].score(codes, p, weights) == pytest.approx(score)
        assert METRICS[name].task == "classification"


@pytest.mark.parametrize("weighted", [False, True])
def test_number_scores_are_scikit_learns(numbers, weighted):
    y, prediction, weights = numbers
    weights = weights if weighted else None
    expected = {
        "rmse": -theirs.root_mean_squared_error(y, prediction, sample_weight=weights),
        "mae": -theirs.mean_absolute_error(y, prediction, sample_weight=weights),
        "r2": theirs.r2_score(y, prediction, sample_weight=weights),
    }
    for name, score in expected.items():
        assert METRICS[name].score(y, prediction, weights) == pytest.approx(score)
        assert METRICS[name].task == "regression"


def test_names_are_those_of_the_table():
    assert all(metric.name == name for name, metric in METRICS.items())


@pytest.mark.parametrize("weights", [None, np.ones(3)])
def test_one_class_alone_cannot_be_ranked(weights):
    p = np.array([[0.9, 0.1], [0.5, 0.5], [0.2, 0.8]])
    assert METRICS["auc"].score(np.zeros(3, dtype=int), p, weights) == 0.5
    assert METRICS["balanced-accuracy"].score(
        np.zeros(3, dtype=int), p, weights
    ) == pytest.approx(2 / 3)


def test_rows_without_weight_and_classes_without_rows_do_not_count():
    codes = np.array([0, 1, 0, 1, 2])
    p = np.eye(4)[codes]
    assert METRICS["auc"].score(codes, p, np.array([1.0, 1, 1, 1, 0])) == 1.0
    assert METRICS["auc"].score(codes[:2], p[:2], np.array([1.0, 0.0])) == 0.5
    assert METRICS["balanced-accuracy"].score(codes, p, None) == 1.0


def test_the_log_loss_of_an_impossible_class_is_limited():
    p = np.array([[1.0, 0.0]])
    assert METRICS["log-loss"].score(np.array([1]), p, None) == np.log(1e-7)


def test_r2_of_a_constant_target_is_one_or_zero():
    y = np.full(3, 2.0)
    assert METRICS["r2"].score(y, y, None) == 1.0
    assert METRICS["r2"].score(y, y + 1, None) == 0.0


@pytest.mark.parametrize(
    ("metric", "score", "expected"),
    [
        ("accuracy", 0.97512, "accuracy 0.9751"),
        ("r2", -0.5, "r2 -0.5"),  # a score, not an error
        ("rmse", -53.21, "rmse 53.21"),
        ("log-loss", -0.25, "log-loss 0.25"),
        (len, 12.0, "score 12"),
    ],
)
def test_errors_are_shown_without_the_minus_sign(metric, score, expected):
    assert describe_score(metric, score) == expected
