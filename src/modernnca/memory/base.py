"""Memory: where remembered rows live. The contract."""

from typing import NamedTuple, Protocol

from torch import Tensor

from modernnca.core.softnn import Votes


class Neighbors(NamedTuple):
    """The remembered rows that had most to say to each asking row."""

    distances: Tensor  # (B, K) in the embedding, nearest first
    rows: Tensor  # (B, K) numbers of the rows in the memory
    shares: Tensor  # (B, K) parts of the vote, out of 1 over the whole memory


class Memory(Protocol):
    """Remembered rows that answer questions.

    Whatever lies behind it, chunks, shards or other machines, `vote` and `nearest`
    return what `ExactMemory` returns for the same rows, up to rounding.
    """

    def __len__(self) -> int:
        """How many rows are remembered."""

    def vote(self, query: Tensor) -> Votes:
        """What all rows answer to queries (B, D)."""

    def nearest(self, query: Tensor, n_neighbors: int) -> Neighbors:
        """The `n_neighbors` nearest rows to queries (B, D), nearest first."""
