"""Judgement: scores of methods on datasets to ranks, tests, intervals and ratings.

Frames in, frames out; nothing here knows a model, prints or touches a file. Start with
`summarize` (from runs) or with a scores frame of your own; see `summary`.
"""

from modernnca.errors import MissingExtraError

try:
    import pandas as _pandas  # noqa: F401
except ImportError as error:
    raise MissingExtraError(
        'The statistics work on frames of pandas: pip install "modernnca[bench]"'
    ) from error

from modernnca.lab.stats.intervals import relative_improvement
from modernnca.lab.stats.pareto import front
from modernnca.lab.stats.ranks import average_ranks, rank_each
from modernnca.lab.stats.significance import (
    Friedman,
    cliques,
    friedman,
    holm,
    nemenyi_distance,
    wilcoxon_holm,
    win_tie_lose,
)
from modernnca.lab.stats.summary import complete, losses, summarize, task_group
from modernnca.lab.stats.winrates import elo, win_rates

__all__ = [
    "Friedman",
    "average_ranks",
    "cliques",
    "complete",
    "elo",
    "friedman",
    "front",
    "holm",
    "losses",
    "nemenyi_distance",
    "rank_each",
    "relative_improvement",
    "summarize",
    "task_group",
    "wilcoxon_holm",
    "win_rates",
    "win_tie_lose",
]
