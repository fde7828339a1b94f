"""The statistics of a comparison, computed once for tables, figures and text."""

from dataclasses import dataclass
from functools import cached_property
from math import nan

import pandas as pd

from modernnca.lab.report.comparison import Comparison
from modernnca.lab.stats import (
    Friedman,
    average_ranks,
    cliques,
    elo,
    friedman,
    nemenyi_distance,
    pareto_front,
    rank_each,
    relative_improvement,
    wilcoxon_holm,
    win_rates,
    win_tie_lose,
)

ALPHA = 0.05
COSTS = ("fit_seconds", "predict_seconds", "peak_bytes", "model_bytes")


@dataclass(frozen=True)
class Analysis:
    """A comparison, its highlighted method (hero), and its statistics on demand.

    Frames are those of `modernnca.lab.stats`. Statistics that need more methods or
    datasets are None.
    """

    comparison: Comparison
    hero: str
    ranks: pd.DataFrame  # method, rank, n_datasets, n_missing
    dataset_ranks: pd.DataFrame  # datasets x methods: the rank on each dataset
    costs: pd.DataFrame  # method, then means of COSTS

    @property
    def group(self) -> str:
        """The name of the group."""
        return self.comparison.group

    @cached_property
    def improvement(self) -> pd.DataFrame:
        """Relative error of each method to the hero's: method, value, low, high."""
        return _improvement(self.comparison, self.hero)

    @cached_property
    def elo(self) -> pd.DataFrame:
        """Elo ratings: method, elo, low, high."""
        return elo(self.comparison.scores)

    @cached_property
    def outcomes(self) -> pd.DataFrame:
        """The hero against each method: opponent, win, tie, lose, n."""
        return win_tie_lose(self.comparison.scores, self.hero, alpha=ALPHA)

    @cached_property
    def win_rates(self) -> pd.DataFrame:
        """The share of datasets on which the row's method beats the column's."""
        return win_rates(self.comparison.scores)

    @cached_property
    def friedman(self) -> Friedman | None:
        """Friedman's test whether the methods differ at all."""
        return friedman(self.comparison.scores) if self._several else None

    @cached_property
    def pairwise(self) -> pd.DataFrame | None:
        """Which methods differ: left, right, p_holm, significant."""
        # Relative, because the units of RMSE differ between datasets.
        scores = self.comparison.scores
        return wilcoxon_holm(scores, differences="relative") if self._several else None

    @cached_property
    def cliques(self) -> list[list[str]]:
        """Groups of adjacent ranks without a significant difference."""
        return [] if self.pairwise is None else cliques(self.ranks, self.pairwise)

    @property
    def _several(self) -> bool:
        return len(self.comparison.methods) > 1 and self.comparison.n_datasets > 1

    @property
    def nemenyi(self) -> float:
        """The critical difference of average ranks in Nemenyi's test."""
        n_methods = len(self.comparison.methods)
        return nemenyi_distance(n_methods, self.comparison.n_datasets, alpha=ALPHA)

    def not_different_from(self, method: str) -> list[str]:
        """Return the methods without a significant difference by Wilcoxon's test."""
        if self.pairwise is None:
            return []
        pairs = self.pairwise[~self.pairwise["significant"]]
        left, right = pairs["left"], pairs["right"]
        others = {*right[left == method], *left[right == method]}
        return [name for name in self.ranks["method"] if name in others]


def analyze(
    comparison: Comparison, hero: str | None, costs: pd.DataFrame | None
) -> Analysis:
    """Analyze a comparison; without a hero, highlight the method with the best rank.

    `costs` has one row for each dataset and method, with the columns of COSTS.
    """
    ranks = average_ranks(comparison.scores)
    if hero is None or hero not in comparison.methods:
        hero = str(ranks["method"].iloc[0])
    dataset_ranks = rank_each(comparison.scores)
    mean_costs = _mean_costs(comparison, costs)
    return Analysis(comparison, hero, ranks, dataset_ranks, mean_costs)


def ranks_and_costs(analysis: Analysis) -> pd.DataFrame:
    """Join ranks with costs, and mark the Pareto front of rank and fit time."""
    if analysis.costs.empty:
        return pd.DataFrame()
    frame = analysis.ranks.merge(analysis.costs, on="method")
    frame = frame[frame["fit_seconds"] > 0].reset_index(drop=True)
    return frame.assign(front=pareto_front(frame, "fit_seconds", "rank"))


def _improvement(comparison: Comparison, hero: str) -> pd.DataFrame:
    rows = []
    for method in comparison.methods:
        if method == hero:
            rows.append((method, 1.0, nan, nan))
            continue
        ratios = relative_improvement(comparison.scores, method, hero)
        ratios = ratios[ratios["task_group"] == comparison.group].to_dict("records")
        if ratios:
            row = ratios[0]
            rows.append((method, row["ratio"], row["low"], row["high"]))
    frame = pd.DataFrame(rows, columns=["method", "value", "low", "high"])
    ends = ["value", "low", "high"]
    return frame.assign(**{end: frame[end] - 1 for end in ends})


def _mean_costs(comparison: Comparison, costs: pd.DataFrame | None) -> pd.DataFrame:
    """Average costs over the datasets of the comparison with a completed run."""
    if costs is None:
        return pd.DataFrame(columns=["method", *COSTS])
    inside = costs[costs["dataset"].isin(comparison.scores["dataset"])]
    return inside.groupby("method")[list(COSTS)].mean().reset_index()
