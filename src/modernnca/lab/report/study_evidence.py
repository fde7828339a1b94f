"""Evidence for a study: its scores from one source, analyzed by groups of datasets."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import nan
from typing import Any

import pandas as pd

from modernnca.lab.bench.found import StudyRecords
from modernnca.lab.bench.study import Study
from modernnca.lab.bench.study_parts import Published
from modernnca.lab.report.analysis import COSTS, Analysis, analyze
from modernnca.lab.report.comparison import (
    GROUPS,
    comparisons,
    dataset_properties,
    fill_tasks,
)
from modernnca.lab.report.method_names import normalize
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
        analyses: by group: "all", "classification", "regression", and the study's own
            groups of datasets.
    """

    study: Study
    source: str
    scores: pd.DataFrame
    costs: pd.DataFrame  # dataset, method, then COSTS
    analyses: Mapping[str, Analysis]
    properties: Mapping[str, Mapping[str, Any]]

    @property
    def name(self) -> str:
        """A name for files."""
        return f"{self.study.name}-{self.source.split()[1]}"

    @property
    def baseline(self) -> str:
        """The denominator of ratios."""
        return self.study.baseline or self.study.labels[0]

    @cached_property
    def standings(self) -> dict[str, pd.DataFrame]:
        """The variants with our ranks and the paper's, in its order, by group.

        Columns: method, rank, low, high, paper, value, low_value, high_value (the error
        relative to the baseline, minus 1), n; NaN where unknown.
        """
        return {group: self._standing(group) for group in shown_groups(self)}

    def _standing(self, group: str) -> pd.DataFrame:
        analysis = self.analyses[group]
        ratios = analysis.improvement.set_index("method")
        printed = printed_values(self.study, group)
        rows = []
        for label in self.study.labels:
            if label not in analysis.dataset_ranks:
                continue
            ranks = analysis.dataset_ranks[label].dropna().to_numpy()
            row = {"method": label, "rank": ranks.mean(), "n": len(ranks)}
            row["low"], row["high"] = bootstrap_mean(ranks)
            row["paper"] = printed.values.get(label, nan) if printed else nan
            if label in ratios.index:
                ratio = ratios.loc[label, ["value", "low", "high"]]
                row |= dict(zip(_RATIO, ratio, strict=True))
            rows.append(row)
        columns = ("method", "rank", "low", "high", "paper", *_RATIO, "n")
        frame = pd.DataFrame(rows, columns=list(columns)).merge(
            analysis.costs, on="method", how="left"
        )
        numeric = [name for name in frame if name != "method"]
        return frame.astype(dict.fromkeys(numeric, float))


def printed_values(
    study: Study, group: str, measure: str = "average rank"
) -> Published | None:
    """Return the paper's printed values of a measure, or None."""
    return next(
        (
            printed
            for printed in study.published
            if printed.measure == measure and printed.task == group
        ),
        None,
    )


def gather_evidence(study: Study, records: StudyRecords) -> list[Evidence]:
    """Analyze the records with default settings and those with tuned settings."""
    keys = ["dataset", "method", "settings", "split", "seed"]
    frame = fill_tasks(records.frame.sort_values(keys, ignore_index=True))
    frame = frame[frame["task"] != ""]
    sources = []
    for settings, source in SOURCES.items():
        rows = frame[frame["settings"] == settings]
        if rows.empty:
            continue
        scores = _purities(rows) if study.kind == "embed" else summarize(rows)
        done = rows[rows["status"] == "done"]
        costs = done.groupby(["dataset", "method"])[list(COSTS)].mean().reset_index()
        properties = dict(dataset_properties(rows))
        sources.append(_analyzed(study, source, scores, costs, properties))
    return [evidence for evidence in sources if evidence.analyses]


def published_evidence(study: Study, scores: pd.DataFrame) -> list[Evidence]:
    """Analyze published scores of the variants in the same way as ours."""
    labels = {
        normalize(variant.alias or variant.label): variant.label
        for variant in study.variants
    }
    label = scores["method"].map(lambda name: labels.get(normalize(name)))
    scores = scores.assign(method=label)[label.notna()]
    if scores.empty:
        return []
    costs = pd.DataFrame(columns=["dataset", "method", *COSTS])
    properties = dict(dataset_properties(scores))
    return [_analyzed(study, PUBLISHED, scores, costs, properties)]


def _analyzed(
    study: Study,
    source: str,
    scores: pd.DataFrame,
    costs: pd.DataFrame,
    properties: Mapping[str, Mapping[str, Any]],
) -> Evidence:
    hero = study.baseline or study.labels[0]
    parts = {comparison.group: comparison for comparison in comparisons(scores)}
    if len(parts) == 1:  # a single task group is also "all"
        parts = {"all": next(iter(parts.values())), **parts}
    for group in study.groups:
        rows = scores[scores["dataset"].isin(group.datasets)]
        if len(rows):
            parts[group.name] = comparisons(rows)[0]
    analyses = {
        name: analyze(comparison, hero, costs)
        for name, comparison in parts.items()
        if comparison.scores["mean"].notna().any() and len(comparison.methods) > 1
    }
    return Evidence(study, source, scores, costs, analyses, properties)


def _purities(records: pd.DataFrame) -> pd.DataFrame:
    """Return the purity of each embedding on each dataset, as a scores frame."""
    keys = ["dataset", "task", "method"]
    done = records["status"] == "done"
    purity = records.assign(purity=records["purity"].where(done).astype(float))
    grouped = purity.groupby(keys)["purity"]
    table = grouped.agg(mean="mean", n="count").assign(std=grouped.std(ddof=0))
    return table.reset_index().assign(higher=True)[list(SCORES)]


def shown_groups(evidence: Evidence) -> list[str]:
    """Return the groups to show in tables and figures: those of the paper, or all."""
    total = ["all"] if printed_values(evidence.study, "all") else []
    groups = (*total, "classification", "regression")
    shown = [group for group in groups if group in evidence.analyses]
    return shown or [group for group in GROUPS if group in evidence.analyses]
