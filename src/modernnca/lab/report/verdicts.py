"""Verdicts: what an interval says of a claim, for each kind of claim.

Fewer than six tables say nothing: even if all agree, that is not rare enough by chance
(a sign test at 5 % needs six).
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import nan
from typing import NamedTuple

import numpy as np

from modernnca.lab.bench.study_parts import Claim
from modernnca.lab.report.headline import listed
from modernnca.lab.report.judgement import Judgement
from modernnca.lab.report.study_evidence import Evidence
from modernnca.lab.stats import relative_improvement
from modernnca.lab.stats.intervals import bootstrap_mean

FEWEST = 6
HOLDS, FAILS, OPEN = "holds", "does not hold", "cannot be said"
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


NO_GAP = Gap(nan, nan, nan, 0)


class Verdict(NamedTuple):
    """One of VERDICTS, why, and the gap that says so."""

    verdict: str
    words: str
    gap: Gap


def rank_gap(judgement: Judgement, left: str, right: str) -> Gap:
    """How many ranks left is before (below zero) or behind right, on average."""
    each = judgement.each[[left, right]].dropna()
    return Gap.of((each[left] - each[right]).to_numpy())


def _better(evidence: Evidence, judgement: Judgement, claim: Claim) -> Verdict:
    gap = rank_gap(judgement, claim.left, claim.right)
    return Verdict(
        gap.below(), _rank_words(judgement, claim.left, claim.right, gap), gap
    )


def _similar(evidence: Evidence, judgement: Judgement, claim: Claim) -> Verdict:
    gap = rank_gap(judgement, claim.left, claim.right)
    words = _rank_words(judgement, claim.left, claim.right, gap)
    asked = f" Similar means less than {claim.within:g} ranks apart."
    return Verdict(gap.within(claim.within), words + asked, gap)


def _not_better(evidence: Evidence, judgement: Judgement, claim: Claim) -> Verdict:
    gap = rank_gap(judgement, claim.right, claim.left)
    mirrored = Gap(-gap.value, -gap.high, -gap.low, gap.n)
    words = _rank_words(judgement, claim.left, claim.right, mirrored)
    asked = f" Better means at least {claim.within:g} ranks before."
    return Verdict(gap.below(claim.within), words + asked, mirrored)


def _best(evidence: Evidence, judgement: Judgement, claim: Claim) -> Verdict:
    others = [label for label in judgement.each if label != claim.left]
    gaps = {label: rank_gap(judgement, claim.left, label) for label in others}
    verdicts = {label: gap.below() for label, gap in gaps.items()}
    rival = max(gaps, key=lambda label: gaps[label].value)
    words = _rank_words(judgement, claim.left, rival, gaps[rival])
    alike = [label for label, verdict in verdicts.items() if verdict == OPEN]
    if alike and gaps[rival].n >= FEWEST:
        words += f" Not told apart from {listed(alike)}."
    if all(verdict == HOLDS for verdict in verdicts.values()):
        return Verdict(HOLDS, words, gaps[rival])
    word = FAILS if FAILS in verdicts.values() else OPEN
    return Verdict(word, words, gaps[rival])


def _faster(evidence: Evidence, judgement: Judgement, claim: Claim) -> Verdict:
    seconds = evidence.costs.pivot(
        index="dataset", columns="method", values="fit_seconds"
    )
    tables = judgement.contest.scores["dataset"].unique()
    both = seconds.reindex(index=tables, columns=[claim.left, claim.right])
    both = both.astype(float).dropna()
    gap = Gap.of(np.log(both[claim.left] / both[claim.right]).to_numpy())
    if not gap.n:
        return Verdict(OPEN, "There are no times to compare.", gap)
    value, low, high = np.exp([gap.value, gap.low, gap.high])
    words = (
        f"On {_tables(gap.n)} a fit of {claim.left} takes {value:.2f} times as long as "
        f"one of {claim.right} (95 % interval: {low:.2f} to {high:.2f})."
    )
    return Verdict(gap.below(), words, gap)


def _purer(evidence: Evidence, judgement: Judgement, claim: Claim) -> Verdict:
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
    return Verdict(gap.below(), words, gap)


KINDS: dict[str, Callable[[Evidence, Judgement, Claim], Verdict]] = {
    "better": _better,
    "not better": _not_better,
    "similar": _similar,
    "best": _best,
    "faster": _faster,
    "purer": _purer,
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
