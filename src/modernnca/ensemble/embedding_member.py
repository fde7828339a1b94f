"""Members whose remembered rows vote in an embedding: what they share."""

from abc import abstractmethod
from typing import Self

import torch
from torch import Tensor

from modernnca._declared import array
from modernnca.core.rows import Examples, Rows
from modernnca.core.softnn import Rule, Votes
from modernnca.ensemble.member import Member, Remembered, State
from modernnca.memory.exact_memory import ExactMemory
from modernnca.memory.memory import Memory, Pairs


class EmbeddingMember(Member):
    """A member that embeds rows and lets the remembered ones vote by a rule."""

    memory_: Memory
    keys_: Tensor  # (M, D) the embeddings of the remembered rows

    @abstractmethod
    def embed(self, rows: Rows) -> Tensor:
        """The embeddings of rows, (N, D)."""

    @abstractmethod
    def rule(self) -> Rule:
        """How distances become scores."""

    @abstractmethod
    def embedding_state(self) -> State:
        """What `embed` needs, for a file."""

    @classmethod
    @abstractmethod
    def from_embedding_state(
        cls, state: State, remembered: Remembered, device: torch.device
    ) -> Self:
        """Rebuild a member that can embed, on the device."""

    def remember(self, rows: Examples) -> None:
        """Embed the rows that vote from now on."""
        self._remember(self.embed(rows.rows), Remembered.of(rows))

    def _remember(self, keys: Tensor, remembered: Remembered) -> None:
        self.keys_, self.memory_ = keys, self.memory_of(keys, remembered)

    def memory_of(self, keys: Tensor, remembered: Remembered) -> ExactMemory:
        """A memory of rows with these embeddings (M, D)."""
        weights = remembered.weights
        return ExactMemory(
            keys,
            remembered.values,
            self.rule(),
            log_weights=None if weights is None else weights.log(),
            time=remembered.time,
        )

    def vote(self, query: Rows) -> Votes:
        """The vote of the remembered rows."""
        return self.memory_.vote(self.embed(query), query.time)

    def leave_one_out(self, rows: Tensor) -> Votes:
        """The vote of all other remembered rows on some of them."""
        return self.memory_.leave_one_out(rows)

    def pairs(self, query: Rows) -> Pairs:
        """Distances in the embedding, and shares of the vote."""
        return self.memory_.pairs(self.embed(query), query.time)

    def state(self) -> State:
        """What embeds, and the embedded rows."""
        return {**self.embedding_state(), "keys": self.keys_}

    @classmethod
    def from_state(cls, state: State, remembered: Remembered) -> Self:
        """Rebuild the fitted member."""
        device, n_rows = remembered.values.device, len(remembered.values)
        keys = array(state["keys"], "keys", (n_rows, None), ["float32"]).to(device)
        new = cls.from_embedding_state(state, remembered, device)
        new._remember(keys, remembered)
        return new
