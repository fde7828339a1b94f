"""The contents of a report: text, tables and figures, before they are rendered."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from modernnca.lab.report import headline, run_tables, score_tables
from modernnca.lab.report.analysis import COSTS, Analysis, analyze, ranks_and_costs
from modernnca.lab.report.bubbles import bubble_chart
from modernnca.lab.report.comparison import (
    comparisons,
    dataset_properties,
    describe_missing,
    fill_tasks,
    label_methods,
)
from modernnca.lab.report.critical_difference import critical_difference
from modernnca.lab.report.figures import Figure
from modernnca.lab.report.formats import Table, fixed, percent
from modernnca.lab.report.heat_maps import gaps_to_best, heat_map, win_matrix
from modernnca.lab.report.interval_plots import interval_plot
from modernnca.lab.report.method_names import display_names, match_method
from modernnca.lab.report.outcomes import outcome_bars
from modernnca.lab.report.score_tables import Properties, metric_table
from modernnca.lab.stats import losses, summarize


@dataclass(frozen=True)
class Part:
    """The report of one group: tables and figures by their role."""

    analysis: Analysis
    tables: dict[str, Table]
    figures: dict[str, Figure]


@dataclass(frozen=True)
class Contents:
    """The whole report."""

    title: str
    hero: str
    headline: list[str]
    progress: list[str]
    notes: list[str]
    parts: list[Part]
    scores: pd.DataFrame
    properties: Properties
    tables: dict[str, Table]  # those that belong to no group
    figures: dict[str, Figure]
    facts: Mapping[str, Any] = field(default_factory=dict)

    def all_tables(self) -> list[Table]:
        """Return every table, to be written to a file."""
        parts = [table for part in self.parts for table in part.tables.values()]
        return [*parts, *self.tables.values()]

    def all_figures(self) -> list[Figure]:
        """Return every figure, to be written to a file."""
        parts = [figure for part in self.parts for figure in part.figures.values()]
        return [*parts, *self.figures.values()]


def gather(
    records: pd.DataFrame | None,
    scores: pd.DataFrame | None = None,
    *,
    title: str,
    hero: str,
    published: pd.DataFrame | None = None,
    checks: pd.DataFrame | None = None,
    facts: Mapping[str, Any] | None = None,
    expected: int | None = None,
) -> Contents:
    """Analyze records, or scores if there are no records, and gather the contents."""
    costs = labeled = None
    sizes = scores
    if scores is not None:
        names = display_names(scores["method"])
        scores = scores.assign(method=scores["method"].map(names))
    elif records is not None and len(records):
        # Sorted, because the last digits of sums depend on the order.
        keys = ["dataset", "method", "settings", "split", "seed"]
        records = fill_tasks(records.sort_values(keys, ignore_index=True))
        labeled = label_methods(records[records["task"] != ""])
        sizes, scores = labeled, summarize(labeled)
        done = labeled[labeled["status"] == "done"].reindex(
            columns=["dataset", "method", *COSTS]
        )
        costs = done.groupby(["dataset", "method"])[list(COSTS)].mean().reset_index()
    if scores is None or scores.empty:
        scores = pd.DataFrame(columns=["dataset", "task", "method", "mean", "higher"])
    else:
        losses(scores)  # raises if the frame is invalid
    has_sizes = sizes is not None and not sizes.empty
    properties = dict(dataset_properties(sizes)) if has_sizes else {}
    groups = comparisons(scores)
    parts = []
    for comparison in groups:
        if comparison.scores["mean"].notna().any():
            matched = match_method(hero, comparison.methods)
            parts.append(
                _part(analyze(comparison, matched, costs), labeled, properties)
            )
    shown_hero = parts[0].analysis.hero if parts else hero
    tables: dict[str, Table | None] = {}
    figures = {}
    notes = []
    if scores["mean"].notna().any():
        tables["scores"] = run_tables.score_table(scores)
        gap = gaps_to_best(scores)
        figures["heatmap"] = heat_map(gap[column_order(scores, parts)], hero=shown_hero)
        notes = [*filter(None, [describe_missing(scores)])]
        notes += [
            f"There is no comparison over {comparison.group} datasets. {note}"
            for comparison in groups
            if not comparison.scores["mean"].notna().any()
            for note in comparison.notes
        ]
    if records is not None and len(records):
        tables["tuned"] = run_tables.tuned_table(records, properties)
        tables["failures"] = run_tables.failure_table(label_methods(records))
        if published is not None:
            tables["published"] = run_tables.published_table(records, published)
    if checks is not None and len(checks):
        tables["checks"] = run_tables.check_table(checks)
    sentences = headline.sentences(parts[0].analysis) if parts else []
    if parts and match_method(hero, [shown_hero]) is None:
        sentences.insert(
            0,
            f"{hero} is not among the compared methods; {shown_hero} is highlighted "
            "instead.",
        )
    return Contents(
        title,
        shown_hero,
        sentences,
        [] if records is None else headline.progress(records, expected),
        notes,
        parts,
        scores,
        properties,
        {name: table for name, table in tables.items() if table is not None},
        figures,
        facts or {},
    )


def column_order(scores: pd.DataFrame, parts: list[Part]) -> list[str]:
    """Return the methods by rank in the first group that ranks them, then by name."""
    ranked = [name for part in parts for name in part.analysis.ranks["method"]]
    return list(dict.fromkeys([*ranked, *sorted(scores["method"].unique())]))


def _part(
    analysis: Analysis, records: pd.DataFrame | None, properties: Properties
) -> Part:
    tables = {"main": score_tables.main_table(analysis)}
    figures: dict[str, Figure] = {}
    if len(analysis.comparison.methods) > 1:
        tables |= {
            "outcomes": score_tables.outcome_table(analysis),
            "winrates": score_tables.win_rate_table(analysis),
            "lost_to": score_tables.lost_to_table(analysis),
            "lost_on": score_tables.lost_tables(analysis, properties),
            "kinds": score_tables.kind_table(analysis, properties),
        }
        metrics = None if records is None else metric_table(records, analysis)
        if metrics is not None:
            tables["metrics"] = metrics
        figures = _figures(analysis)
    return Part(analysis, tables, figures)


def _figures(analysis: Analysis) -> dict[str, Figure]:
    options = {"group": analysis.group, "hero": analysis.hero}
    order = list(analysis.ranks["method"])
    rates = analysis.win_rates.reindex(index=order, columns=order)
    figures = {"winrates": win_matrix(rates, **options)}
    if (analysis.outcomes["n"] > 0).any():
        figures["outcomes"] = outcome_bars(analysis.outcomes, **options)
    if analysis.pairwise is not None:
        figures["critical"] = critical_difference(
            analysis.ranks, analysis.cliques, **options
        )
    costs = ranks_and_costs(analysis)
    if len(costs) > 1:
        figures["bubbles"] = bubble_chart(costs, **options)
    elo = analysis.elo.rename(columns={"elo": "value"})
    figures["elo"] = interval_plot(
        elo,
        name=f"elo-{analysis.group}",
        alt=f"Elo ratings with 95 % intervals, {analysis.group}.",
        label="Elo",
        show=fixed(0),
        hero=analysis.hero,
    )
    others = analysis.improvement[analysis.improvement["method"] != analysis.hero]
    if len(others):
        figures["improvement"] = interval_plot(
            others.sort_values("value", kind="stable"),
            name=f"improvement-{analysis.group}",
            alt=f"Error relative to {analysis.hero}, {analysis.group}.",
            label=f"error relative to {analysis.hero} (left: better)",
            show=percent,
            hero=analysis.hero,
            tick=lambda share: f"{100 * share:+.0f} %",
            zero=0.0,
        )
    return figures
