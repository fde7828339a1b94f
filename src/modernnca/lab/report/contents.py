"""All that a report holds: words, tables and figures, before they become a page."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from modernnca.lab.report import headline, runs, score_tables
from modernnca.lab.report.bubbles import bubble_chart
from modernnca.lab.report.contest import (
    contests,
    labeled,
    missing_in_words,
    properties,
    with_tasks,
)
from modernnca.lab.report.critical import critical_difference
from modernnca.lab.report.figures import Figure
from modernnca.lab.report.formats import Table, fixed, percent
from modernnca.lab.report.grids import gaps, heat_map, win_matrix
from modernnca.lab.report.interval_plots import interval_plot
from modernnca.lab.report.judgement import COSTS, Judgement, bubbles, judge
from modernnca.lab.report.names import find, spell
from modernnca.lab.report.outcomes import outcome_bars
from modernnca.lab.report.score_tables import Properties, metric_table
from modernnca.lab.stats import losses, summarize


@dataclass(frozen=True)
class Part:
    """What is said of one group: tables and figures by their role."""

    judgement: Judgement
    tables: dict[str, Table]
    figures: dict[str, Figure]


@dataclass(frozen=True)
class Contents:
    """What is said in all."""

    title: str
    hero: str
    words: list[str]
    progress: list[str]
    notes: list[str]
    parts: list[Part]
    scores: pd.DataFrame
    properties: Properties
    tables: dict[str, Table]  # those that do not belong to one group
    figures: dict[str, Figure]
    facts: Mapping[str, Any] = field(default_factory=dict)

    def all_tables(self) -> list[Table]:
        """Every table, to be written to a file."""
        parts = [table for part in self.parts for table in part.tables.values()]
        return [*parts, *self.tables.values()]

    def all_figures(self) -> list[Figure]:
        """Every figure, to be written to a file."""
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
    """Judge records, or scores where there are no records, and gather what is found."""
    costs = judged = None
    sizes = scores
    if scores is not None:
        scores = scores.assign(method=scores["method"].map(spell(scores["method"])))
    elif records is not None and len(records):
        # In one order, since sums depend on it in their last digits.
        same = ["dataset", "method", "settings", "split", "seed"]
        records = with_tasks(records.sort_values(same, ignore_index=True))
        judged = labeled(records[records["task"] != ""])
        sizes, scores = judged, summarize(judged)
        done = judged[judged["status"] == "done"].reindex(
            columns=["dataset", "method", *COSTS]
        )
        costs = done.groupby(["dataset", "method"])[list(COSTS)].mean().reset_index()
    if scores is None or scores.empty:
        scores = pd.DataFrame(columns=["dataset", "task", "method", "mean", "higher"])
    else:
        losses(scores)  # says so if the frame will not do
    known = {} if sizes is None or sizes.empty else dict(properties(sizes))
    groups = contests(scores)
    parts = [
        _part(judge(contest, find(hero, contest.methods), costs), judged, known)
        for contest in groups
        if contest.scores["mean"].notna().any()
    ]
    star = parts[0].judgement.hero if parts else hero
    whole: dict[str, Table | None] = {}
    figures = {}
    notes = []
    if scores["mean"].notna().any():
        whole["scores"] = runs.score_table(scores)
        gap = gaps(scores)
        figures["heatmap"] = heat_map(gap[column_order(scores, parts)], hero=star)
        notes = [*filter(None, [missing_in_words(scores)])]
        notes += [
            f"There is no comparison over {contest.group} tables. {word}"
            for contest in groups
            if not contest.scores["mean"].notna().any()
            for word in contest.words
        ]
    if records is not None and len(records):
        whole["tuned"] = runs.tuned_table(records, known)
        whole["failures"] = runs.failure_table(labeled(records))
        if published is not None:
            whole["published"] = runs.published_table(records, published)
    if checks is not None and len(checks):
        whole["checks"] = runs.check_table(checks)
    words = headline.sentences(parts[0].judgement) if parts else []
    if parts and find(hero, [star]) is None:
        words.insert(
            0, f"{hero} is not among the methods compared; {star} takes its place."
        )
    return Contents(
        title,
        star,
        words,
        [] if records is None else headline.progress(records, expected),
        notes,
        parts,
        scores,
        known,
        {name: table for name, table in whole.items() if table is not None},
        figures,
        facts or {},
    )


def column_order(scores: pd.DataFrame, parts: list[Part]) -> list[str]:
    """Order methods by rank in the first group that ranks them, then by name."""
    ranked = [name for part in parts for name in part.judgement.ranks["method"]]
    return list(dict.fromkeys([*ranked, *sorted(scores["method"].unique())]))


def _part(
    judgement: Judgement, records: pd.DataFrame | None, known: Properties
) -> Part:
    said = {"main": score_tables.main_table(judgement)}
    drawn: dict[str, Figure] = {}
    if len(judgement.contest.methods) > 1:
        said |= {
            "outcomes": score_tables.outcome_table(judgement),
            "winrates": score_tables.win_rate_table(judgement),
            "lost_to": score_tables.lost_to_table(judgement),
            "lost_on": score_tables.lost_tables(judgement, known),
            "kinds": score_tables.kind_table(judgement, known),
        }
        metrics = None if records is None else metric_table(records, judgement)
        if metrics is not None:
            said["metrics"] = metrics
        drawn = _figures(judgement)
    return Part(judgement, said, drawn)


def _figures(judgement: Judgement) -> dict[str, Figure]:
    about = {"group": judgement.group, "hero": judgement.hero}
    order = list(judgement.ranks["method"])
    rates = judgement.win_rates.reindex(index=order, columns=order)
    drawn = {"winrates": win_matrix(rates, **about)}
    if (judgement.outcomes["n"] > 0).any():
        drawn["outcomes"] = outcome_bars(judgement.outcomes, **about)
    if judgement.pairwise is not None:
        drawn["critical"] = critical_difference(
            judgement.ranks, judgement.cliques, **about
        )
    times = bubbles(judgement)
    if len(times) > 1:
        drawn["bubbles"] = bubble_chart(times, **about)
    elo = judgement.elo.rename(columns={"elo": "value"})
    drawn["elo"] = interval_plot(
        elo,
        name=f"elo-{judgement.group}",
        alt=f"Elo ratings with 95 % intervals, {judgement.group}.",
        label="Elo",
        show=fixed(0),
        hero=judgement.hero,
    )
    others = judgement.improvement[judgement.improvement["method"] != judgement.hero]
    if len(others):
        drawn["improvement"] = interval_plot(
            others.sort_values("value", kind="stable"),
            name=f"improvement-{judgement.group}",
            alt=f"Error over that of {judgement.hero}, less one, {judgement.group}.",
            label=f"error over that of {judgement.hero}, less one (left: better)",
            show=percent,
            hero=judgement.hero,
            tick=lambda share: f"{100 * share:+.0f} %",
            zero=0.0,
        )
    return drawn
