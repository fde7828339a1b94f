"""What the tables of a group say: frames of results to frames to be read."""

from collections.abc import Mapping

import pandas as pd

from modernnca.lab.report.contest import GROUPS
from modernnca.lab.report.formats import (
    Column,
    Table,
    count,
    fixed,
    percent,
    seconds,
    significant,
    size,
)
from modernnca.lab.report.grids import gaps
from modernnca.lab.report.judgement import Judgement
from modernnca.lab.stats import ranks, summarize
from modernnca.lab.stats.summary import METRICS

Properties = Mapping[str, Mapping[str, float | str]]

DATASET = (
    Column("dataset", "Table"),
    Column("task", "Task"),
    Column("rows", "Rows", count, "Rows to learn from"),
    Column("columns", "Columns", count),
)
METRIC = "Accuracy, or RMSE in regression"
_SIZES = {"rows": (1000, 10_000), "columns": (10, 50)}


def main_table(judgement: Judgement) -> Table:
    """One line for each method: how good, how sure, how dear."""
    hero = judgement.hero
    best = (judgement.each.eq(judgement.each.min(axis=1), axis=0)).sum()
    frame = (
        judgement.ranks.merge(judgement.improvement, on="method", how="left")
        .merge(judgement.elo, on="method", how="left", suffixes=("", "_elo"))
        .merge(
            judgement.outcomes.rename(columns={"opponent": "method"})[
                ["method", "win", "tie", "lose"]
            ],
            on="method",
            how="left",
        )
        .merge(judgement.costs, on="method", how="left")
        .assign(best=lambda table: table["method"].map(best))
    )
    versus = f"{hero} against this method, by t-test over the runs of each table"
    columns = [
        Column("method", "Method"),
        Column("rank", "Rank", fixed(2), "Average rank; 1 is the best"),
        Column("best", "Best on", count, "Tables on which no method ranks higher"),
        Column(
            "value",
            f"Error vs {hero}",
            percent,
            f"Geometric mean of its error over {hero}'s, less one, with a 95 % "
            "interval over tables; below zero is better",
            ("low", "high"),
        ),
        Column(
            "elo",
            "Elo",
            fixed(0),
            "400 points are odds of ten to one, with a 95 % interval over tables",
            ("low_elo", "high_elo"),
        ),
        Column("win", "Wins", count, f"Tables where the winner is {versus}"),
        Column("tie", "Ties", count, f"No significant difference: {versus}"),
        Column("lose", "Losses", count, f"Tables lost by {versus}"),
        Column("n_missing", "No score", count, "Tables without a score"),
        Column("fit_seconds", "Fit", seconds, "Mean time of a fit"),
        Column("predict_seconds", "Predict", seconds, "Mean time of a prediction"),
        Column("peak_bytes", "Memory", size, "Mean peak memory of a fit"),
    ]
    optional = ("n_missing", "fit_seconds", "predict_seconds", "peak_bytes")
    shown = tuple(
        column
        for column in columns
        if column.key not in optional or frame[column.key].fillna(0).any()
    )
    caption = f"All methods, {in_words(judgement)}"
    return Table(f"main-{judgement.group}", caption, frame, shown)


def in_words(judgement: Judgement) -> str:
    """Name a group and its size: "12 tables, classification"."""
    n_tables = judgement.contest.n_datasets
    tables = f"{n_tables:,} {'table' if n_tables == 1 else 'tables'}"
    return tables if judgement.group == "all" else f"{tables}, {judgement.group}"


def outcome_table(judgement: Judgement) -> Table:
    """The shares of tables that the hero wins, ties, loses (the paper's Table 1)."""
    frame = judgement.outcomes.copy()
    for outcome in ("win", "tie", "lose"):
        frame[f"{outcome}_share"] = frame[outcome] / frame["n"]
    columns = (
        Column("opponent", "Against"),
        Column("win_share", "Win", fixed(2)),
        Column("tie_share", "Tie", fixed(2)),
        Column("lose_share", "Lose", fixed(2)),
        Column("n", "Tables", count, "Tables on which both have a score"),
    )
    caption = f"{judgement.hero} against each method, {in_words(judgement)}"
    return Table(f"outcomes-{judgement.group}", caption, frame, columns)


def win_rate_table(judgement: Judgement) -> Table:
    """Return the share of tables on which the row beats the column."""
    order = list(judgement.ranks["method"])
    frame = judgement.win_rates.reindex(index=order, columns=order)
    frame = frame.rename_axis(index=None, columns=None)
    methods = [Column(method, method, fixed(2)) for method in order]
    frame.insert(0, "Method\u200b", order)  # no method is called so
    columns = (Column("Method\u200b", "Method"), *methods)
    caption = (
        f"Share of tables on which the row beats the column, {in_words(judgement)}"
    )
    return Table(f"winrates-{judgement.group}", caption, frame, columns)


