"""Findings: does a claim of the paper hold here, and which interval says so.

Fewer than six tables say nothing: even if all agree, that is not rare enough by chance
(a sign test at 5 % needs six).
"""

from dataclasses import dataclass
from itertools import combinations
from math import nan

import numpy as np
import pandas as pd

from modernnca.bench.study import Claim, Study
from modernnca.report.evidence import PUBLISHED, Evidence, published
from modernnca.report.headline import listed
from modernnca.report.judgement import Judgement
from modernnca.stats import relative_improvement
from modernnca.stats.intervals import bootstrap_mean

FEWEST = 6
HOLDS, FAILS, OPEN = "holds", "does not hold", "cannot be said"
NOWHERE = "nowhere yet"
VERDICTS = (HOLDS, FAILS, OPEN)


@dataclass(frozen=True)
class Gap:
    """How far left is from right, below zero in favor of left; N tables."""

    value: float
    low: float
    high: float
    n: int

    @classmethod
    def of(cls, differences: np.ndarray) -> "Gap":
        """The mean of differences (N,) and its 95 % interval over tables drawn anew.

        >>> Gap.of(np.array([-1.0, -1.0]))
        Gap(value=-1.0, low=-1.0, high=-1.0, n=2)
        """
        if not len(differences):
            return cls(nan, nan, nan, 0)
        low, high = bootstrap_mean(differences)
        return cls(float(differences.mean()), low, high, len(differences))

    def below(self, edge: float = 0.0) -> str:
        """Whether the gap is below the edge."""
        if self.n < FEWEST:
            return OPEN
        return HOLDS if self.high < edge else FAILS if self.low > edge else OPEN

    def within(self, edge: float) -> str:
        """Whether the gap is between -edge and edge."""
        if self.n < FEWEST:
            return OPEN
        if -edge < self.low and self.high < edge:
            return HOLDS
        return FAILS if self.low > edge or self.high < -edge else OPEN


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
    words, gap = "There are no records yet.", Gap.of(np.array([]))
    return [Finding(study, claim, NOWHERE, OPEN, words, gap) for claim in study.claims]


def order_in_words(evidence: Evidence, group: str) -> str:
    """The paper's order of variants beside ours, and how far they agree."""
    ours = evidence.judgements[group].ranks.set_index("method")["rank"].to_dict()
    said = f"{'Published' if evidence.source == PUBLISHED else 'Here'}: {_chain(ours)}."
    printed = published(evidence.study, group)
    if printed is None:
        return said
    theirs = {label: rank for label, rank in printed.values.items() if label in ours}
    same, pairs = agreement(theirs, ours)
    alike = f"{same} of {pairs} pairs stand in the paper's order."
    return f"The paper: {_chain(theirs)}. {said} {alike}"


def _chain(ranks: dict[str, float]) -> str:
    """Variants from the best to the worst; equals are joined by "=".

    >>> _chain({"a": 2.0, "b": 1.0, "c": 2.0})
    'b 1.00 < a 2.00 = c 2.00'
    """
    text, last = "", nan
    for label in sorted(ranks, key=ranks.__getitem__):
        sign = "" if not text else " = " if ranks[label] == last else " < "
        text, last = f"{text}{sign}{label} {ranks[label]:.2f}", ranks[label]
    return text


def agreement(theirs: dict[str, float], ours: dict[str, float]) -> tuple[int, int]:
    """How many pairs have the same order in both, and how many there are.

    >>> agreement({"a": 1.0, "b": 2.0, "c": 3.0}, {"a": 1.0, "b": 3.0, "c": 2.0})
    (2, 3)
    """
    pairs = list(combinations(sorted(theirs.keys() & ours.keys()), 2))
    same = [
        np.sign(theirs[left] - theirs[right]) == np.sign(ours[left] - ours[right])
        for left, right in pairs
    ]
    return sum(map(bool, same)), len(pairs)


def _check(evidence: Evidence, claim: Claim) -> Finding:
    judgement = evidence.judgements.get(claim.group or claim.task)
    lacking = [
        label
        for label in (claim.left, claim.right)
        if label and (judgement is None or label not in judgement.each)
    ]
    if judgement is None or lacking:
        what = listed(lacking) or claim.left
        where = f"{claim.group or claim.task} tables"
        words = f"There are no scores of {what} to compare on {where}."
        return Finding(
            evidence.study, claim, evidence.source, OPEN, words, Gap.of(np.array([]))
        )
    verdict, words, gap = _KINDS[claim.kind](evidence, judgement, claim)
    if 0 < gap.n < FEWEST:
        words += f" So few tables cannot say it; {FEWEST} are asked for."
    return Finding(evidence.study, claim, evidence.source, verdict, words, gap)


