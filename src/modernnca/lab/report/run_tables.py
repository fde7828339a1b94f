"""Tables over all runs: scores, published scores, tuning, failures and data checks."""

import pandas as pd

from modernnca.lab.report.formats import Column, Table, count, percent, significant
from modernnca.lab.report.method_names import display_names, normalize
from modernnca.lab.report.score_tables import (
    DATASET,
    METRIC,
    Properties,
    drop_unknown_sizes,
)
from modernnca.lab.stats import summarize

_BETTER = "Points of accuracy, or percent of RMSE"


def score_table(scores: pd.DataFrame) -> Table:
    """Return every score with its standard deviation and number of runs."""
    columns = (
        *(Column("dataset", "Dataset"), Column("task", "Task")),
        Column("method", "Method"),
        Column("mean", "Mean", significant, METRIC, ("std",)),
        Column("n", "Runs", count),
    )
    frame = scores.sort_values(["dataset", "method"]).reset_index(drop=True)
    return Table("scores", "Every score", frame, columns)


def published_table(records: pd.DataFrame, published: pd.DataFrame) -> Table | None:
    """Return our scores and the published ones of the same method, on given splits."""
    given = records[records["split"].astype(str) == "given"]
    if given.empty or published.empty:
        return None
    parts = [
        summarize(part).assign(settings=settings)
        for settings, part in given.groupby("settings")
    ]
    ours = pd.concat(parts).assign(key=lambda frame: frame["method"].map(normalize))
    theirs = published.assign(key=published["method"].map(normalize))
    frame = ours.merge(theirs, on=["dataset", "key"], suffixes=("", "_published"))
    frame = frame[frame["mean"].notna() & frame["mean_published"].notna()]
    if frame.empty:
        return None
    change = frame["mean"] - frame["mean_published"]
    better = change.where(
        frame["higher"].astype(bool), -change / frame["mean_published"]
    )
    frame = frame.assign(
        method=frame["method"].map(display_names(frame["method"])), better=better
    )
    columns = (
        *(Column("dataset", "Dataset"), Column("task", "Task")),
        *(Column("method", "Method"), Column("settings", "Settings")),
        Column("mean", "Here", significant, METRIC, ("std",)),
        Column("n", "Runs", count),
        Column("mean_published", "Published", significant, METRIC, ("std_published",)),
        Column("better", "Better by", percent, _BETTER),
    )
    frame = frame.sort_values(["dataset", "method", "settings"]).reset_index(drop=True)
    return Table(
        "published", "Our scores and published scores, same split", frame, columns
    )


def tuned_table(records: pd.DataFrame, properties: Properties) -> Table | None:
    """Compare default and tuned settings where a method was run with both."""
    both = {"default", "tuned"}
    if not both <= set(records["settings"]):
        return None
    parts = {name: summarize(records[records["settings"] == name]) for name in both}
    keys = ["dataset", "task", "method", "higher"]
    frame = parts["default"].merge(parts["tuned"], on=keys, suffixes=("", "_tuned"))
    if frame.empty:
        return None
    change = frame["mean_tuned"] - frame["mean"]
    better = change.where(frame["higher"].astype(bool), -change / frame["mean"])
    frame = frame.assign(
        better=better, method=frame["method"].map(display_names(frame["method"]))
    )
    sizes = pd.DataFrame.from_dict(properties, orient="index")[["rows", "columns"]]
    frame = frame.join(sizes, on="dataset")
    columns = (
        *DATASET,
        Column("method", "Method"),
        Column("mean", "Default", significant, METRIC, ("std",)),
        Column("mean_tuned", "Tuned", significant, METRIC, ("std_tuned",)),
        Column("better", "Better by", percent, _BETTER),
    )
    frame = frame.sort_values(["dataset", "method"]).reset_index(drop=True)
    return drop_unknown_sizes(Table("tuned", "Default against tuned", frame, columns))


def failure_table(records: pd.DataFrame) -> Table | None:
    """Return the failures, each distinct one with its number of runs."""
    failed = records[records["status"] != "done"]
    if failed.empty:
        return None
    failed = failed.assign(error=failed["error"].fillna("").astype(str).str.strip())
    keys = ["dataset", "task", "method", "status", "error"]
    frame = failed.groupby(keys, sort=True).size().reset_index(name="n")
    columns = (
        *(Column("dataset", "Dataset"), Column("method", "Method")),
        *(Column("status", "Status"), Column("n", "Runs", count)),
        Column("error", "Error"),
    )
    return Table("failures", "Failed runs", frame, columns)


def check_table(checks: pd.DataFrame) -> Table:
    """Return the problems found in the data."""
    columns = (
        Column("dataset", "Dataset"),
        Column("kind", "Check"),
        Column("text", "Finding"),
    )
    frame = checks.sort_values(["dataset", "kind"], kind="stable").reset_index(
        drop=True
    )
    return Table("checks", "Results of the data checks", frame, columns)
