"""Findings: every claim of a study, the verdict on it, and the words that say why."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from modernnca.lab.bench.study import Study
from modernnca.lab.bench.study_parts import GROUPS, Claim
from modernnca.lab.report.headline import listed
from modernnca.lab.report.study_evidence import Evidence
from modernnca.lab.report.verdicts import FEWEST, KINDS, NO_GAP, OPEN, Gap

NOWHERE = "nowhere yet"


@dataclass(frozen=True)
class Finding:
    """A claim, the verdict on it, and the words and numbers behind the verdict."""

    study: Study
    claim: Claim
    source: str
    verdict: str
    words: str
    gap: Gap

    @property
    def measured(self) -> str:
        """The difference and its interval, to be read at a glance."""
        if not self.gap.n:
            return ""
        show, unit = _UNITS.get(self.claim.kind, (_signed, "ranks"))
        ends = (self.gap.value, self.gap.low, self.gap.high)
        value, low, high = map(show, ends)
        return f"{value} [{low}, {high}] {unit}"


def check(evidence: Evidence) -> list[Finding]:
    """Ask the evidence about every claim of its study."""
    return [_check(evidence, claim) for claim in evidence.study.claims]


def unchecked(study: Study) -> list[Finding]:
    """The claims of a study without any evidence."""
    words, gap = "There are no records yet.", NO_GAP
    return [Finding(study, claim, NOWHERE, OPEN, words, gap) for claim in study.claims]


def _check(evidence: Evidence, claim: Claim) -> Finding:
    judgement = evidence.judgements.get(claim.group or claim.task)
    lacking = [
        label
        for label in _needed(evidence.study, claim)
        if (judgement is None or label not in judgement.each)
    ]
    if judgement is None or lacking:
        what = listed(lacking) or claim.left
        where = f"{claim.group or claim.task} tables"
        words = f"There are no scores of {what} to compare on {where}."
        return Finding(evidence.study, claim, evidence.source, OPEN, words, NO_GAP)
    verdict, words, gap = KINDS[claim.kind](evidence, judgement, claim)
    if 0 < gap.n < FEWEST:
        words += f" So few tables cannot say it; {FEWEST} are asked for."
    return Finding(evidence.study, claim, evidence.source, verdict, words, gap)


def _needed(study: Study, claim: Claim) -> list[str]:
    """The variants that must have scores: the best is the best of all."""
    if claim.kind != "best":
        return [claim.left, claim.right]
    tasks = GROUPS if claim.task == "all" else (claim.task,)
    return [each.label for each in study.variants if set(tasks) <= set(each.tasks)]


def _signed(value: float) -> str:
    return f"{value:+.2f}".replace("-", "\u2212")


_UNITS = {
    "faster": (lambda value: f"{np.exp(value):.2f}", "times as long"),
    "purer": (_signed, "impurity"),
}


def finding_frame(findings: list[Finding]) -> pd.DataFrame:
    """One row for each finding, to be read."""
    rows = [
        {
            "study": finding.study.title,
            "says": finding.claim.says,
            "verdict": finding.verdict,
            "measured": finding.measured,
            "words": finding.words,
            "source": finding.source,
            "n": finding.gap.n,
        }
        for finding in findings
    ]
    columns = ["study", "says", "verdict", "measured", "words", "source", "n"]
    return pd.DataFrame(rows, columns=columns)
