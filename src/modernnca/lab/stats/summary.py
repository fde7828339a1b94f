"""Runs to scores: a mean, its spread and the number of runs, by dataset and method.

A *scores frame* has one row for each dataset and method that took part:

    dataset, task   task is "binclass", "multiclass" or "regression"
    method
    mean, std       over the runs; std divides by n, as published tables do
    n               the number of runs
    higher          whether more is better

There are two ways to have no score, and they are kept apart. A row whose mean is NaN is
a method that was tried and failed. A row that is not there is a method that does not
take part, as a regression does not on classes: it is neither ranked nor compared there.
"""

from typing import NamedTuple

import pandas as pd
from pandas import DataFrame, Series

from modernnca._named import named

SCORES = ("dataset", "task", "method", "mean", "std", "n", "higher")
TASK_GROUPS = {
    "binclass": "classification",
    "multiclass": "classification",
    "regression": "regression",
}


class Judged(NamedTuple):
    """What a metric judges, and whether more of it is better."""

    group: str
    higher: bool


METRICS = {
    "accuracy": Judged("classification", True),
    "balanced-accuracy": Judged("classification", True),
    "log-loss": Judged("classification", False),
    "auc": Judged("classification", True),
    "ece": Judged("classification", False),
    "rmse": Judged("regression", False),
    "mae": Judged("regression", False),
    "r2": Judged("regression", True),
}


def task_group(task: str) -> str:
    """Say whether a task is "classification" or "regression".

    >>> task_group("binclass")
    'classification'
    """
    return named("task", task, TASK_GROUPS)


def summarize(records: DataFrame, metric: str | None = None) -> DataFrame:
    """Reduce records of single runs to a scores frame.

    Without `metric`, classification is judged by accuracy and regression by RMSE;
    with it, only the tasks that it judges are kept. A run that is not "done", or has
    no number, is no score: the mean is over the others, `n` counts them, and where
    none is left the mean is NaN.

    On a dataset with one split the runs are its seeds. On one with several, seeds are
    averaged first and the runs are the splits, since seeds of one split share its
    luck. Where the records hold several settings, methods are told apart as
    "name (tuned)".
    """
    _require(records, ("dataset", "task", "method", "settings", "split", "status"))
    metrics = ("accuracy", "rmse") if metric is None else (metric,)
    parts = [_summarize_one(records, name) for name in metrics]
    return pd.concat([part for part in parts if len(part)] or parts[:1])[
        list(SCORES)
    ].reset_index(drop=True)


def _summarize_one(records: DataFrame, metric: str) -> DataFrame:
    group, higher = named("metric", metric, METRICS)
    method = records["method"]
    if records["settings"].nunique() > 1:
        method = method + " (" + records["settings"] + ")"
    rows = records.assign(method=method)[records["task"].map(task_group) == group]
    if len(rows):
        _require(rows, (metric,))
    done = rows["status"] == "done"
    rows = rows.assign(score=rows[metric].where(done) if len(rows) else 0.0)

    keys = ["dataset", "task", "method"]
    several = rows.groupby("dataset")["split"].transform("nunique") > 1
    by_split = rows[several].groupby([*keys, "split"], as_index=False)["score"].mean()
    runs = pd.concat([rows.loc[~several, [*keys, "score"]], by_split])
    scores = runs.groupby(keys)["score"]
    table = scores.agg(mean="mean", n="count").assign(std=scores.std(ddof=0))
    return table.reset_index().assign(higher=higher)


def losses(scores: DataFrame) -> DataFrame:
    """Lay scores out as datasets x methods, both sorted; lower is better.

    A metric of which more is better becomes 1 - mean (accuracy: the error rate), any
    other stays. No score is NaN. Means are read at 12 significant digits, so that
    equal runs added up in another order are equal.

    >>> scores = DataFrame(
    ...     [["iris", "multiclass", "knn", 0.75, 0.0, 3, True]], columns=list(SCORES)
    ... )
    >>> losses(scores).loc["iris", "knn"].item()
    0.25
    """
    _check(scores)
    mean = rounded(scores["mean"], 12)
    loss = mean.where(~scores["higher"].astype(bool), 1 - mean)
    return laid_out(scores.assign(loss=loss), "loss").astype(float)


def entered(scores: DataFrame) -> DataFrame:
    """Tell, as datasets x methods, who took part where, with a score or without."""
    return laid_out(scores.assign(entered=1.0), "entered").notna()


def laid_out(scores: DataFrame, column: str) -> DataFrame:
    """Lay a column of the scores out as datasets x methods, both sorted."""
    return scores.pivot(index="dataset", columns="method", values=column)


def complete(scores: DataFrame, *, drop: str = "methods") -> DataFrame:
    """Keep the methods that took part on every dataset, or the other way round.

    With drop="datasets", keep the datasets on which every method took part. A failure
    (a row with the mean NaN) is taking part.
    """
    kept, other = named(
        "thing to drop",
        drop,
        {"methods": ("method", "dataset"), "datasets": ("dataset", "method")},
    )
    count = scores.groupby(kept)[other].transform("nunique")
    return scores[count == scores[other].nunique()].reset_index(drop=True)


def rounded(values: Series, digits: int) -> Series:
    """Keep so many significant digits, so that what differs by rounding is equal."""
    return values.map(lambda value: float(f"{value:.{digits}g}")).astype(float)


def check_method(scores: DataFrame, method: str) -> str:
    """Return the name of a method that is in the scores, or say which are."""
    return named("method", method, {name: name for name in scores["method"]})


def _require(frame: DataFrame, columns: tuple[str, ...]) -> None:
    lacking = [name for name in columns if name not in frame.columns]
    if lacking:
        raise ValueError(
            f"The frame has no column {', '.join(map(repr, lacking))}; "
            f"it has: {', '.join(map(str, frame.columns))}."
        )


def _check(scores: DataFrame) -> None:
    _require(scores, SCORES)
    twice: Series = scores.duplicated(["dataset", "method"])
    if twice.any():
        dataset, method = scores.loc[twice, ["dataset", "method"]].iloc[0]
        raise ValueError(
            f"There are two rows for method {method!r} on dataset {dataset!r}; "
            "give one row for each dataset and method."
        )
    mixed = scores.groupby("dataset")[["task", "higher"]].nunique().max(axis=1) > 1
    if mixed.any():
        raise ValueError(
            f"The scores on dataset {mixed.idxmax()!r} are of several tasks or "
            "metrics; give scores of one task and one metric for each dataset."
        )
