"""What the statistics say of a contest, asked once for tables, figures and words."""

from dataclasses import dataclass
from functools import cached_property
from math import nan

import pandas as pd

from modernnca.lab.report.contest import Contest
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
class Judgement:
    """A contest, its hero, and what is found when it is asked for.

    Frames are as the room `stats` gives them. What cannot be said of so few methods or
    tables is None.
    """

    contest: Contest
    hero: str
    ranks: pd.DataFrame  # method, rank, n_datasets, n_missing
    each: pd.DataFrame  # datasets x methods: the rank on each table
    costs: pd.DataFrame  # method, then means of COSTS

    @property
    def group(self) -> str:
        """The name of the group."""
        return self.contest.group

    @cached_property
    def improvement(self) -> pd.DataFrame:
        """The error of each method over the hero's: method, value, low, high."""
        return _improvement(self.contest, self.hero)

    @cached_property
    def elo(self) -> pd.DataFrame:
        """Ratings: method, elo, low, high."""
        return elo(self.contest.scores)

    @cached_property
    def outcomes(self) -> pd.DataFrame:
        """The hero against each: opponent, win, tie, lose, n."""
        return win_tie_lose(self.contest.scores, self.hero, alpha=ALPHA)

    @cached_property
    def win_rates(self) -> pd.DataFrame:
        """The share of tables on which the row's method beats the column's."""
        return win_rates(self.contest.scores)

    @cached_property
    def friedman(self) -> Friedman | None:
        """Whether the methods differ at all."""
        return friedman(self.contest.scores) if self._several else None

    @cached_property
    def pairwise(self) -> pd.DataFrame | None:
        """Which two methods differ: left, right, p_holm, significant."""
        # Relative, since the units of RMSE differ from table to table.
        scores = self.contest.scores
        return wilcoxon_holm(scores, differences="relative") if self._several else None

    @cached_property
    def cliques(self) -> list[list[str]]:
        """Neighbors in rank among whom no two differ."""
        return [] if self.pairwise is None else cliques(self.ranks, self.pairwise)

    @property
    def _several(self) -> bool:
        return len(self.contest.methods) > 1 and self.contest.n_datasets > 1

    @property
    def nemenyi(self) -> float:
        """How far apart ranks are that differ by Nemenyi's test."""
        n_methods = len(self.contest.methods)
        return nemenyi_distance(n_methods, self.contest.n_datasets, alpha=ALPHA)

    def alike(self, method: str) -> list[str]:
        """Return the methods that Wilcoxon's test does not tell from this one."""
        if self.pairwise is None:
            return []
        pairs = self.pairwise[~self.pairwise["significant"]]
        left, right = pairs["left"], pairs["right"]
        near = {*right[left == method], *left[right == method]}
        return [name for name in self.ranks["method"] if name in near]


def judge(contest: Contest, hero: str | None, costs: pd.DataFrame | None) -> Judgement:
    """Ask the statistics; without a hero, the best-ranked method takes its place.

    `costs` has one row for each dataset and method, with the columns of COSTS.
    """
    ranks = average_ranks(contest.scores)
    if hero is None or hero not in contest.methods:
        hero = str(ranks["method"].iloc[0])
    each = rank_each(contest.scores)
    return Judgement(contest, hero, ranks, each, _mean_costs(contest, costs))


def bubbles(judgement: Judgement) -> pd.DataFrame:
    """Join ranks with costs, and mark whom nobody beats in both rank and time."""
    if judgement.costs.empty:
        return pd.DataFrame()
    frame = judgement.ranks.merge(judgement.costs, on="method")
    frame = frame[frame["fit_seconds"] > 0].reset_index(drop=True)
    return frame.assign(front=pareto_front(frame, "fit_seconds", "rank"))


def _improvement(contest: Contest, hero: str) -> pd.DataFrame:
    rows = []
    for method in contest.methods:
        if method == hero:
            rows.append((method, 1.0, nan, nan))
            continue
        found = relative_improvement(contest.scores, method, hero)
        found = found[found["task_group"] == contest.group].to_dict("records")
        if found:
            row = found[0]
            rows.append((method, row["ratio"], row["low"], row["high"]))
    frame = pd.DataFrame(rows, columns=["method", "value", "low", "high"])
    ends = ["value", "low", "high"]
    return frame.assign(**{end: frame[end] - 1 for end in ends})


def _mean_costs(contest: Contest, costs: pd.DataFrame | None) -> pd.DataFrame:
    """Average over the tables of the contest on which a method was done."""
    if costs is None:
        return pd.DataFrame(columns=["method", *COSTS])
    inside = costs[costs["dataset"].isin(contest.scores["dataset"])]
    return inside.groupby("method")[list(COSTS)].mean().reset_index()
