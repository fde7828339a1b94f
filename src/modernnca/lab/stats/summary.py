"""Summarize runs: mean score, standard deviation and count by dataset and method.

A *scores frame* has one row for each dataset and each method that took part:

    dataset, task   task is "binclass", "multiclass" or "regression"
    method
    mean, std       over the runs; std divides by n, as published tables do
    n               the number of runs
    higher          whether higher is better

A missing score has one of two meanings. A row whose mean is NaN is a method that was
tried and failed. A missing row is a method that does not take part, such as a regressor
on a classification dataset: it is neither ranked nor compared there.
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


class MetricInfo(NamedTuple):
    """The task group that a metric applies to, and whether higher is better."""

    group: str
    higher: bool


METRICS = {
    "accuracy": MetricInfo("classification", True),
    "balanced-accuracy": MetricInfo("classification", True),
    "log-loss": MetricInfo("classification", False),
    "auc": MetricInfo("classification", True),
    "ece": MetricInfo("classification", False),
    "rmse": MetricInfo("regression", False),
    "mae": MetricInfo("regression", False),
    "r2": MetricInfo("regression", True),
}


def task_group(task: str) -> str:
    """Return the group of a task: "classification" or "regression".

    >>> task_group("binclass")
    'classification'
    """
    return named("task", task, TASK_GROUPS)


def summarize(records: DataFrame, metric: str | None = None) -> DataFrame:
    """Summarize records of single runs as a scores frame.

    The default metric is accuracy for classification and RMSE for regression; with
    `metric`, only the tasks it applies to are kept. Runs that are not "done" or have no
    value are left out of the mean and of `n`; if none is left, the mean is NaN.

    On a dataset with one split, the runs are its seeds. On a dataset with several
    splits, seeds are averaged first and the runs are the splits, since the seeds of one
    split are not independent. If the records hold several settings, methods are named
    like "name (tuned)".
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
    """Return the losses as a datasets x methods frame, both sorted; lower is better.

    Metrics for which higher is better become 1 - mean (accuracy: the error rate); other
    metrics stay. Missing scores are NaN. Means are rounded to 12 significant digits, so
    that the order of summation makes no difference.

    >>> scores = DataFrame(
    ...     [["iris", "multiclass", "knn", 0.75, 0.0, 3, True]], columns=list(SCORES)
    ... )
    >>> losses(scores).loc["iris", "knn"].item()
    0.25
    """
    _check(scores)
    mean = round_significant(scores["mean"], 12)
    loss = mean.where(~scores["higher"].astype(bool), 1 - mean)
    return as_matrix(scores.assign(loss=loss), "loss").astype(float)


def participation(scores: DataFrame) -> DataFrame:
    """Return, as datasets x methods, which methods took part, even if they failed."""
    return as_matrix(scores.assign(took_part=1.0), "took_part").notna()


def as_matrix(scores: DataFrame, column: str) -> DataFrame:
    """Return a column of the scores as a datasets x methods frame, both sorted."""
    return scores.pivot(index="dataset", columns="method", values=column)


def complete(scores: DataFrame, *, drop: str = "methods") -> DataFrame:
    """Keep the methods that took part on every dataset.

    With drop="datasets", keep the datasets on which every method took part. A failure
    (a row whose mean is NaN) counts as taking part.
    """
    kept, other = named(
        "value of drop",
        drop,
        {"methods": ("method", "dataset"), "datasets": ("dataset", "method")},
    )
    count = scores.groupby(kept)[other].transform("nunique")
    return scores[count == scores[other].nunique()].reset_index(drop=True)


def round_significant(values: Series, digits: int) -> Series:
    """Round to `digits` significant digits, which hides floating-point noise."""
    return values.map(lambda value: float(f"{value:.{digits}g}")).astype(float)


def check_method(scores: DataFrame, method: str) -> str:
    """Return the method's name, or raise an error that lists the methods."""
    return named("method", method, {name: name for name in scores["method"]})


def _require(frame: DataFrame, columns: tuple[str, ...]) -> None:
    missing = [name for name in columns if name not in frame.columns]
    if missing:
        raise ValueError(
            f"The frame has no column {', '.join(map(repr, missing))}; "
            f"it has: {', '.join(map(str, frame.columns))}."
        )


def _check(scores: DataFrame) -> None:
    _require(scores, SCORES)
    duplicated: Series = scores.duplicated(["dataset", "method"])
    if duplicated.any():
        dataset, method = scores.loc[duplicated, ["dataset", "method"]].iloc[0]
        raise ValueError(
            f"There are two rows for method {method!r} on dataset {dataset!r}; "
            "give one row for each dataset and method."
        )
    mixed = scores.groupby("dataset")[["task", "higher"]].nunique().max(axis=1) > 1
    if mixed.any():
        raise ValueError(
            f"The scores on dataset {mixed.idxmax()!r} mix several tasks or metrics; "
            "give scores of one task and one metric for each dataset."
        )
