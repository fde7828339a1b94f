"""Cooling: a lower temperature for the memory than for the samples of training.

In training a batch and some sampled rows vote, in prediction all rows. Among so many
more rows the nearest are nearer, and a temperature that suits the sample averages over
too many of them. The factor is found on validation rows, for each network by itself.
"""

import math
from collections.abc import Callable

import numpy as np

from modernnca.table.evaluation import Evaluator

_STEP, _MIN_FACTOR = 2**-0.25, 0.1
MAX_PAIRS = 2**24  # of validation rows and remembered rows: enough, and soon done


def fit_cooling(votes_at: Callable[[float], np.ndarray], evaluate: Evaluator) -> float:
    """The factor of the temperature, at most 1, under which votes have the least loss.

    Args:
        votes_at: the votes (B, V) for the validation rows at a factor.
        evaluate: their loss.

    >>> from modernnca.table.targets import RegressionTarget
    >>> target = RegressionTarget().fit([0, 1])
    >>> evaluate = Evaluator(np.array([0.0, 1]), None, target, "rmse")
    >>> votes = lambda factor: np.array([[-1.0], [1.0]]) * (1.5 - factor)
    >>> round(fit_cooling(votes, evaluate), 2)
    0.5
    """
    best, loss = 1.0, evaluate.loss(votes_at(1.0))
    while (factor := best * _STEP) >= _MIN_FACTOR:
        new = evaluate.loss(votes_at(factor))
        if not new < loss:
            break
        best, loss = factor, new
    return best


def rescaled_cooling(factor: float, n_rows: int, n_before: int, n_now: int) -> float:
    """The factor for a network that was trained with more voters than before.

    Where rows lie in d dimensions, distances to the nearest of n rows go with n^(-1/d),
    so the logarithm of the factor is proportional to that of `n_rows` / n.

    >>> round(rescaled_cooling(0.25, 10_000, n_before=100, n_now=1_000), 2)
    0.5
    """
    if n_before >= n_rows or n_now >= n_rows:
        return 1.0 if n_now >= n_rows else factor
    return float(factor ** (math.log(n_rows / n_now) / math.log(n_rows / n_before)))
