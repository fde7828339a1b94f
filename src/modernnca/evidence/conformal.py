"""Split-conformal thresholds: how far off honest votes were on held-out rows.

If a new row and the held-out rows are alike (exchangeable), its nonconformity score is
within the threshold with at least the nominal probability. Vovk et al. (2005); the
scores are those of Papadopoulos et al. (2002) in regression and of Sadinle et al.
(2019) in classification.
"""

import math
from collections.abc import Sequence

import numpy as np

from modernnca.ensemble.held_out import HeldOut
from modernnca.ensemble.moments import Uncertainty
from modernnca.evidence.error_scale import ErrorScale, cross_fitted_scales, fit_scale

_ROUNDING = 1e-9
Groups = tuple[np.ndarray, np.ndarray]  # of the held-out rows (H,), of the queries (B,)


def check_coverage(coverage: float) -> None:
    """Raise unless a coverage is between 0 and 1."""
    number = isinstance(coverage, int | float | np.number)
    if not number or not 0 < coverage < 1:
        raise ValueError(f"coverage must be above 0 and below 1; got {coverage!r}.")


def least_rows(coverage: float) -> int:
    """How many held-out rows a finite threshold needs.

    >>> least_rows(0.9), least_rows(0.5)
    (9, 1)
    """
    return math.ceil(coverage / (1 - coverage) - _ROUNDING)


def threshold(scores: np.ndarray, coverage: float) -> float:
    """The ceil((n + 1) coverage)-th least of n scores.

    >>> threshold(np.arange(1.0, 10.0), 0.9), threshold(np.arange(1.0, 20.0), 0.9)
    (9.0, 18.0)
    """
    n_rows, needed = len(scores), least_rows(coverage)
    if n_rows < needed:
        raise ValueError(
            f"A coverage of {coverage:g} needs at least {needed:,} held-out rows; the "
            f"model has {n_rows:,}: ask for less, or fit with more validation rows."
        )
    place = math.ceil((n_rows + 1) * coverage - _ROUNDING)
    return float(np.partition(scores, place - 1)[place - 1])


def thresholds(
    scores: np.ndarray, coverage: float, n_queries: int, groups: Groups | None = None
) -> np.ndarray:
    """The threshold for each query (B,).

    With `groups` it is that of the query's group alone (Mondrian); a group with too few
    held-out rows for one has that of all.
    """
    check_coverage(coverage)
    found = np.full(n_queries, threshold(scores, coverage))
    if groups is None:
        return found
    of_rows, of_queries = groups
    for group in dict.fromkeys(of_queries.tolist()):
        own = scores[of_rows == group]
        if len(own) >= least_rows(coverage):
            found[of_queries == group] = threshold(own, coverage)
    return found


def intervals(
    held_out: HeldOut,
    predictions: np.ndarray,
    spread: Uncertainty,
    coverage: float,
    groups: Groups | None = None,
) -> np.ndarray:
    """Intervals (B, 2) around predictions (B,), all standardized.

    They are as wide as the errors of held-out rows with such a spread were large.
    """
    scores, scale = _relative_errors(held_out)
    allowed = thresholds(np.abs(scores), coverage, len(predictions), groups)
    half = allowed * scale(predictions, spread)
    return np.stack([predictions - half, predictions + half], 1)


def quantiles(
    held_out: HeldOut,
    predictions: np.ndarray,
    spread: Uncertainty,
    levels: Sequence[float],
) -> np.ndarray:
    """Calibrated quantiles (B, K) of predictions (B,), standardized.

    The errors of held-out rows, relative to what was expected of them, are spread
    around each prediction: a conformal predictive system.
    """
    scores, scale = _relative_errors(held_out)
    of_errors = np.quantile(scores, levels, method="weibull")  # (K,)
    return predictions[:, None] + scale(predictions, spread)[:, None] * of_errors


def _relative_errors(held_out: HeldOut) -> tuple[np.ndarray, ErrorScale]:
    """The signed errors of held-out rows over their expected size, and that size.

    The size expected of a row is learned from other rows.
    """
    known = held_out.votes[:, 0], held_out.spread
    errors = held_out.truth - held_out.votes[:, 0]
    sizes = cross_fitted_scales(*known, np.abs(errors))
    return errors / sizes, fit_scale(*known, np.abs(errors))


def prediction_sets(
    held_out: HeldOut,
    probabilities: np.ndarray,
    coverage: float,
    groups: Groups | None = None,
) -> np.ndarray:
    """Which classes (B, V) are probable enough, by the true ones of held-out rows.

    These are the smallest sets of the coverage, on average; a set may be empty where no
    class is as probable as the true one usually is.
    """
    codes = held_out.truth.astype(np.int64)
    scores = 1 - held_out.votes[np.arange(len(codes)), codes]
    allowed = thresholds(scores, coverage, len(probabilities), groups)
    found: np.ndarray = 1 - probabilities <= allowed[:, None] + _ROUNDING
    return found
