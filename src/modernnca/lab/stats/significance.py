"""Significance tests of differences between methods, over runs and over datasets.

See Demsar, "Statistical comparisons of classifiers over multiple data sets" (2006).
"""

from itertools import combinations
from typing import NamedTuple

import numpy as np
from pandas import DataFrame, Series
from scipy import stats

from modernnca._named import named
from modernnca.lab.stats.ranks import rank_each
from modernnca.lab.stats.signed_rank import signed_rank
from modernnca.lab.stats.summary import (
    as_matrix,
    check_method,
    losses,
    participation,
    round_significant,
)


class Friedman(NamedTuple):
    """Friedman's test that all methods are equal, and Iman and Davenport's version."""

    statistic: float  # chi-squared, with n_methods - 1 degrees of freedom
    p: float
    n_datasets: int
    n_methods: int
    iman_davenport: float  # F-distributed, and less conservative
    iman_davenport_p: float


def win_tie_lose(scores: DataFrame, method: str, *, alpha: float = 0.05) -> DataFrame:
    """Count the datasets on which a method wins, ties and loses against each other one.

    Two methods tie unless a two-sided t-test over their runs, computed from mean, std
    and n, is significant at the level `alpha`; then the better mean wins. The test is
    Welch's, which does not assume equal variances. Two methods without any variance
    differ if their means do. Where either method has a single run there is nothing to
    test with, and the better score wins. A dataset on which either method has no score
    does not count.

    Returns:
        opponent, win, tie, lose; n, their sum; n_untested, those of them without a
        test; n_missing, the datasets where both took part and a score is missing.
        Sorted by the share of wins.
    """
    _check_alpha(alpha)
    loss, took_part = losses(scores), participation(scores)
    check_method(scores, method)
    std, n = as_matrix(scores, "std"), as_matrix(scores, "n")
    rows = []
    for opponent in loss.columns.drop(method):
        common = took_part[[method, opponent]].all(axis=1)
        gain = (loss[opponent] - loss[method])[common].dropna()
        runs = [
            table.loc[gain.index, name].to_numpy(float)
            for name in (method, opponent)
            for table in (std, n)
        ]
        p = _welch(gain.to_numpy(), *runs)
        untested = np.isnan(p)
        significant = gain[(p < alpha) | untested]
        win, lose = int((significant > 0).sum()), int((significant < 0).sum())
        tie, n_missing = len(gain) - win - lose, int(common.sum()) - len(gain)
        counts = [len(gain), int(untested.sum()), n_missing]
        rows.append([opponent, win, tie, lose, *counts])
    columns = ["opponent", "win", "tie", "lose", "n", "n_untested", "n_missing"]
    table = DataFrame(rows, columns=columns)
    share = (table["win"] / table["n"]).sort_values(ascending=False, kind="stable")
    return table.loc[share.index].reset_index(drop=True)


def _welch(
    gain: np.ndarray,
    std: np.ndarray,
    n: np.ndarray,
    other_std: np.ndarray,
    other_n: np.ndarray,
) -> np.ndarray:
    """Return p of differences of means; NaN where a single run has no variance."""
    with np.errstate(divide="ignore", invalid="ignore"):
        # Squared standard errors: the stds divide by n, so divide by n - 1 here.
        error, other = std**2 / (n - 1), other_std**2 / (other_n - 1)
        both = error + other
        freedom = both**2 / (error**2 / (n - 1) + other**2 / (other_n - 1))
        p = 2 * stats.t.sf(np.abs(gain) / np.sqrt(both), freedom)
    return np.where(both == 0, np.where(gain == 0, 1.0, 0.0), p)


def friedman(
    scores: DataFrame, *, missing: str = "last", correct_ties: bool = True
) -> Friedman:
    """Test whether the methods' ranks differ by more than chance.

    Every method must take part on every dataset; failures are treated as in
    `rank_each`. Ties reduce the variance of ranks under the null hypothesis. Demsar's
    formula, `correct_ties=False`, ignores this and is more conservative.
    """
    ranks = rank_each(scores, missing=missing)
    n, k = ranks.shape
    absent = np.argwhere(ranks.isna().to_numpy())
    if len(absent):
        dataset, method = ranks.index[absent[0, 0]], ranks.columns[absent[0, 1]]
        raise ValueError(
            f"Friedman's test needs every method on every dataset, but {method!r} has "
            f"no row for {dataset!r}; use complete(scores)."
        )
    if n < 2 or k < 2:
        raise ValueError(
            "Friedman's test needs at least 2 datasets and 2 methods; "
            f"there are {n} and {k}."
        )
    between = n * float(((ranks.mean() - (k + 1) / 2) ** 2).sum())
    within = float(((ranks.to_numpy() - (k + 1) / 2) ** 2).sum())
    if not correct_ties:
        within = n * k * (k**2 - 1) / 12
    statistic = n * (k - 1) * between / within if within else 0.0
    rest = n * (k - 1) - statistic
    ratio = (n - 1) * statistic / rest if rest > 1e-9 else np.inf
    return Friedman(
        statistic,
        float(stats.chi2.sf(statistic, k - 1)),
        n,
        k,
        float(ratio),
        float(stats.f.sf(ratio, k - 1, (k - 1) * (n - 1))),
    )


