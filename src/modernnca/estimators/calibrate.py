"""Votes to probabilities that keep their word: fitted on held-out rows.

Shapes: N rows, V classes.
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, log_softmax, softmax

_LEAST = 1e-12  # a vote of nothing has no logarithm
_FLOOR = -7.0  # where the search for the floor begins, as a logit


@dataclass(frozen=True)
class Calibration:
    """How votes become probabilities; the order of the classes stays.

    >>> Calibration(sharpness=2.0)(np.array([[0.2, 0.8]])).round(3)
    array([[0.059, 0.941]])
    """

    sharpness: float = 1.0  # the power to which votes are taken
    floor: float = 0.0  # the part that is given to all classes alike

    def __call__(self, votes: np.ndarray) -> np.ndarray:
        """Probabilities (N, V) of votes (N, V)."""
        if self == Calibration():
            return votes / votes.sum(1, keepdims=True)
        logs = self.sharpness * np.log(np.maximum(votes, _LEAST))
        return (1 - self.floor) * softmax(logs, axis=1) + self.floor / votes.shape[1]


def calibrate(
    votes: np.ndarray, codes: np.ndarray, weights: np.ndarray | None = None
) -> Calibration:
    """Find the sharpness and the floor under which the right codes (N,) surprise least.

    A weak prior holds them near "no change", so that few rows change little.
    """
    logs = np.log(np.maximum(votes, _LEAST))
    n_classes, rows = votes.shape[1], np.arange(len(codes))

    def surprise(place: np.ndarray) -> float:
        sharpness, floor = np.exp(place[0]), expit(place[1])
        of_right = log_softmax(sharpness * logs, axis=1)[rows, codes]
        uniform = np.log(floor) - np.log(n_classes)
        given = np.logaddexp(np.log1p(-floor) + of_right, uniform)
        prior = place[0] ** 2 + ((place[1] - _FLOOR) / 3) ** 2
        return -np.average(given, weights=weights) + prior / (2 * len(codes))

    start = np.array([0.0, _FLOOR])
    found = minimize(surprise, start, method="L-BFGS-B", bounds=[(-3, 3), (-30, 0)])
    if not found.fun < surprise(start):
        return Calibration()
    return Calibration(float(np.exp(found.x[0])), float(expit(found.x[1])))
