"""The exact memory: every row votes, in chunks; the reference for other memories."""

from collections.abc import Sequence

import torch
from torch import Tensor

from modernnca.core.softnn import Rule, Votes, mask_future, vote_in_chunks
from modernnca.kernels.streaming import (
    PreparedKeys,
    geometry_of,
    prepare_keys,
    stream_vote,
    stream_votes,
)
from modernnca.memory.memory import Memory, Pairs


class ExactMemory:
    """All remembered rows in one place.

    Args:
        keys: (M, D) embeddings of the rows.
        values: (M, V) what they vote for.
        rule: how distances become scores.
        log_weights: (M,) logarithms of the weights of the rows.
        time: (M,) ranks in time. Rows later than a query do not vote on it; a query
            earlier than all rows sees the earliest.
        n_pairs: how many (query, key) pairs are held at a time.

    >>> keys = torch.tensor([[0.0], [1.0]])
    >>> memory = ExactMemory(keys, torch.eye(2), Rule(torch.cdist))
    >>> memory.pairs(torch.tensor([[0.9]])).distances.argmin(1)
    tensor([1])
    """

    def __init__(
        self,
        keys: Tensor,
        values: Tensor,
        rule: Rule,
        *,
        log_weights: Tensor | None = None,
        time: Tensor | None = None,
        n_pairs: int = 2**24,
    ) -> None:
        self.keys, self.values, self.rule = keys, values, rule
        self.log_weights, self.time, self.n_pairs = log_weights, time, n_pairs
        geometry = geometry_of(rule)
        self._prepared: PreparedKeys | None = None
        if geometry is not None:
            self._prepared = prepare_keys(keys, values, geometry, log_weights, time)

    def __len__(self) -> int:
        return len(self.keys)

    def vote(self, query: Tensor, time: Tensor | None = None) -> Votes:
        """The vote of all rows not later than `time` (B,) on queries (B, D)."""
        if self._prepared is not None:
            temperature = self.rule.temperature
            return stream_vote(
                query, self._prepared, temperature=temperature, time=time
            )
        return vote_in_chunks(
            query,
            self.keys,
            self.values,
            rule=self.rule,
            log_weights=self.log_weights,
            query_time=time,
            key_time=self.time,
            n_pairs=self.n_pairs,
        )

    def leave_one_out(self, rows: Tensor) -> Votes:
        """The vote of all other rows on some remembered rows (B,), by their numbers.

        A row that is earlier than all others sees them all.
        """
        time = None if self.time is None else self.time[rows]
        if self._prepared is None:
            return vote_in_chunks(
                self.keys[rows],
                self.keys,
                self.values,
                rule=self.rule,
                log_weights=self.log_weights,
                own=rows,
                query_time=time,
                key_time=self.time,
                n_pairs=self.n_pairs,
            )
        query, temperature = self.keys[rows], self.rule.temperature
        found = stream_vote(
            query, self._prepared, temperature=temperature, time=time, own=rows
        )
        alone = found.log_weight.isneginf().squeeze(1).nonzero().squeeze(1)
        if time is None or not len(alone):
            return found
        again = stream_vote(
            query[alone], self._prepared, temperature=temperature, own=rows[alone]
        )
        mean = found.mean.index_copy(0, alone, again.mean)
        return Votes(mean, found.log_weight.index_copy(0, alone, again.log_weight))

    def pairs(self, query: Tensor, time: Tensor | None = None) -> Pairs:
        """All pairs of queries (B, D) and rows at once: pass few queries."""
        distances = self.rule.distances(query, self.keys)
        mask = None
        if self.time is not None and time is not None:
            mask = mask_future(None, time, self.time)[0]
        scores = self.rule.scores(distances, self.log_weights, mask)
        if mask is not None:
            distances = distances.masked_fill(mask, torch.inf)
        return Pairs(distances.to(query), scores.softmax(1).to(query))


def vote_together(
    memories: Sequence[Memory], queries: Sequence[Tensor], time: Tensor | None = None
) -> list[Votes]:
    """The votes of several memories, each on queries of its own (B, D)."""
    exact = [memory for memory in memories if isinstance(memory, ExactMemory)]
    keys = [memory._prepared for memory in exact if memory._prepared is not None]
    if len(keys) < len(memories):
        pairs = zip(memories, queries, strict=True)
        return [memory.vote(query, time) for memory, query in pairs]
    temperatures = [memory.rule.temperature for memory in exact]
    return stream_votes(queries, keys, temperatures=temperatures, time=time)
