"""What the tables of a whole run say: every score, published, tuned, failures."""

import pandas as pd

from modernnca.lab.report.formats import Column, Table, count, percent, significant
from modernnca.lab.report.names import key, spell
from modernnca.lab.report.score_tables import DATASET, METRIC, Properties, known_sizes
from modernnca.lab.stats import summarize

_BETTER = "Points of accuracy, or a share of RMSE"


def score_table(scores: pd.DataFrame) -> Table:
    """Every score, with its spread and the number of runs behind it."""
    columns = (
        *(Column("dataset", "Table"), Column("task", "Task")),
        Column("method", "Method"),
        Column("mean", "Mean", significant, METRIC, ("std",)),
        Column("n", "Runs", count),
    )
    frame = scores.sort_values(["dataset", "method"]).reset_index(drop=True)
    return Table("scores", "Every score", frame, columns)


def published_table(records: pd.DataFrame, published: pd.DataFrame) -> Table | None:
    """Our scores on given splits beside the published ones of the same method."""
    given = records[records["split"].astype(str) == "given"]
    if given.empty or published.empty:
        return None
    parts = [
        summarize(part).assign(settings=settings)
        for settings, part in given.groupby("settings")
    ]
    ours = pd.concat(parts).assign(key=lambda frame: frame["method"].map(key))
    theirs = published.assign(key=published["method"].map(key))
    frame = ours.merge(theirs, on=["dataset", "key"], suffixes=("", "_published"))
    frame = frame[frame["mean"].notna() & frame["mean_published"].notna()]
    if frame.empty:
        return None
    change = frame["mean"] - frame["mean_published"]
    better = change.where(
        frame["higher"].astype(bool), -change / frame["mean_published"]
    )
    frame = frame.assign(
        method=frame["method"].map(spell(frame["method"])), better=better
    )
    columns = (
        *(Column("dataset", "Table"), Column("task", "Task")),
        *(Column("method", "Method"), Column("settings", "Settings")),
        Column("mean", "Here", significant, METRIC, ("std",)),
        Column("n", "Runs", count),
        Column("mean_published", "Published", significant, METRIC, ("std_published",)),
        Column("better", "Better by", percent, _BETTER),
    )
    frame = frame.sort_values(["dataset", "method", "settings"]).reset_index(drop=True)
    return Table(
        "published", "Scores here and published, on the same split", frame, columns
    )


def tuned_table(records: pd.DataFrame, properties: Properties) -> Table | None:
    """Default against tuned, where a method was run with both on a table."""
    both = {"default", "tuned"}
    if not both <= set(records["settings"]):
        return None
    parts = {name: summarize(records[records["settings"] == name]) for name in both}
    same = ["dataset", "task", "method", "higher"]
    frame = parts["default"].merge(parts["tuned"], on=same, suffixes=("", "_tuned"))
    if frame.empty:
        return None
    change = frame["mean_tuned"] - frame["mean"]
    better = change.where(frame["higher"].astype(bool), -change / frame["mean"])
    frame = frame.assign(
        better=better, method=frame["method"].map(spell(frame["method"]))
    )
    facts = pd.DataFrame.from_dict(properties, orient="index")[["rows", "columns"]]
    frame = frame.join(facts, on="dataset")
    columns = (
        *DATASET,
        Column("method", "Method"),
        Column("mean", "Default", significant, METRIC, ("std",)),
        Column("mean_tuned", "Tuned", significant, METRIC, ("std_tuned",)),
        Column("better", "Better by", percent, _BETTER),
    )
    frame = frame.sort_values(["dataset", "method"]).reset_index(drop=True)
    return known_sizes(Table("tuned", "Default against tuned", frame, columns))


def failure_table(records: pd.DataFrame) -> Table | None:
    """What failed, once for each kind of failure, with how often it did."""
    failed = records[records["status"] != "done"]
    if failed.empty:
        return None
    failed = failed.assign(error=failed["error"].fillna("").astype(str).str.strip())
    keys = ["dataset", "task", "method", "status", "error"]
    frame = failed.groupby(keys, sort=True).size().reset_index(name="n")
    columns = (
        *(Column("dataset", "Table"), Column("method", "Method")),
        *(Column("status", "What"), Column("n", "Runs", count)),
        Column("error", "Error"),
    )
    return Table("failures", "Runs without a result", frame, columns)


def check_table(checks: pd.DataFrame) -> Table:
    """What was found odd in the data."""
    columns = (
        Column("dataset", "Table"),
        Column("kind", "Check"),
        Column("text", "Found"),
    )
    frame = checks.sort_values(["dataset", "kind"], kind="stable").reset_index(
        drop=True
    )
    return Table("checks", "What the checks of the data found", frame, columns)
