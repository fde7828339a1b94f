"""Wilcoxon's signed-rank test, exact for few differences whatever ties there are."""

import numpy as np
from scipy import stats

_EXACT_UP_TO = 50  # beyond, the normal distribution is as good and quicker


def signed_rank(differences: np.ndarray) -> tuple[int, float, float]:
    """Test whether differences (N,) lie around 0; give N, the statistic and p.

    The statistic is the smaller sum of ranks, each zero giving half its rank to both
    (Demsar's T). p is two-sided, given the sizes of the differences: zeros have a rank
    but no sign (Pratt). Of no differences nothing is known: NaN.

    >>> signed_rank(np.array([3.0, 2.0, 1.0, -0.5]))
    (4, 1.0, 0.25)
    """
    n = len(differences)
    if n == 0:
        return 0, np.nan, np.nan
    ranks = stats.rankdata(np.abs(differences))
    plus, minus = ranks[differences > 0].sum(), ranks[differences < 0].sum()
    halves = ranks[differences == 0].sum() / 2
    signed = ranks[differences != 0]
    if n <= _EXACT_UP_TO:
        p = _chance_of_signs(signed, plus)
    else:
        p = 2 * stats.norm.sf(abs(plus - minus) / np.sqrt((signed**2).sum() or 1.0))
    return n, float(min(plus, minus) + halves), float(p)


def _chance_of_signs(ranks: np.ndarray, plus: float) -> float:
    """Give the two-sided p of a sum of ranks, if each counts by the toss of a coin."""
    chance = np.ones(1)  # of each sum of doubled ranks, which are whole numbers
    for rank in (2 * ranks).astype(int):
        without = np.pad(chance, (0, rank))
        chance = (without + np.roll(without, rank)) / 2
    reached = int(2 * plus)
    return min(1.0, 2 * min(chance[: reached + 1].sum(), chance[reached:].sum()))
