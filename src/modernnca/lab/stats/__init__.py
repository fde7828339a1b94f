"""Statistics over scores of methods on datasets: ranks, tests, intervals and ratings.

Functions take and return pandas frames; none knows a model, prints or touches a file.
Start with `summarize` (from runs) or with your own scores frame; see `summary`.
"""

from modernnca.errors import MissingExtraError

try:
    import pandas as _pandas  # noqa: F401
except ImportError as error:
    raise MissingExtraError(
        'modernnca.lab.stats needs pandas: pip install "modernnca[bench]"'
    ) from error

from modernnca.lab.stats.intervals import relative_improvement
from modernnca.lab.stats.pairwise import elo, win_rates
from modernnca.lab.stats.pareto import pareto_front
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

__all__ = [
    "Friedman",
    "average_ranks",
    "cliques",
    "complete",
    "elo",
    "friedman",
    "holm",
    "losses",
    "nemenyi_distance",
    "pareto_front",
    "rank_each",
    "relative_improvement",
    "summarize",
    "task_group",
    "wilcoxon_holm",
    "win_rates",
    "win_tie_lose",
]
