"""Calibration: votes to probabilities, learned from validation rows.

Shapes: N rows, V classes.
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, log_softmax, softmax

_MAX_POWER = 1e6  # that a file may declare
_MIN_VOTE = 1e-12  # a vote of zero has no logarithm
_FLOOR_LOGIT = -7.0  # where the search for the floor begins


@dataclass(frozen=True)
class Calibration:
    """How votes become probabilities; the order of the classes does not change.

    >>> Calibration(power=2.0)(np.array([[0.2, 0.8]])).round(3)
    array([[0.059, 0.941]])
    """

    power: float = 1.0  # of the votes
    floor: float = 0.0  # the share that is given to all classes equally

    def __post_init__(self) -> None:
        if not (0 < self.power < _MAX_POWER and 0 <= self.floor < 1):
            raise ValueError(f"There is no {self}: its power or floor is out of range.")

    def __call__(self, votes: np.ndarray) -> np.ndarray:
        """Probabilities (N, V) of votes (N, V)."""
        if self == Calibration():
            return votes / votes.sum(1, keepdims=True)
        logs = self.power * np.log(np.maximum(votes, _MIN_VOTE))
        return (1 - self.floor) * softmax(logs, axis=1) + self.floor / votes.shape[1]


def fit_calibration(
    votes: np.ndarray, codes: np.ndarray, weights: np.ndarray | None = None
) -> Calibration:
    """Find the power and the floor that minimize the log loss of the true codes (N,).

    A weak prior holds them near "no change", so that few rows change little.
    """
    logs = np.log(np.maximum(votes, _MIN_VOTE))
    n_classes, rows = votes.shape[1], np.arange(len(codes))

    def loss(parameters: np.ndarray) -> float:
        power, floor = np.exp(parameters[0]), expit(parameters[1])
        of_true = log_softmax(power * logs, axis=1)[rows, codes]
        uniform = np.log(floor) - np.log(n_classes)
        log_probabilities = np.logaddexp(np.log1p(-floor) + of_true, uniform)
        prior = parameters[0] ** 2 + ((parameters[1] - _FLOOR_LOGIT) / 3) ** 2
        mean = np.average(log_probabilities, weights=weights)
        return -mean + prior / (2 * len(codes))

    start = np.array([0.0, _FLOOR_LOGIT])
    found = minimize(loss, start, method="L-BFGS-B", bounds=[(-3, 3), (-30, 0)])
    if not found.fun < loss(start):
        return Calibration()
    return Calibration(float(np.exp(found.x[0])), float(expit(found.x[1])))
