"""The contract of a memory: remembered rows that vote."""

from collections.abc import Callable
from typing import NamedTuple, Protocol

from torch import Tensor

from modernnca.core.origin import Origin
from modernnca.core.softnn import Votes


class Pairs(NamedTuple):
    """Every remembered row (M) as seen from each query (B)."""

    distances: Tensor  # (B, M) in the embedding; infinite where a row must not vote
    shares: Tensor  # (B, M) of the vote; each row adds up to 1


class PairReader(NamedTuple):
    """Remembered rows as seen from some queries (B), a few rows at a time."""

    votes: Votes  # of all rows
    tile: Callable[[slice], Pairs]  # of some rows m, the same for all queries: (B, m)
    chosen: Callable[[Tensor], Pairs]  # of the rows (B, K) of each query: (B, K)


def reader_of(pairs: Pairs, votes: Votes) -> PairReader:
    """A reader of pairs that are in memory."""
    return PairReader(
        votes,
        lambda part: Pairs(*(each[:, part] for each in pairs)),
        lambda rows: Pairs(*(each.gather(1, rows) for each in pairs)),
    )


class Memory(Protocol):
    """Remembered rows that vote on queries.

    Whatever lies behind it, chunks, shards or other machines, a memory returns what
    `ExactMemory` returns for the same rows, up to rounding. `origin` is that of the
    queries: later rows and rows of the same group do not vote.
    """

    def __len__(self) -> int:
        """How many rows are remembered."""

    def vote(self, query: Tensor, origin: Origin | None = None) -> Votes:
        """The vote of all rows on queries (B, D)."""

    def leave_one_out(self, rows: Tensor | None = None) -> Votes:
        """The vote of all other rows on each remembered row, or on those numbered."""

    def pairs(self, query: Tensor, origin: Origin | None = None) -> Pairs:
        """All pairs of queries (B, D) and rows at once: pass few queries."""

    def reader(self, query: Tensor, origin: Origin | None = None) -> PairReader:
        """The same, some rows at a time, and the vote."""