def wilcoxon_holm(
    scores: DataFrame, *, alpha: float = 0.05, differences: str = "raw"
) -> DataFrame:
    """Compare all pairs by Wilcoxon's signed-rank test with Holm's correction.

    The test ranks datasets by the difference of the losses. "raw" is the textbook
    version, in which an RMSE in the thousands outweighs one below 1. "relative" divides
    by the larger loss: use it where units differ, or where classification and
    regression are compared together.

    Equal losses share their ranks between both sides. Up to 50 datasets, p is exact
    even with ties; above, it uses the normal approximation (Pratt). Datasets on which
    either method has no score are left out of that comparison; if none is left, p is
    NaN and the difference is not significant.

    Returns:
        left, right, sorted by name; n, the number of datasets compared; statistic, the
        smaller rank sum (Demsar's T); p, p_holm, significant.
    """
    _check_alpha(alpha)
    difference = named("kind of difference", differences, DIFFERENCES)
    loss = losses(scores)
    rows = []
    for left, right in combinations(loss.columns, 2):
        both = loss[[left, right]].dropna()
        # Rounding keeps ties that differ in the last digits.
        change = round_significant(difference(both[left], both[right]), 9)
        rows.append([left, right, *signed_rank(change.to_numpy())])
    table = DataFrame(rows, columns=["left", "right", "n", "statistic", "p"])
    p_holm = holm(table["p"].to_numpy(float))
    return table.assign(p_holm=p_holm, significant=p_holm < alpha)


def _relative(left: Series, right: Series) -> Series:
    larger = np.maximum(left.abs(), right.abs())
    return (left - right) / larger.where(larger > 0, 1.0)


DIFFERENCES = {"raw": Series.sub, "relative": _relative}


def holm(p: np.ndarray) -> np.ndarray:
    """Adjust p-values (N,) for multiple testing by Holm's method.

    A NaN stays NaN and does not count as a test.

    >>> holm(np.array([0.01, 0.04, 0.03])).tolist()
    [0.03, 0.06, 0.06]
    """
    adjusted = np.full(len(p), np.nan)
    order = np.argsort(p)[: np.count_nonzero(~np.isnan(p))]
    factors = np.arange(len(order), 0, -1)
    adjusted[order] = np.minimum(np.maximum.accumulate(p[order] * factors), 1.0)
    return adjusted


def nemenyi_distance(n_methods: int, n_datasets: int, *, alpha: float = 0.05) -> float:
    """Return the critical difference of two average ranks in Nemenyi's test.

    >>> round(nemenyi_distance(4, 14), 2)
    1.25
    """
    _check_alpha(alpha)
    if n_methods < 2 or n_datasets < 1:
        raise ValueError(
            "Nemenyi's test needs at least 2 methods and 1 dataset; "
            f"there are {n_methods} and {n_datasets}."
        )
    q = stats.studentized_range.ppf(1 - alpha, n_methods, np.inf) / np.sqrt(2)
    return float(q * np.sqrt(n_methods * (n_methods + 1) / (6 * n_datasets)))


def cliques(average_ranks: DataFrame, pairwise: DataFrame) -> list[list[str]]:
    """Group methods of adjacent ranks that do not differ significantly from each other.

    Takes the frames of `average_ranks` and `wilcoxon_holm`. Each group is maximal and
    ordered from best to worst; groups may overlap, and a method that differs from both
    its neighbors is in none. These are the bars of a critical-difference diagram.

    >>> ranks = DataFrame({"method": ["a", "b", "c"], "rank": [1.2, 2.1, 2.7]})
    >>> pairs = [["a", "b", False], ["a", "c", True], ["b", "c", False]]
    >>> cliques(ranks, DataFrame(pairs, columns=["left", "right", "significant"]))
    [['a', 'b'], ['b', 'c']]
    """
    ranked = average_ranks.dropna(subset="rank").sort_values("rank", kind="stable")
    order = list(ranked["method"])
    significant = pairwise[pairwise["significant"].astype(bool)]
    differ = {
        frozenset(pair)
        for pair in zip(significant["left"], significant["right"], strict=True)
    }
    groups: list[list[str]] = []
    reached = 0
    for start in range(len(order)):
        end = start + 1
        while end < len(order) and not any(
            frozenset((one, order[end])) in differ for one in order[start:end]
        ):
            end += 1
        if end > reached and end - start > 1:
            groups.append(order[start:end])
        reached = max(reached, end)
    return groups


def _check_alpha(alpha: float) -> None:
    if not 0 < alpha < 1:
        raise ValueError(f"alpha is {alpha!r}; it must be between 0 and 1, e.g. 0.05.")
