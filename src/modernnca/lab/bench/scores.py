"""Scores of predictions with their natural sign: errors are positive, lower is better.

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
        y: (N,) labels or values.
        prediction: (N, V) probabilities in the order of `classes`, or (N,) values.
        classes: (V,) the labels seen in training. Other labels have probability 0.

    >>> y, classes = np.array(["a", "b"]), np.array(["a", "b"])
    >>> scores = score_all("binclass", y, np.array([[0.5, 0.5], [0.0, 1.0]]), classes)
    >>> scores["accuracy"], round(scores["log-loss"], 2)
    (1.0, 0.35)
    """
    prediction = np.asarray(prediction, dtype=np.float64)
    regression = named("task", task, MAIN) == "rmse"
    known = [] if regression or classes is None else np.asarray(classes).tolist()
    _check(prediction, (len(y),) if regression else (len(y), len(known)))
    if not regression:
        y, prediction = _as_codes(y, prediction, known)
    scores = {
        name: metric.score(y, prediction, None) * (-1 if name in LOWER_IS_BETTER else 1)
        for name, metric in METRICS.items()
        if metric.task == ("regression" if regression else "classification")
    }
    return scores if regression else {**scores, "ece": ece(y, prediction)}


def ece(codes: np.ndarray, probabilities: np.ndarray, n_bins: int = 15) -> float:
    """Return the expected calibration error of the predicted class.

    Guo et al. (2017): the gap between confidence and accuracy in bins of equal width,
    averaged with the number of rows as weights.

    >>> ece(np.array([0, 0, 1, 1]), np.array([[0.75, 0.25]] * 4))
    0.25
    """
    confidence = probabilities.max(axis=1)
    correct = probabilities.argmax(axis=1) == codes
    bins = np.minimum((confidence * n_bins).astype(np.int64), n_bins - 1)
    gaps = np.bincount(bins, weights=correct - confidence, minlength=n_bins)
    return float(np.abs(gaps).sum() / len(codes))


def _check(prediction: np.ndarray, shape: tuple[int, ...]) -> None:
    if prediction.shape != shape:
        raise ValueError(
            f"The prediction has shape {prediction.shape}; it must be {shape}."
        )
    invalid = ~np.isfinite(prediction)
    if invalid.any():
        raise ValueError(
            f"The prediction cannot be scored: {invalid.sum():,} of {invalid.size:,} "
            "values are NaN or infinite."
        )


def _as_codes(
    y: np.ndarray, probabilities: np.ndarray, known: list
) -> tuple[np.ndarray, np.ndarray]:
    """Encode labels as indices; add a column of zeros for each unknown label."""
    index = {label: i for i, label in enumerate(known)}
    codes = [index.setdefault(label, len(index)) for label in np.asarray(y).tolist()]
    if codes and min(codes) >= len(known):  # for example text against integers
        raise ValueError(
            f"No label of y is among the classes: {y[0]!r} is not in {known[:5]!r}."
        )
    unknown = np.zeros((len(codes), len(index) - len(known)))
    return np.array(codes, dtype=np.int64), np.hstack([probabilities, unknown])
