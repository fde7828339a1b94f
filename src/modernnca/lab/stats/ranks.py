"""Ranks: the best method on a dataset has rank 1, and equals share the mean rank."""

import numpy as np
from pandas import DataFrame

from modernnca._named import named
from modernnca.lab.stats.summary import entered, losses


def rank_each(scores: DataFrame, *, missing: str = "last") -> DataFrame:
    """Rank the methods on each dataset, as datasets x methods.

    Of a method that failed on a dataset (its mean is NaN) there are two views:
    "last" ranks it behind all that did not, several failures sharing the last ranks;
    "drop" leaves out the whole dataset. A method that does not take part (there is no
    row) has the rank NaN, and the others are ranked among themselves.
    """
    treat = named("treatment of missing scores", missing, MISSING)
    return treat(losses(scores), entered(scores)).rank(axis=1)


def average_ranks(scores: DataFrame, *, missing: str = "last") -> DataFrame:
    """Average each method's ranks over its datasets; the best comes first.

    Returns:
        method, rank; n_datasets, the number of datasets that were averaged; n_missing,
        the number of datasets on which it failed. Compare ranks over the same datasets
        only: see `summary.complete`.
    """
    ranks = rank_each(scores, missing=missing)
    failed = entered(scores) & losses(scores).isna()
    table = DataFrame(
        {
            "rank": ranks.mean(),
            "n_datasets": ranks.notna().sum(),
            "n_missing": failed.sum(),
        }
    )
    return table.sort_values("rank", kind="stable").reset_index(names="method")


def _last(losses: DataFrame, entered: DataFrame) -> DataFrame:
    return losses.fillna(np.inf).where(entered)


def _drop(losses: DataFrame, entered: DataFrame) -> DataFrame:
    return losses[(losses.notna() | ~entered).all(axis=1)]


MISSING = {"last": _last, "drop": _drop}
