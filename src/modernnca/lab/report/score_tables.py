"""The tables of one group of datasets."""

from collections.abc import Mapping

import pandas as pd

from modernnca.lab.report.analysis import Analysis
from modernnca.lab.report.comparison import GROUPS
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
from modernnca.lab.report.heat_maps import gaps_to_best
from modernnca.lab.stats import ranks, summarize
from modernnca.lab.stats.summary import METRICS

Properties = Mapping[str, Mapping[str, float | str]]

DATASET = (
    Column("dataset", "Dataset"),
    Column("task", "Task"),
    Column("rows", "Rows", count, "Training rows"),
    Column("columns", "Columns", count),
)
METRIC = "Accuracy, or RMSE in regression"
_SIZES = {"rows": (1000, 10_000), "columns": (10, 50)}


def main_table(analysis: Analysis) -> Table:
    """Return one row for each method: quality, uncertainty and cost."""
    hero, ranks = analysis.hero, analysis.dataset_ranks
    best = ranks.eq(ranks.min(axis=1), axis=0).sum()
    frame = (
        analysis.ranks.merge(analysis.improvement, on="method", how="left")
        .merge(analysis.elo, on="method", how="left", suffixes=("", "_elo"))
        .merge(
            analysis.outcomes.rename(columns={"opponent": "method"})[
                ["method", "win", "tie", "lose"]
            ],
            on="method",
            how="left",
        )
        .merge(analysis.costs, on="method", how="left")
        .assign(best=lambda table: table["method"].map(best))
    )
    test = "by t-test over the runs of each dataset"
    columns = [
        Column("method", "Method"),
        Column("rank", "Rank", fixed(2), "Average rank; 1 is best"),
        Column("best", "Best on", count, "Datasets on which no method ranks higher"),
        Column(
            "value",
            f"Error vs {hero}",
            percent,
            f"Geometric mean of its error relative to {hero}'s, with a 95 % interval "
            "over datasets; negative is better",
            ("low", "high"),
        ),
        Column(
            "elo",
            "Elo",
            fixed(0),
            "400 points are odds of ten to one, with a 95 % interval over datasets",
            ("low_elo", "high_elo"),
        ),
        Column("win", "Wins", count, f"Datasets that {hero} wins, {test}"),
        Column("tie", "Ties", count, f"Datasets without a winner, {test}"),
        Column("lose", "Losses", count, f"Datasets that {hero} loses, {test}"),
        Column("n_missing", "No score", count, "Datasets without a score"),
        Column("fit_seconds", "Fit", seconds, "Mean fit time"),
        Column("predict_seconds", "Predict", seconds, "Mean prediction time"),
        Column("peak_bytes", "Memory", size, "Mean peak memory of a fit"),
    ]
    optional = ("n_missing", "fit_seconds", "predict_seconds", "peak_bytes")
    shown = tuple(
        column
        for column in columns
        if column.key not in optional or frame[column.key].fillna(0).any()
    )
    caption = f"All methods, {describe_datasets(analysis)}"
    return Table(f"main-{analysis.group}", caption, frame, shown)


def describe_datasets(analysis: Analysis) -> str:
    """Describe a group and its size: "12 classification datasets"."""
    n = analysis.comparison.n_datasets
    datasets = "dataset" if n == 1 else "datasets"
    group = "" if analysis.group == "all" else f"{analysis.group} "
    return f"{n:,} {group}{datasets}"


def outcome_table(analysis: Analysis) -> Table:
    """Return the shares of wins, ties and losses of the hero (the paper's Table 1)."""
    frame = analysis.outcomes.copy()
    for outcome in ("win", "tie", "lose"):
        frame[f"{outcome}_share"] = frame[outcome] / frame["n"]
    columns = (
        Column("opponent", "Against"),
        Column("win_share", "Win", fixed(2)),
        Column("tie_share", "Tie", fixed(2)),
        Column("lose_share", "Lose", fixed(2)),
        Column("n", "Datasets", count, "Datasets on which both have a score"),
    )
    caption = f"{analysis.hero} against each method, {describe_datasets(analysis)}"
    return Table(f"outcomes-{analysis.group}", caption, frame, columns)


def win_rate_table(analysis: Analysis) -> Table:
    """Return the share of datasets on which the row beats the column."""
    order = list(analysis.ranks["method"])
    frame = analysis.win_rates.reindex(index=order, columns=order)
    frame = frame.rename_axis(index=None, columns=None)
    methods = [Column(method, method, fixed(2)) for method in order]
    frame.insert(0, "Method\u200b", order)  # a name that no method has
    columns = (Column("Method\u200b", "Method"), *methods)
    caption = (
        "Share of datasets on which the row beats the column, "
        f"{describe_datasets(analysis)}"
    )
    return Table(f"winrates-{analysis.group}", caption, frame, columns)