def lost_tables(judgement: Judgement, properties: Properties) -> Table:
    """The tables on which the hero is not the best, the widest gap first."""
    hero, scores = judgement.hero, judgement.contest.scores
    gap = gaps(scores)
    mean = scores.pivot(index="dataset", columns="method", values="mean")
    known = gap[gap.notna().any(axis=1)]
    winner = known.drop(columns=hero).idxmin(axis=1, skipna=True)
    rows = [
        {
            "dataset": dataset,
            **properties[dataset],
            "ours": mean.at[dataset, hero],
            "rank": judgement.each.at[dataset, hero],
            "best": winner[dataset],
            "score": mean.at[dataset, winner[dataset]],
            "gap": gap.at[dataset, hero] / 100,
        }
        for dataset in known.index
        if not gap.at[dataset, hero] <= 0
    ]
    columns = (
        *DATASET,
        Column("ours", hero, significant, METRIC),
        Column("rank", "Rank", fixed(1), f"Rank of {hero} on this table"),
        Column("best", "Best"),
        Column("score", "Its score", significant),
        Column("gap", "Gap", percent, "Points of accuracy, or RMSE above the best"),
    )
    keys = [column.key for column in columns]
    frame = pd.DataFrame(rows, columns=keys)
    frame = frame.sort_values(
        "gap", ascending=False, kind="stable", na_position="first"
    )
    caption = f"Where {hero} is not the best, {in_words(judgement)}"
    return known_sizes(Table(f"lost-on-{judgement.group}", caption, frame, columns))


def lost_to_table(judgement: Judgement) -> Table:
    """The opponents to whom the hero loses, the most frequent first."""
    hero, each = judgement.hero, judgement.each
    frame = judgement.outcomes.rename(columns={"opponent": "method"})
    first = each.eq(each.min(axis=1), axis=0)
    beaten = first[~first[hero]]
    frame = frame.assign(
        ahead=frame["method"].map(lambda name: (each[name] < each[hero]).sum()),
        best=frame["method"].map(beaten.sum()),
    )
    columns = (
        Column("method", "To whom"),
        Column("lose", "Losses", count, "Significant, by t-test over runs"),
        Column("ahead", "Ahead on", count, f"Tables on which it ranks above {hero}"),
        Column("best", "Best instead", count, f"Best of all where {hero} is not"),
    )
    frame = frame.sort_values(["lose", "ahead"], ascending=False, kind="stable")
    caption = f"To whom {hero} loses, {in_words(judgement)}"
    return Table(f"lost-to-{judgement.group}", caption, frame, columns)


def kind_table(judgement: Judgement, properties: Properties) -> Table:
    """The hero's average rank by the kind of table, and who is best there."""
    facts = pd.DataFrame.from_dict(properties, orient="index")
    facts = facts.loc[judgement.each.index]
    kinds = {task: facts["task"] == task for task in GROUPS["all"]}
    for what, (low, high) in _SIZES.items():
        value = facts[what].astype(float)
        kinds[f"under {low:,} {what}"] = value < low
        kinds[f"{low:,} to {high:,} {what}"] = value.between(low, high)
        kinds[f"over {high:,} {what}"] = value > high
    rows = []
    for kind, inside in kinds.items():
        average = judgement.each[inside].mean().sort_values(kind="stable")
        if inside.any():
            ours = average[judgement.hero]
            rows.append((kind, inside.sum(), ours, average.index[0], average.iloc[0]))
    columns = (
        *(Column("kind", "Kind of table"), Column("n", "Tables", count)),
        Column("ours", judgement.hero, fixed(2), "Its average rank"),
        *(Column("best", "Best"), Column("rank", "Its rank", fixed(2))),
    )
    frame = pd.DataFrame(rows, columns=[column.key for column in columns])
    caption = f"Average rank by the kind of table, {in_words(judgement)}"
    return Table(f"kinds-{judgement.group}", caption, frame, columns)


def metric_table(records: pd.DataFrame, judgement: Judgement) -> Table | None:
    """Average ranks by each metric, since a method may be good by one alone."""
    inside = records[
        records["dataset"].isin(judgement.contest.scores["dataset"])
        & records["method"].isin(judgement.contest.methods)
    ]
    frame = judgement.ranks[["method"]]
    metrics = [
        name for name, judged in METRICS.items() if judged.group == judgement.group
    ]
    metrics = [
        name for name in metrics if name in inside and inside[name].notna().any()
    ]
    for name in metrics:
        average = ranks.average_ranks(summarize(inside, name), missing="last")
        frame = frame.assign(
            **{name: frame["method"].map(average.set_index("method")["rank"])}
        )
    if len(metrics) < 2:
        return None
    columns = (
        Column("method", "Method"),
        *(Column(name, name, fixed(2), f"Average rank by {name}") for name in metrics),
    )
    caption = f"Average rank by metric, {in_words(judgement)}"
    return Table(f"metrics-{judgement.group}", caption, frame, columns)


def known_sizes(table: Table) -> Table:
    """Leave out the sizes of tables where nobody knows them."""
    columns = tuple(
        column
        for column in table.columns
        if column.key not in ("rows", "columns")
        or table.frame[column.key].notna().any()
    )
    return Table(table.name, table.caption, table.frame.reset_index(drop=True), columns)
