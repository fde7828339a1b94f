"""Findings: every claim of a study with its verdict and the reason."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import isfinite, nan

import numpy as np
import pandas as pd

from modernnca.lab.bench.study import Study
from modernnca.lab.bench.study_parts import GROUPS, Claim
from modernnca.lab.report.headline import join_names
from modernnca.lab.report.study_evidence import PUBLISHED, SOURCES, Evidence
from modernnca.lab.report.verdicts import (
    FAILS,
    HOLDS,
    KINDS,
    MIN_DATASETS,
    NO_GAP,
    OPEN,
    Gap,
    describe_needed,
)

NO_SOURCE = "no records yet"


@dataclass(frozen=True)
class Finding:
    """A claim, the verdict on it, and the reason and measurement behind it."""

    study: Study
    claim: Claim
    source: str
    verdict: str
    reason: str
    gap: Gap
    needed: float = nan  # datasets to decide it with a power of 80 %, if undecided

    @property
    def measured(self) -> str:
        """The difference with its interval, in short."""
        if not self.gap.n:
            return ""
        show, unit = _UNITS.get(self.claim.kind, (_signed, "ranks"))
        value, low, high = map(show, (self.gap.value, self.gap.low, self.gap.high))
        return f"{value} [{low}, {high}] {unit}"


def check(evidence: Evidence) -> list[Finding]:
    """Test every claim of a study on the evidence."""
    return [_check(evidence, claim) for claim in evidence.study.claims]


def unchecked(study: Study) -> list[Finding]:
    """Return the claims of a study without any evidence."""
    reason = "Not run: there are no records yet."
    return [
        Finding(study, claim, NO_SOURCE, OPEN, reason, NO_GAP) for claim in study.claims
    ]


def _check(evidence: Evidence, claim: Claim) -> Finding:
    analysis = evidence.analyses.get(claim.group or claim.task)
    missing = [
        label
        for label in _required(evidence, claim)
        if (analysis is None or label not in analysis.dataset_ranks)
    ]
    if analysis is None or missing:
        names = join_names(missing) or claim.left
        datasets = f"{claim.group or claim.task} datasets"
        reason = f"There are no scores of {names} to compare on {datasets}."
        return Finding(evidence.study, claim, evidence.source, OPEN, reason, NO_GAP)
    verdict, reason, gap, needed = KINDS[claim.kind](evidence, analysis, claim)
    if 0 < gap.n < MIN_DATASETS:
        reason += f" These are too few datasets; at least {MIN_DATASETS} are needed."
    enough = gap.n >= MIN_DATASETS  # to tell how much differences vary
    if verdict == OPEN and enough and (words := describe_needed(needed)):
        reason += f" {words}"
    else:
        needed = nan
    return Finding(evidence.study, claim, evidence.source, verdict, reason, gap, needed)


def add_earlier(
    findings: list[Finding], earlier: Mapping[tuple[Claim, str], Finding]
) -> list[Finding]:
    """Tell of claims without scores what earlier records say, which decide nothing.

    Args:
        earlier: findings from the records of an earlier definition of the study, by
            claim and source.
    """
    told = []
    for finding in findings:
        source = "with default settings" if finding.source == NO_SOURCE else ""
        old = earlier.get((finding.claim, source or finding.source))
        if finding.gap.n == 0 and old is not None and old.gap.n:
            words = f"it {_PAST[old.verdict]}"
            reason = (
                f"{finding.reason} To be run again: the definition has changed. Under "
                f"the earlier one {words}. {old.reason}"
            )
            finding = replace(finding, reason=reason)
        told.append(finding)
    return told


_PAST = {HOLDS: "held", FAILS: "did not hold", OPEN: "was undecided"}


def _required(evidence: Evidence, claim: Claim) -> list[str]:
    """Return the variants that need scores; for "best", all that the source can have.

    Not every method has published scores.
    """
    if claim.kind not in ("best", "best but"):
        return [claim.left, claim.right]
    tasks = GROUPS if claim.task == "all" else (claim.task,)
    published = set(evidence.scores["method"]) | {claim.left}
    return [
        variant.label
        for variant in evidence.study.variants
        if set(tasks) <= set(variant.tasks)
        and (evidence.source == PUBLISHED or not variant.only_tuned or _tuned(evidence))
        and (evidence.source != PUBLISHED or variant.label in published)
    ]


def _tuned(evidence: Evidence) -> bool:
    return evidence.source == SOURCES["tuned"]


def _signed(value: float) -> str:
    return f"{value:+.2f}".replace("-", "\u2212")


_UNITS = {
    "faster": (lambda value: f"{np.exp(value):.2f}", "times as long"),
    "purer": (_signed, "impurity"),
}


def finding_frame(findings: list[Finding]) -> pd.DataFrame:
    """Return one row for each finding."""
    rows = [
        {
            "study": finding.study.title,
            "says": finding.claim.says,
            "verdict": finding.verdict,
            "measured": finding.measured,
            "words": finding.reason,
            "source": finding.source,
            "n": finding.gap.n,
            "needed": finding.needed if isfinite(finding.needed) else nan,
        }
        for finding in findings
    ]
    columns = ["study", "says", "verdict", "measured", "words", "source", "n", "needed"]
    return pd.DataFrame(rows, columns=columns)
