"""Wilcoxon's signed-rank test, exact for small samples even with ties."""

import numpy as np
from scipy import stats

_EXACT_UP_TO = 50  # above, the normal approximation is as good and faster


def signed_rank(differences: np.ndarray) -> tuple[int, float, float]:
    """Test whether differences (N,) are centered on 0; return N, the statistic and p.

    The statistic is the smaller of the two rank sums, where each zero gives half its
    rank to both (Demsar's T). p is two-sided and conditional on the absolute
    differences: zeros have a rank but no sign (Pratt). Without differences, both are
    NaN.

    >>> signed_rank(np.array([3.0, 2.0, 1.0, -0.5]))
    (4, 1.0, 0.25)
    """
    n = len(differences)
    if n == 0:
        return 0, np.nan, np.nan
    ranks = stats.rankdata(np.abs(differences))
    plus, minus = ranks[differences > 0].sum(), ranks[differences < 0].sum()
    half_of_zeros = ranks[differences == 0].sum() / 2
    signed = ranks[differences != 0]
    if n <= _EXACT_UP_TO:
        p = _exact_p(signed, plus)
    else:
        p = 2 * stats.norm.sf(abs(plus - minus) / np.sqrt((signed**2).sum() or 1.0))
    return n, float(min(plus, minus) + half_of_zeros), float(p)


def _exact_p(ranks: np.ndarray, plus: float) -> float:
    """Return the two-sided p of a rank sum when every sign is equally likely."""
    # Probability of each sum of doubled ranks, which are integers even with ties.
    probability = np.ones(1)
    for rank in (2 * ranks).astype(int):
        without = np.pad(probability, (0, rank))
        probability = (without + np.roll(without, rank)) / 2
    observed = int(2 * plus)
    below, above = probability[: observed + 1].sum(), probability[observed:].sum()
    return min(1.0, 2 * min(below, above))
