"""Evidence: what one source says of a study, judged by groups of tables."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import nan
from typing import Any

import pandas as pd

from modernnca.lab.bench.found import StudyRecords
from modernnca.lab.bench.study import Study
from modernnca.lab.bench.study_parts import Published
from modernnca.lab.report.contest import GROUPS, contests, properties, with_tasks
from modernnca.lab.report.judgement import COSTS, Judgement, judge
from modernnca.lab.report.names import key
from modernnca.lab.stats import summarize
from modernnca.lab.stats.intervals import bootstrap_mean
from modernnca.lab.stats.summary import SCORES

SOURCES = {"default": "with default settings", "tuned": "with tuned settings"}
_RATIO = ("value", "low_value", "high_value")
PUBLISHED = "from published scores"


@dataclass(frozen=True)
class Evidence:
    """Scores and costs of the variants of a study, from one source.

    Attributes:
        judgements: by group: "all", "classification", "regression", and the study's
            own groups of tables.
    """

    study: Study
    source: str
    scores: pd.DataFrame
    costs: pd.DataFrame  # dataset, method, then COSTS
    judgements: Mapping[str, Judgement]
    properties: Mapping[str, Mapping[str, Any]]

    @property
    def name(self) -> str:
        """A name for files."""
        return f"{self.study.name}-{self.source.split()[1]}"

    @property
    def baseline(self) -> str:
        """The variant that ratios are over."""
        return self.study.baseline or self.study.labels[0]

    @cached_property
    def standings(self) -> dict[str, pd.DataFrame]:
        """By group: the variants in the paper's order, our rank beside the paper's.

        Columns: method, rank, low, high, paper, value, low_value, high_value (the error
        over the baseline's, less one), n; NaN where nothing is known.
        """
        return {group: self._standing(group) for group in groups_of(self)}

    def _standing(self, group: str) -> pd.DataFrame:
        judgement = self.judgements[group]
        ratios = judgement.improvement.set_index("method")
        printed = published(self.study, group)
        rows = []
        for label in self.study.labels:
            if label not in judgement.each:
                continue
            ranks = judgement.each[label].dropna().to_numpy()
            row = {"method": label, "rank": ranks.mean(), "n": len(ranks)}
            row["low"], row["high"] = bootstrap_mean(ranks)
            row["paper"] = printed.values.get(label, nan) if printed else nan
            if label in ratios.index:
                ratio = ratios.loc[label, ["value", "low", "high"]]
                row |= dict(zip(_RATIO, ratio, strict=True))
            rows.append(row)
        columns = ("method", "rank", "low", "high", "paper", *_RATIO, "n")
        frame = pd.DataFrame(rows, columns=list(columns)).merge(
            judgement.costs, on="method", how="left"
        )
        numbers = [name for name in frame if name != "method"]
        return frame.astype(dict.fromkeys(numbers, float))


def published(
    study: Study, group: str, measure: str = "average rank"
) -> Published | None:
    """What the paper printed of a measure, if it did."""
    return next(
        (
            printed
            for printed in study.published
            if printed.measure == measure and printed.task == group
        ),
        None,
    )


def weigh(study: Study, found: StudyRecords) -> list[Evidence]:
    """Judge what was found: once with default settings, once with tuned ones."""
    same = ["dataset", "method", "settings", "split", "seed"]
    records = with_tasks(found.frame.sort_values(same, ignore_index=True))
    records = records[records["task"] != ""]
    parts = []
    for settings, source in SOURCES.items():
        mine = records[records["settings"] == settings]
        if mine.empty:
            continue
        scores = _purities(mine) if study.kind == "embed" else summarize(mine)
        done = mine[mine["status"] == "done"]
        costs = done.groupby(["dataset", "method"])[list(COSTS)].mean().reset_index()
        known = dict(properties(mine))
        parts.append(_judged(study, source, scores, costs, known))
    return [part for part in parts if part.judgements]


def weigh_published(study: Study, scores: pd.DataFrame) -> list[Evidence]:
    """Judge published scores of the variants, in the way ours are judged."""
    labels = {
        key(variant.alias or variant.label): variant for variant in study.variants
    }
    ours = scores["method"].map(lambda name: labels.get(key(name)))
    scores = scores[ours.notna()]
    scores = scores.assign(method=ours[ours.notna()].map(lambda each: each.label))
    if scores.empty:
        return []
    costs = pd.DataFrame(columns=["dataset", "method", *COSTS])
    known = dict(properties(scores))
    return [_judged(study, PUBLISHED, scores, costs, known)]


def _judged(
    study: Study, source: str, scores: pd.DataFrame, costs: pd.DataFrame, known: Any
) -> Evidence:
    hero = study.baseline or study.labels[0]
    parts = {contest.group: contest for contest in contests(scores)}
    if len(parts) == 1:  # tables of one kind are all tables
        parts = {"all": next(iter(parts.values())), **parts}
    for group in study.groups:
        inside = scores[scores["dataset"].isin(group.datasets)]
        if len(inside):
            parts[group.name] = contests(inside)[0]
    judgements = {
        name: judge(contest, hero, costs)
        for name, contest in parts.items()
        if contest.scores["mean"].notna().any() and len(contest.methods) > 1
    }
    return Evidence(study, source, scores, costs, judgements, known)


def _purities(records: pd.DataFrame) -> pd.DataFrame:
    """The purity of each space on each table, as a frame of scores."""
    keys = ["dataset", "task", "method"]
    good = records["status"] == "done"
    purity = records.assign(purity=records["purity"].where(good).astype(float))
    each = purity.groupby(keys)["purity"]
    table = each.agg(mean="mean", n="count").assign(std=each.std(ddof=0)).reset_index()
    return table.assign(higher=True)[list(SCORES)]


def groups_of(evidence: Evidence) -> list[str]:
    """The groups that tables and figures show: those of the paper, or all."""
    whole = ["all"] if published(evidence.study, "all") else []
    kinds = (*whole, "classification", "regression")
    shown = [group for group in kinds if group in evidence.judgements]
    return shown or [group for group in GROUPS if group in evidence.judgements]
