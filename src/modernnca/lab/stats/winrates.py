"""Who beats whom: the share of datasets won against each other method, and Elo.

A dataset is a game between each two methods that take part; the better rank wins, and
equal ranks are half a win for both. Missing scores are treated as in `ranks.rank_each`.
"""

import numpy as np
from pandas import DataFrame
from scipy.special import expit

from modernnca.lab.stats.ranks import rank_each
from modernnca.lab.stats.summary import check_method

_SCALE = 400 / np.log(10)  # 400 points are odds of ten to one
_CENTER = 1000.0


def win_rates(scores: DataFrame, *, missing: str = "last") -> DataFrame:
    """Give the share of datasets on which the row's method beats the column's.

    A share and its mirror add to 1; a method against itself has 0.5. Two methods that
    never met have NaN.
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
    """Rate the methods so that 400 points are odds of ten to one; the best comes first.

    The ratings are the most likely ones under Bradley and Terry's model, fitted to all
    games at once, so their order does not matter. The mean is 1000; with `anchor`,
    that method has 1000. `prior` drawn games are added between each two methods, so
    that one that never wins stays finite.

    Returns:
        method, elo; low, high, the 95 % percentile interval over datasets drawn anew
        `n_boot` times.
    """
    if not prior > 0:
        raise ValueError(
            f"prior is {prior!r}; it must be more than 0, or a method that never wins "
            "has no finite rating."
        )
    if anchor is not None:
        check_method(scores, anchor)
    ranks = rank_each(scores, missing=missing)
    n = len(ranks)
    if n == 0:
        raise ValueError(
            "No dataset is left to rate the methods on; with missing='last' a failed "
            "method ranks last and its dataset stays."
        )
    rng = np.random.default_rng(seed)
    draws = rng.multinomial(n, np.full(n, 1 / n), size=n_boot)
    weights = np.vstack([np.ones((1, n)), draws])  # the first is the data itself
    wins = np.tensordot(weights, _games(ranks), axes=1)  # (1 + n_boot, M, M)
    ratings = _SCALE * _strengths(wins + prior / 2)
    if anchor is None:
        origin = ratings.mean(axis=1)
    else:
        origin = ratings[:, ranks.columns.get_loc(anchor)]
    ratings = ratings - origin[:, None] + _CENTER
    spread = ratings[1:] if n_boot else ratings
    low, high = np.quantile(spread, [0.025, 0.975], axis=0)
    table = DataFrame(
        {"method": ranks.columns, "elo": ratings[0], "low": low, "high": high}
    )
    best = table["elo"].sort_values(ascending=False, kind="stable").index
    return table.loc[best].reset_index(drop=True)


def _games(ranks: DataFrame) -> np.ndarray:
    """Points of each method against each on each dataset, (datasets, M, M)."""
    mine, yours = ranks.to_numpy()[:, :, None], ranks.to_numpy()[:, None, :]
    points = (mine < yours) + 0.5 * (mine == yours)  # not there: NaN, no points
    points[:, *np.diag_indices(ranks.shape[1])] = 0.0
    return points


def _strengths(wins: np.ndarray) -> np.ndarray:
    """Fit log-strengths (B, M) to wins (B, M, M) by Newton's steps, cut to length 1."""
    n_methods = wins.shape[-1]
    wins = wins * (1 - np.eye(n_methods))
    n_games = wins + wins.swapaxes(1, 2)
    strengths = np.zeros(wins.shape[:2])
    for _ in range(200):
        chance = expit(strengths[:, :, None] - strengths[:, None, :])
        slope = (wins - n_games * chance).sum(axis=2)
        bend = n_games * chance * (1 - chance)
        # The added 1 holds the mean, which no game can tell.
        curvature = np.eye(n_methods) * bend.sum(axis=2)[:, :, None] - bend + 1.0
        step = np.linalg.solve(curvature, slope[:, :, None])[:, :, 0]
        length = np.abs(step).max(axis=1, keepdims=True)
        strengths += step / np.maximum(length, 1.0)
        if length.max() < 1e-10:
            return strengths
    raise ArithmeticError("The ratings did not settle in 200 steps.")
