"""Metrics of predictions, by name; higher is better.

Shapes: N rows, V classes. Codes are (N,) integers, probabilities (N, V); weights are
(N,) or None. Errors (log-loss, rmse, mae) are negated.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from sklearn.metrics import roc_auc_score

from modernnca.table.targets import Task

Weights = np.ndarray | None


@dataclass(frozen=True)
class Metric:
    """A score: its name, its task, and the function.

    >>> METRICS["accuracy"].score(np.array([0, 1]), np.array([[0.9, 0.1]] * 2), None)
    0.5
    """

    name: str
    task: Task
    score: Callable[[np.ndarray, np.ndarray, Weights], float]


def accuracy(codes: np.ndarray, probabilities: np.ndarray, weights: Weights) -> float:
    """Return the share of rows whose most probable class is right."""
    right = probabilities.argmax(axis=1) == codes
    return float(np.average(right, weights=weights))


def balanced_accuracy(
    codes: np.ndarray, probabilities: np.ndarray, weights: Weights
) -> float:
    """Return the mean over the classes present of the share that is right."""
    right = probabilities.argmax(axis=1) == codes
    weights = np.ones(len(codes)) if weights is None else weights
    total = np.bincount(codes, weights=weights)
    hit = np.bincount(codes, weights=weights * right)
    return float(np.mean(hit[total > 0] / total[total > 0]))


def log_loss(codes: np.ndarray, probabilities: np.ndarray, weights: Weights) -> float:
    """Return the mean log-probability of the right class, cut at 1e-7."""
    given = probabilities[np.arange(len(codes)), codes]
    return float(np.average(np.log(np.clip(given, 1e-7, 1.0)), weights=weights))


def auc(codes: np.ndarray, probabilities: np.ndarray, weights: Weights) -> float:
    """Return the area under the ROC curve; of several classes, the mean one-vs-rest.

    Classes without a row are left out; with one class only, nothing can be ranked,
    and the area is that of chance, 0.5.
    """
    if weights is not None:
        counted = weights > 0
        codes, probabilities = codes[counted], probabilities[counted]
        weights = weights[counted]
    present = np.unique(codes)
    if len(present) < 2:
        return 0.5
    asked = [1] if probabilities.shape[1] == 2 else present
    areas = [
        roc_auc_score(codes == code, probabilities[:, code], sample_weight=weights)
        for code in asked
    ]
    return float(np.mean(areas))


def rmse(y: np.ndarray, prediction: np.ndarray, weights: Weights) -> float:
    """Return the root of the mean squared error, negated."""
    return -float(np.sqrt(np.average((y - prediction) ** 2, weights=weights)))


def mae(y: np.ndarray, prediction: np.ndarray, weights: Weights) -> float:
    """Return the mean absolute error, negated."""
    return -float(np.average(np.abs(y - prediction), weights=weights))


def r2(y: np.ndarray, prediction: np.ndarray, weights: Weights) -> float:
    """Return the share of variance explained; of a constant y, 1 if exact, else 0."""
    error = np.average((y - prediction) ** 2, weights=weights)
    variance = np.average((y - np.average(y, weights=weights)) ** 2, weights=weights)
    if variance == 0:
        return 1.0 if error == 0 else 0.0
    return float(1 - error / variance)


METRICS: dict[str, Metric] = {
    metric.name: metric
    for metric in (
        Metric("accuracy", "classification", accuracy),
        Metric("balanced-accuracy", "classification", balanced_accuracy),
        Metric("log-loss", "classification", log_loss),
        Metric("auc", "classification", auc),
        Metric("rmse", "regression", rmse),
        Metric("mae", "regression", mae),
        Metric("r2", "regression", r2),
    )
}
_ERRORS = ("log-loss", "rmse", "mae")


def describe_score(metric: str | Callable, score: float) -> str:
    """Format a score; errors are shown without the minus sign.

    >>> describe = describe_score
    >>> describe("rmse", -53.21), describe("accuracy", 0.975), describe(max, 0.5)
    ('rmse 53.21', 'accuracy 0.975', 'score 0.5')
    """
    name = "score" if callable(metric) else metric
    return f"{name} {-score if name in _ERRORS else score:.4g}"
