"""Likely wrong targets: those that the votes of the other rows speak against.

Votes may be leave-one-out votes of a fitted model, or those of models that did not see
the rows at all. Which one finds more is measured in benchmarks/evidence_audit.md.

Shapes: N rows, V classes.
"""

from typing import NamedTuple

import numpy as np

_MIN_PROBABILITY = 1e-6
_MIN_SPREAD = 0.5  # in standard deviations of all targets; of neighbors that agree
_LIKELY = 4.0  # residuals beyond so many standard deviations are likely wrong targets


class Suspicion(NamedTuple):
    """How little the votes support each target; each (N,)."""

    suspicion: np.ndarray  # higher is more suspicious
    suggested: np.ndarray  # what the target should be: a class code, or a number
    evidence: np.ndarray  # the probability of the target, or its standardized residual
    likely: np.ndarray  # whether it is likely wrong


def suspicious_labels(codes: np.ndarray, votes: np.ndarray) -> Suspicion:
    """How suspicious labels are, by the votes (N, V) of the other rows.

    The most suspicious label is the one with the least probability (self-confidence).
    A label is likely wrong if another class is as probable as that class is, on
    average, where it was given: confident learning (Northcutt et al., 2021).

    >>> votes = np.array([[0.9, 0.1], [0.8, 0.2], [0.1, 0.9], [0.9, 0.1]])
    >>> suspicious_labels(np.array([0, 0, 1, 1]), votes).likely
    array([False, False, False,  True])
    """
    rows = np.arange(len(codes))
    votes = votes.clip(_MIN_PROBABILITY)
    votes = votes / votes.sum(1, keepdims=True)
    own = votes[rows, codes]
    totals = np.bincount(codes, weights=own, minlength=votes.shape[1])
    counts = np.bincount(codes, minlength=votes.shape[1])
    usual = np.where(counts > 0, totals / np.maximum(counts, 1), np.inf)
    suggested = votes.argmax(1)
    likely = (suggested != codes) & (votes[rows, suggested] >= usual[suggested])
    return Suspicion(1 - own, suggested, own, likely)


def suspicious_numbers(
    targets: np.ndarray, votes: np.ndarray, spread: np.ndarray | None = None
) -> Suspicion:
    """How suspicious numbers are, by the votes (N,) of the other rows.

    Residuals are in units of their robust standard deviation (that of the middle
    half). With `spread` (N,), the standard deviation of the neighbors' targets, a
    residual counts less where neighbors differ, too; targets are then standardized.

    >>> votes = np.zeros(9)
    >>> targets = np.array([1.0, -1.0] * 4 + [9.0])
    >>> suspicious_numbers(targets, votes).likely.nonzero()[0]
    array([8])
    """
    residuals = targets - votes
    if spread is not None:
        residuals = residuals / np.sqrt(np.square(spread) + _MIN_SPREAD**2)
    standardized = residuals / _robust_scale(residuals)
    size = np.abs(standardized)
    return Suspicion(size, votes, standardized, size > _LIKELY)


def _robust_scale(residuals: np.ndarray) -> float:
    low, high = np.quantile(residuals, [0.25, 0.75])
    scale = (high - low) / 1.349 or residuals.std() or 1.0
    return float(scale)
