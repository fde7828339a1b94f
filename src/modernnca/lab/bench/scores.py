"""Scores of predictions under their natural sign: errors are positive, low is good.

Shapes: N rows, V classes.
"""

import numpy as np

from modernnca._named import named
from modernnca.table.metrics import METRICS

LOWER_IS_BETTER = frozenset({"log-loss", "ece", "rmse", "mae"})
MAIN = {"binclass": "accuracy", "multiclass": "accuracy", "regression": "rmse"}


def score_all(
    task: str,
    y: np.ndarray,
    prediction: np.ndarray,
    classes: np.ndarray | None = None,
) -> dict[str, float]:
    """Return every score that applies to the task.

    Args:
        y: (N,) labels or numbers.
        prediction: (N, V) probabilities in the order of `classes`, or (N,) numbers.
        classes: (V,) the labels a method knew. A label it did not know has the
            probability 0.

    >>> y, classes = np.array(["a", "b"]), np.array(["a", "b"])
    >>> scores = score_all("binclass", y, np.array([[0.5, 0.5], [0.0, 1.0]]), classes)
    >>> scores["accuracy"], round(scores["log-loss"], 2)
    (1.0, 0.35)
    """
    prediction = np.asarray(prediction, dtype=np.float64)
    numbers = named("task", task, MAIN) == "rmse"
    known = [] if numbers or classes is None else np.asarray(classes).tolist()
    _check(prediction, (len(y),) if numbers else (len(y), len(known)))
    if not numbers:
        y, prediction = _as_codes(y, prediction, known)
    scores = {
        name: metric.score(y, prediction, None) * (-1 if name in LOWER_IS_BETTER else 1)
        for name, metric in METRICS.items()
        if metric.task == ("regression" if numbers else "classification")
    }
    return scores if numbers else {**scores, "ece": ece(y, prediction)}


def ece(codes: np.ndarray, probabilities: np.ndarray, n_bins: int = 15) -> float:
    """How far the probability of the likeliest class is from how often it is right.

    Guo et al. (2017): the mean over bins of equal width, each as many rows count.

    >>> ece(np.array([0, 0, 1, 1]), np.array([[0.75, 0.25]] * 4))
    0.25
    """
    sure = probabilities.max(axis=1)
    right = probabilities.argmax(axis=1) == codes
    bins = np.minimum((sure * n_bins).astype(np.int64), n_bins - 1)
    gaps = np.bincount(bins, weights=right - sure, minlength=n_bins)
    return float(np.abs(gaps).sum() / len(codes))


def _check(prediction: np.ndarray, shape: tuple[int, ...]) -> None:
    if prediction.shape != shape:
        raise ValueError(
            f"The prediction has the shape {prediction.shape}; it must be {shape}."
        )
    wrong = ~np.isfinite(prediction)
    if wrong.any():
        raise ValueError(
            f"The prediction has {wrong.sum():,} values of {wrong.size:,} that are NaN "
            "or infinite; it cannot be scored."
        )


def _as_codes(
    y: np.ndarray, probabilities: np.ndarray, known: list
) -> tuple[np.ndarray, np.ndarray]:
    """Return labels as places among those known, to which the unknown are added."""
    places = {label: place for place, label in enumerate(known)}
    codes = [places.setdefault(label, len(places)) for label in np.asarray(y).tolist()]
    if codes and min(codes) >= len(known):  # text where numbers were learned, say
        raise ValueError(
            f"No label of y is among the classes: {y[0]!r} is not in {known[:5]!r}."
        )
    unknown = np.zeros((len(codes), len(places) - len(known)))
    return np.array(codes, dtype=np.int64), np.hstack([probabilities, unknown])
