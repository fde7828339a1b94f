"""Findings: every claim of a study with its verdict and the reason."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from modernnca.lab.bench.study import Study
from modernnca.lab.bench.study_parts import GROUPS, Claim
from modernnca.lab.report.headline import join_names
from modernnca.lab.report.study_evidence import Evidence
from modernnca.lab.report.verdicts import KINDS, MIN_DATASETS, NO_GAP, OPEN, Gap

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
    reason = "There are no records yet."
    return [
        Finding(study, claim, NO_SOURCE, OPEN, reason, NO_GAP) for claim in study.claims
    ]


def _check(evidence: Evidence, claim: Claim) -> Finding:
    analysis = evidence.analyses.get(claim.group or claim.task)
    missing = [
        label
        for label in _required(evidence.study, claim)
        if (analysis is None or label not in analysis.dataset_ranks)
    ]
    if analysis is None or missing:
        names = join_names(missing) or claim.left
        datasets = f"{claim.group or claim.task} datasets"
        reason = f"There are no scores of {names} to compare on {datasets}."
        return Finding(evidence.study, claim, evidence.source, OPEN, reason, NO_GAP)
    verdict, reason, gap = KINDS[claim.kind](evidence, analysis, claim)
    if 0 < gap.n < MIN_DATASETS:
        reason += f" These are too few datasets; at least {MIN_DATASETS} are needed."
    return Finding(evidence.study, claim, evidence.source, verdict, reason, gap)


def _required(study: Study, claim: Claim) -> list[str]:
    """Return the variants that need scores; for "best", all of them."""
    if claim.kind != "best":
        return [claim.left, claim.right]
    tasks = GROUPS if claim.task == "all" else (claim.task,)
    return [
        variant.label for variant in study.variants if set(tasks) <= set(variant.tasks)
    ]


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
        }
        for finding in findings
    ]
    columns = ["study", "says", "verdict", "measured", "words", "source", "n"]
    return pd.DataFrame(rows, columns=columns)
