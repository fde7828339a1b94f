"""Ranks: the best method on a dataset has rank 1, and ties share the mean rank."""

import numpy as np
from pandas import DataFrame

from modernnca._named import named
from modernnca.lab.stats.summary import losses, participation


def rank_each(scores: DataFrame, *, missing: str = "last") -> DataFrame:
    """Rank the methods on each dataset, as datasets x methods.

    `missing` decides about methods that failed on a dataset (their mean is NaN):
    "last" ranks them behind all that did not, sharing the last ranks; "drop" leaves out
    the whole dataset. A method that does not take part (it has no row) has rank NaN,
    and the remaining methods are ranked without it.
    """
    treat = named("treatment of missing scores", missing, MISSING)
    return treat(losses(scores), participation(scores)).rank(axis=1)


def average_ranks(scores: DataFrame, *, missing: str = "last") -> DataFrame:
    """Average each method's ranks over its datasets, best first.

    Compare ranks over the same datasets only: see `summary.complete`.

    Returns:
        method, rank; n_datasets, the number of datasets averaged over; n_missing, the
        number of datasets on which the method failed.
    """
    ranks = rank_each(scores, missing=missing)
    failed = participation(scores) & losses(scores).isna()
    table = DataFrame(
        {
            "rank": ranks.mean(),
            "n_datasets": ranks.notna().sum(),
            "n_missing": failed.sum(),
        }
    )
    return table.sort_values("rank", kind="stable").reset_index(names="method")


def _last(losses: DataFrame, took_part: DataFrame) -> DataFrame:
    return losses.fillna(np.inf).where(took_part)


def _drop(losses: DataFrame, took_part: DataFrame) -> DataFrame:
    return losses[(losses.notna() | ~took_part).all(axis=1)]


MISSING = {"last": _last, "drop": _drop}
