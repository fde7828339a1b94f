"""Pairwise win rates, and Elo ratings.

Each dataset is a game between every two methods that take part: the better rank wins,
and equal ranks are half a win for both. Missing scores are treated as in
`ranks.rank_each`.
"""

import numpy as np
from pandas import DataFrame
from scipy.special import expit

from modernnca.lab.stats.ranks import rank_each
from modernnca.lab.stats.summary import check_method

_SCALE = 400 / np.log(10)  # 400 points are odds of ten to one
_CENTER = 1000.0


def win_rates(scores: DataFrame, *, missing: str = "last") -> DataFrame:
    """Return the share of datasets on which the row's method beats the column's.

    Opposite shares add up to 1; the diagonal is 0.5. Two methods without a common
    dataset have NaN.
    """
    ranks = rank_each(scores, missing=missing)
    wins = _games(ranks).sum(axis=0)
    n_games = wins + wins.T
    rates = np.divide(wins, n_games, out=np.full_like(wins, np.nan), where=n_games > 0)
    np.fill_diagonal(rates, 0.5)
    return DataFrame(rates, index=ranks.columns, columns=ranks.columns)


def elo(
    scores: DataFrame,
    *,
    n_boot: int = 200,
    seed: int = 0,
    anchor: str | None = None,
    prior: float = 1.0,
    missing: str = "last",
) -> DataFrame:
    """Rate the methods so that 400 points are odds of ten to one, best first.

    The ratings are the maximum-likelihood fit of the Bradley-Terry model to all games
    at once, so the order of the games does not matter. The mean is 1000; with `anchor`,
    that method has 1000. `prior` drawn games are added between every two methods, which
    keeps the rating of a method that never wins finite.

    Returns:
        method, elo; low, high, the 95 % percentile interval of a bootstrap over
        datasets with `n_boot` resamples.
    """
    if not prior > 0:
        raise ValueError(
            f"prior is {prior!r}; it must be above 0, or a method that never wins has "
            "no finite rating."
        )
    if anchor is not None:
        check_method(scores, anchor)
    ranks = rank_each(scores, missing=missing)
    n = len(ranks)
    if n == 0:
        raise ValueError(
            "No dataset is left to rate the methods on; use missing='last' to keep "
            "datasets with failures and rank the failed method last."
        )
    rng = np.random.default_rng(seed)
    resamples = rng.multinomial(n, np.full(n, 1 / n), size=n_boot)
    weights = np.vstack([np.ones((1, n)), resamples])  # row 0 is the data itself
    wins = np.tensordot(weights, _games(ranks), axes=1)  # (1 + n_boot, M, M)
    ratings = _SCALE * _strengths(wins + prior / 2)
    if anchor is None:
        origin = ratings.mean(axis=1)
    else:
        origin = ratings[:, ranks.columns.get_loc(anchor)]
    ratings = ratings - origin[:, None] + _CENTER
    resampled = ratings[1:] if n_boot else ratings
    low, high = np.quantile(resampled, [0.025, 0.975], axis=0)
    table = DataFrame(
        {"method": ranks.columns, "elo": ratings[0], "low": low, "high": high}
    )
    best = table["elo"].sort_values(ascending=False, kind="stable").index
    return table.loc[best].reset_index(drop=True)


def _games(ranks: DataFrame) -> np.ndarray:
    """Return the points of each method against each per dataset, (datasets, M, M)."""
    row, column = ranks.to_numpy()[:, :, None], ranks.to_numpy()[:, None, :]
    points = (row < column) + 0.5 * (row == column)  # a NaN rank scores no points
    points[:, *np.diag_indices(ranks.shape[1])] = 0.0
    return points


def _strengths(wins: np.ndarray) -> np.ndarray:
    """Fit log-strengths (B, M) to wins (B, M, M) by Newton steps of at most 1."""
    n_methods = wins.shape[-1]
    wins = wins * (1 - np.eye(n_methods))
    n_games = wins + wins.swapaxes(1, 2)
    strengths = np.zeros(wins.shape[:2])
    for _ in range(200):
        chance = expit(strengths[:, :, None] - strengths[:, None, :])
        gradient = (wins - n_games * chance).sum(axis=2)
        weight = n_games * chance * (1 - chance)
        # The games do not determine the mean; the added 1 keeps it at 0.
        hessian = np.eye(n_methods) * weight.sum(axis=2)[:, :, None] - weight + 1.0
        step = np.linalg.solve(hessian, gradient[:, :, None])[:, :, 0]
        length = np.abs(step).max(axis=1, keepdims=True)
        strengths += step / np.maximum(length, 1.0)
        if length.max() < 1e-10:
            return strengths
    raise ArithmeticError("The ratings did not converge in 200 steps.")
