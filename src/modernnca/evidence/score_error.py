"""Scores with their standard errors, from the predictions of N rows."""

from typing import NamedTuple

import numpy as np


class Score(NamedTuple):
    """A score of predictions, as an estimator's `score` gives it.

    >>> str(Score(0.8012, 0.0211, 500))
    '0.801 ± 0.021'
    """

    value: float  # accuracy, or R² in regression
    error: float  # its standard error
    n_rows: int

    def __str__(self) -> str:
        return f"{self.value:.3f} ± {self.error:.3f}"


def accuracy_score(right: np.ndarray) -> Score:
    """The accuracy, by which predictions (N,) are right.

    >>> accuracy_score(np.array([True, True, True, False]))
    Score(value=0.75, error=0.25, n_rows=4)
    """
    share, n_rows = float(np.mean(right)), len(right)
    error = np.sqrt(share * (1 - share) / max(n_rows - 1, 1))
    return Score(share, float(error), n_rows)


def r2_score(y: np.ndarray, predictions: np.ndarray) -> Score:
    """R² of predictions (N,), and its standard error by the delta method.

    Of a constant y it is 1 if all predictions are exact, else 0.

    >>> y = np.array([0.0, 1.0, 2.0, 3.0])
    >>> r2_score(y, y + np.array([0.5, -0.5, 0.5, -0.5])).value
    0.8
    """
    errors, deviations = (y - predictions) ** 2, (y - y.mean()) ** 2
    variance, n_rows = deviations.mean(), len(y)
    if variance == 0:
        return Score(float(not errors.any()), 0.0, n_rows)
    value = 1 - errors.mean() / variance
    # How much each row moves the score, were there one more of it.
    influence = ((1 - value) * deviations - errors) / variance
    error = influence.std(ddof=1) / np.sqrt(n_rows) if n_rows > 1 else 0.0
    return Score(float(value), float(error), n_rows)