def rank_gap(judgement: Judgement, left: str, right: str) -> Gap:
    """How many ranks left is before (below zero) or behind right, on average."""
    each = judgement.each[[left, right]].dropna()
    return Gap.of((each[left] - each[right]).to_numpy())


def _better(
    evidence: Evidence, judgement: Judgement, claim: Claim
) -> tuple[str, str, Gap]:
    gap = rank_gap(judgement, claim.left, claim.right)
    return gap.below(), _rank_words(judgement, claim.left, claim.right, gap), gap


def _similar(
    evidence: Evidence, judgement: Judgement, claim: Claim
) -> tuple[str, str, Gap]:
    gap = rank_gap(judgement, claim.left, claim.right)
    words = _rank_words(judgement, claim.left, claim.right, gap)
    asked = f" Similar means less than {claim.within:g} ranks apart."
    return gap.within(claim.within), words + asked, gap


def _best(
    evidence: Evidence, judgement: Judgement, claim: Claim
) -> tuple[str, str, Gap]:
    others = [label for label in judgement.each if label != claim.left]
    gaps = {label: rank_gap(judgement, claim.left, label) for label in others}
    verdicts = {label: gap.below() for label, gap in gaps.items()}
    rival = max(gaps, key=lambda label: gaps[label].value)
    words = _rank_words(judgement, claim.left, rival, gaps[rival])
    alike = [label for label, verdict in verdicts.items() if verdict == OPEN]
    if alike and gaps[rival].n >= FEWEST:
        words += f" Not told apart from {listed(alike)}."
    if all(verdict == HOLDS for verdict in verdicts.values()):
        return HOLDS, words, gaps[rival]
    return FAILS if FAILS in verdicts.values() else OPEN, words, gaps[rival]


def _faster(
    evidence: Evidence, judgement: Judgement, claim: Claim
) -> tuple[str, str, Gap]:
    seconds = evidence.costs.pivot(
        index="dataset", columns="method", values="fit_seconds"
    )
    tables = judgement.contest.scores["dataset"].unique()
    both = seconds.reindex(index=tables, columns=[claim.left, claim.right])
    both = both.astype(float).dropna()
    gap = Gap.of(np.log(both[claim.left] / both[claim.right]).to_numpy())
    if not gap.n:
        return OPEN, "There are no times to compare.", gap
    value, low, high = np.exp([gap.value, gap.low, gap.high])
    words = (
        f"On {_tables(gap.n)} a fit of {claim.left} takes {value:.2f} times as long as "
        f"one of {claim.right} (95 % interval: {low:.2f} to {high:.2f})."
    )
    return gap.below(), words, gap


def _purer(
    evidence: Evidence, judgement: Judgement, claim: Claim
) -> tuple[str, str, Gap]:
    purity = judgement.contest.scores.pivot(
        index="dataset", columns="method", values="mean"
    )
    both = purity[[claim.left, claim.right]].dropna()
    gap = Gap.of((both[claim.right] - both[claim.left]).to_numpy())
    purer = int((both[claim.left] > both[claim.right]).sum())
    more, low, high = (
        f"{end:+.3f}".replace("-", "\u2212")
        for end in (-gap.value, -gap.high, -gap.low)
    )
    words = (
        f"The purity of {claim.left} is {more} beside that of {claim.right} (95 % "
        f"interval: {low} to {high}); it is purer on {purer} of {_tables(gap.n)}."
    )
    return gap.below(), words, gap


_KINDS = {
    "better": _better,
    "similar": _similar,
    "best": _best,
    "faster": _faster,
    "purer": _purer,
}


def _signed(value: float) -> str:
    return f"{value:+.2f}".replace("-", "\u2212")


_UNITS = {
    "faster": (lambda value: f"{np.exp(value):.2f}", "times as long"),
    "purer": (_signed, "impurity"),
}


def _rank_words(judgement: Judgement, left: str, right: str, gap: Gap) -> str:
    words = (
        f"On {_tables(gap.n)} {left} ranks {_places(gap.value, ' with')} {right} (95 % "
        f"interval: {_places(gap.low)} to {_places(gap.high)})"
    )
    ratios = relative_improvement(judgement.contest.scores, left, right)
    found = ratios[ratios["task_group"] == judgement.contest.group].to_dict("records")
    if not found:
        return words + "."
    ratio = found[0]
    return words + (
        f"; its error is {ratio['ratio']:.3f} times as large ({ratio['low']:.3f} to "
        f"{ratio['high']:.3f})."
    )


def _places(gap: float, whom: str = "") -> str:
    if round(gap, 2) == 0:
        return f"level{whom}"
    return f"{abs(gap):.2f} {'before' if gap < 0 else 'behind'}"


def _tables(n: int) -> str:
    return f"{n} table" if n == 1 else f"{n} tables"


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