def lost_tables(analysis: Analysis, properties: Properties) -> Table:
    """Return the datasets on which the hero is not the best, largest gap first."""
    hero, scores = analysis.hero, analysis.comparison.scores
    gap = gaps_to_best(scores)
    mean = scores.pivot(index="dataset", columns="method", values="mean")
    known = gap[gap.notna().any(axis=1)]
    winner = known.drop(columns=hero).idxmin(axis=1, skipna=True)
    rows = [
        {
            "dataset": dataset,
            **properties[dataset],
            "ours": mean.at[dataset, hero],
            "rank": analysis.dataset_ranks.at[dataset, hero],
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
        Column("rank", "Rank", fixed(1), f"Rank of {hero} on this dataset"),
        Column("best", "Best"),
        Column("score", "Its score", significant),
        Column("gap", "Gap", percent, "Points of accuracy, or percent of RMSE"),
    )
    keys = [column.key for column in columns]
    frame = pd.DataFrame(rows, columns=keys)
    frame = frame.sort_values(
        "gap", ascending=False, kind="stable", na_position="first"
    )
    caption = f"Where {hero} is not the best, {describe_datasets(analysis)}"
    table = Table(f"lost-on-{analysis.group}", caption, frame, columns)
    return drop_unknown_sizes(table)


def lost_to_table(analysis: Analysis) -> Table:
    """Return the methods that beat the hero, the most frequent first."""
    hero, ranks = analysis.hero, analysis.dataset_ranks
    frame = analysis.outcomes.rename(columns={"opponent": "method"})
    is_best = ranks.eq(ranks.min(axis=1), axis=0)
    hero_not_best = is_best[~is_best[hero]]
    frame = frame.assign(
        ahead=frame["method"].map(lambda name: (ranks[name] < ranks[hero]).sum()),
        best=frame["method"].map(hero_not_best.sum()),
    )
    columns = (
        Column("method", "Method"),
        Column("lose", "Losses", count, f"Significant losses of {hero}, by t-test"),
        Column("ahead", "Ahead on", count, f"Datasets on which it ranks above {hero}"),
        Column("best", "Best instead", count, f"Best of all where {hero} is not"),
    )
    frame = frame.sort_values(["lose", "ahead"], ascending=False, kind="stable")
    caption = f"Methods that beat {hero}, {describe_datasets(analysis)}"
    return Table(f"lost-to-{analysis.group}", caption, frame, columns)


def kind_table(analysis: Analysis, properties: Properties) -> Table:
    """Return the hero's average rank by kind of dataset, and the best method there."""
    known = pd.DataFrame.from_dict(properties, orient="index")
    known = known.loc[analysis.dataset_ranks.index]
    kinds = {task: known["task"] == task for task in GROUPS["all"]}
    for dimension, (low, high) in _SIZES.items():
        value = known[dimension].astype(float)
        kinds[f"under {low:,} {dimension}"] = value < low
        kinds[f"{low:,} to {high:,} {dimension}"] = value.between(low, high)
        kinds[f"over {high:,} {dimension}"] = value > high
    rows = []
    for kind, inside in kinds.items():
        average = analysis.dataset_ranks[inside].mean().sort_values(kind="stable")
        if inside.any():
            ours = average[analysis.hero]
            rows.append((kind, inside.sum(), ours, average.index[0], average.iloc[0]))
    columns = (
        *(Column("kind", "Kind of dataset"), Column("n", "Datasets", count)),
        Column("ours", analysis.hero, fixed(2), "Its average rank"),
        *(Column("best", "Best"), Column("rank", "Its rank", fixed(2))),
    )
    frame = pd.DataFrame(rows, columns=[column.key for column in columns])
    caption = f"Average rank by kind of dataset, {describe_datasets(analysis)}"
    return Table(f"kinds-{analysis.group}", caption, frame, columns)


def metric_table(records: pd.DataFrame, analysis: Analysis) -> Table | None:
    """Return the average ranks by each metric that applies to the group."""
    inside = records[
        records["dataset"].isin(analysis.comparison.scores["dataset"])
        & records["method"].isin(analysis.comparison.methods)
    ]
    frame = analysis.ranks[["method"]]
    metrics = [
        name for name, metric in METRICS.items() if metric.group == analysis.group
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
    caption = f"Average rank by metric, {describe_datasets(analysis)}"
    return Table(f"metrics-{analysis.group}", caption, frame, columns)


def drop_unknown_sizes(table: Table) -> Table:
    """Drop the columns "rows" and "columns" if they are empty."""
    columns = tuple(
        column
        for column in table.columns
        if column.key not in ("rows", "columns")
        or table.frame[column.key].notna().any()
    )
    return Table(table.name, table.caption, table.frame.reset_index(drop=True), columns)
