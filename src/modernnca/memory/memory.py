"""The contract of a memory: remembered rows that vote."""

from typing import NamedTuple, Protocol

from torch import Tensor

from modernnca.core.softnn import Votes


class Pairs(NamedTuple):
    """Every remembered row (M) as seen from each query (B)."""

    distances: Tensor  # (B, M) in the embedding; infinite where a row must not vote
    shares: Tensor  # (B, M) of the vote; each row adds up to 1


class Memory(Protocol):
    """Remembered rows that vote on queries.

    Whatever lies behind it, chunks, shards or other machines, a memory returns what
    `ExactMemory` returns for the same rows, up to rounding. `time` (B,) is the rank in
    time of the queries: later rows do not vote.
    """

    def __len__(self) -> int:
        """How many rows are remembered."""

    def vote(self, query: Tensor, time: Tensor | None = None) -> Votes:
        """The vote of all rows on queries (B, D)."""

    def leave_one_out(self, rows: Tensor) -> Votes:
        """The vote of all other rows on some remembered rows, by their numbers (B,)."""

    def pairs(self, query: Tensor, time: Tensor | None = None) -> Pairs:
        """All pairs of queries (B, D) and rows at once: pass few queries."""
