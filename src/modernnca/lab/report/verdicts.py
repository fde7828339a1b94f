"""Verdicts on claims, derived from confidence intervals.

With fewer than six datasets, every verdict is "undecided": even full agreement could be
chance (a sign test at 5 % needs six).
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from math import nan
from typing import NamedTuple

import numpy as np

from modernnca.lab.bench.study_parts import Claim
from modernnca.lab.report.analysis import Analysis
from modernnca.lab.report.headline import join_names
from modernnca.lab.report.study_evidence import Evidence
from modernnca.lab.stats import relative_improvement
from modernnca.lab.stats.intervals import bootstrap_mean
from modernnca.lab.stats.power import n_datasets_needed

MIN_DATASETS = 6
MOST_DATASETS = 10_000  # that anyone would ever collect
HOLDS, FAILS, OPEN = "holds", "does not hold", "undecided"
VERDICTS = (HOLDS, FAILS, OPEN)


@dataclass(frozen=True)
class Gap:
    """The mean difference of left and right over n datasets; negative favors left."""

    value: float
    low: float
    high: float
    n: int
    spread: float = field(default=nan, compare=False, repr=False)  # of one dataset

    @classmethod
    def of(cls, differences: np.ndarray) -> "Gap":
        """Return the mean of differences (N,) with its 95 % bootstrap interval.

        >>> Gap.of(np.array([-1.0, -1.0]))
        Gap(value=-1.0, low=-1.0, high=-1.0, n=2)
        """
        if not len(differences):
            return cls(nan, nan, nan, 0)
        low, high = bootstrap_mean(differences)
        n = len(differences)
        spread = float(differences.std(ddof=1)) if n > 1 else nan
        return cls(float(differences.mean()), low, high, n, spread)

    def needed(self, *edges: float) -> float:
        """Return how many datasets it takes to tell the mean from the nearest edge.

        >>> Gap(0.1, -0.5, 0.7, 9, spread=1.0).needed(0.0)
        785
        """
        distance = min((abs(self.value - edge) for edge in edges), default=nan)
        return max(n_datasets_needed(distance, self.spread), MIN_DATASETS)

    def below(self, edge: float = 0.0) -> str:
        """Return the verdict on the claim that the gap is below the edge."""
        if self.n < MIN_DATASETS:
            return OPEN
        return HOLDS if self.high < edge else FAILS if self.low > edge else OPEN

    def within(self, edge: float) -> str:
        """Return the verdict on the claim that the gap is between -edge and edge."""
        if self.n < MIN_DATASETS:
            return OPEN
        if -edge < self.low and self.high < edge:
            return HOLDS
        return FAILS if self.low > edge or self.high < -edge else OPEN


NO_GAP = Gap(nan, nan, nan, 0)


class Verdict(NamedTuple):
    """One of VERDICTS, the reason, the gap it is based on, and the datasets needed."""

    verdict: str
    reason: str
    gap: Gap
    needed: float = nan  # to decide, with a power of 80 %


def rank_gap(analysis: Analysis, left: str, right: str) -> Gap:
    """Return the mean difference of ranks; negative if left is ahead of right."""
    ranks = analysis.dataset_ranks[[left, right]].dropna()
    return Gap.of((ranks[left] - ranks[right]).to_numpy())


def _better(evidence: Evidence, analysis: Analysis, claim: Claim) -> Verdict:
    gap = rank_gap(analysis, claim.left, claim.right)
    reason = _describe_ranks(analysis, claim.left, claim.right, gap)
    return Verdict(gap.below(), reason, gap, gap.needed(0.0))


def _similar(evidence: Evidence, analysis: Analysis, claim: Claim) -> Verdict:
    gap = rank_gap(analysis, claim.left, claim.right)
    reason = _describe_ranks(analysis, claim.left, claim.right, gap)
    criterion = f" Similar means less than {claim.within:g} ranks apart."
    needed = gap.needed(-claim.within, claim.within)
    return Verdict(gap.within(claim.within), reason + criterion, gap, needed)


def _not_better(evidence: Evidence, analysis: Analysis, claim: Claim) -> Verdict:
    gap = rank_gap(analysis, claim.right, claim.left)
    mirrored = Gap(-gap.value, -gap.high, -gap.low, gap.n)
    reason = _describe_ranks(analysis, claim.left, claim.right, mirrored)
    criterion = f" Better means at least {claim.within:g} ranks ahead."
    needed = gap.needed(claim.within)
    return Verdict(gap.below(claim.within), reason + criterion, mirrored, needed)


def _just_behind(evidence: Evidence, analysis: Analysis, claim: Claim) -> Verdict:
    gap = rank_gap(analysis, claim.left, claim.right)
    reason = _describe_ranks(analysis, claim.left, claim.right, gap)
    reason += f" Just behind means behind by less than {claim.within:g} ranks."
    verdict = OPEN
    if gap.n >= MIN_DATASETS:
        if gap.low > 0 and gap.high < claim.within:
            verdict = HOLDS
        elif gap.high < 0 or gap.low > claim.within:
            verdict = FAILS
    return Verdict(verdict, reason, gap, gap.needed(0.0, claim.within))


def _best(evidence: Evidence, analysis: Analysis, claim: Claim) -> Verdict:
    left_out = (claim.left, claim.right)  # right: the one that may be better
    others = [label for label in analysis.dataset_ranks if label not in left_out]
    gaps = {label: rank_gap(analysis, claim.left, label) for label in others}
    verdicts = {label: gap.below() for label, gap in gaps.items()}
    rival = max(gaps, key=lambda label: gaps[label].value)
    reason = _describe_ranks(analysis, claim.left, rival, gaps[rival])
    undecided = [label for label, verdict in verdicts.items() if verdict == OPEN]
    if undecided and gaps[rival].n >= MIN_DATASETS:
        reason += f" Undecided against {join_names(undecided)}."
    if all(verdict == HOLDS for verdict in verdicts.values()):
        return Verdict(HOLDS, reason, gaps[rival])
    verdict = FAILS if FAILS in verdicts.values() else OPEN
    # One rival that is ahead decides; if none is, all of them must be told from it.
    ahead = [gap.needed(0.0) for gap in gaps.values() if gap.value > 0]
    needed = min(ahead) if ahead else max(gap.needed(0.0) for gap in gaps.values())
    return Verdict(verdict, reason, gaps[rival], needed)


def _faster(evidence: Evidence, analysis: Analysis, claim: Claim) -> Verdict:
    seconds = evidence.costs.pivot(
        index="dataset", columns="method", values="fit_seconds"
    )
    datasets = analysis.comparison.scores["dataset"].unique()
    both = seconds.reindex(index=datasets, columns=[claim.left, claim.right])
    both = both.astype(float).dropna()
    gap = Gap.of(np.log(both[claim.left] / both[claim.right]).to_numpy())
    if not gap.n:
        return Verdict(OPEN, "There are no fit times to compare.", gap)
    value, low, high = np.exp([gap.value, gap.low, gap.high])
    reason = (
        f"On {_datasets(gap.n)} fitting {claim.left} takes {value:.2f} times as long "
        f"as fitting {claim.right} (95 % interval: {low:.2f} to {high:.2f})."
    )
    return Verdict(gap.below(), reason, gap, gap.needed(0.0))


def _purer(evidence: Evidence, analysis: Analysis, claim: Claim) -> Verdict:
    purity = analysis.comparison.scores.pivot(
        index="dataset", columns="method", values="mean"
    )
    both = purity[[claim.left, claim.right]].dropna()
    gap = Gap.of((both[claim.right] - both[claim.left]).to_numpy())
    n_purer = int((both[claim.left] > both[claim.right]).sum())
    difference, low, high = (
        f"{end:+.3f}".replace("-", "\u2212")
        for end in (-gap.value, -gap.high, -gap.low)
    )
    reason = (
        f"The purity of {claim.left} differs by {difference} from that of "
        f"{claim.right} (95 % interval: {low} to {high}); it is higher on {n_purer} of "
        f"{_datasets(gap.n)}."
    )
    return Verdict(gap.below(), reason, gap, gap.needed(0.0))


KINDS: dict[str, Callable[[Evidence, Analysis, Claim], Verdict]] = {
    "better": _better,
    "not better": _not_better,
    "similar": _similar,
    "best": _best,
    "best but": _best,
    "just behind": _just_behind,
    "faster": _faster,
    "purer": _purer,
}


def _describe_ranks(analysis: Analysis, left: str, right: str, gap: Gap) -> str:
    position = _ahead_or_behind(gap.value)
    preposition = {"level": " with", "ahead": " of", "behind": ""}
    text = (
        f"On {_datasets(gap.n)} {left} ranks {position}"
        f"{preposition[position.split()[-1]]} {right} (95 % interval: "
        f"{_ahead_or_behind(gap.low)} to {_ahead_or_behind(gap.high)})"
    )
    ratios = relative_improvement(analysis.comparison.scores, left, right)
    rows = ratios[ratios["task_group"] == analysis.comparison.group].to_dict("records")
    if not rows:
        return text + "."
    ratio = rows[0]
    return text + (
        f"; its error is {ratio['ratio']:.3f} times as large ({ratio['low']:.3f} to "
        f"{ratio['high']:.3f})."
    )


def describe_needed(needed: float) -> str:
    """Describe how many datasets would decide a claim, or nothing if unknown.

    >>> describe_needed(141.0)
    'About 141 datasets would decide it.'
    """
    if needed != needed:  # too few datasets to tell their spread
        return ""
    if needed > MOST_DATASETS:
        return (
            f"More than {MOST_DATASETS:,} datasets would be needed to decide it: the "
            "difference is hardly there."
        )
    return f"About {needed:,.0f} datasets would decide it."


def _ahead_or_behind(gap: float) -> str:
    if round(gap, 2) == 0:
        return "level"
    return f"{abs(gap):.2f} {'ahead' if gap < 0 else 'behind'}"


def _datasets(n: int) -> str:
    return f"{n} dataset" if n == 1 else f"{n} datasets"
