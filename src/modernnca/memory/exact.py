"""Every row answers, in chunks; the reference for the other memories."""

import torch
from torch import Tensor

from modernnca.core.softnn import Rule, Votes, chunks, silence_later, vote_in_chunks
from modernnca.core.streaming import Ready, geometry_of, make_ready, stream_vote
from modernnca.memory.base import Neighbors


class ExactMemory:
    """All remembered rows in one place.

    Args:
        keys: (M, D) embeddings of the rows.
        values: (M, V) what they vote for.
        rule: how distances turn into scores.
        log_weights: (M,) logarithms of the rows' weights.
        moments: (M,) when the rows happened. Whoever says when it asks hears no later
            row; who asks before all rows hears the earliest.
        n_pairs: how many (query, key) pairs are held at a time.

    >>> keys = torch.tensor([[0.0], [1.0]])
    >>> memory = ExactMemory(keys, torch.eye(2), Rule(torch.cdist))
    >>> memory.nearest(torch.tensor([[0.9]]), 1).rows
    tensor([[1]])
    """

    def __init__(
        self,
        keys: Tensor,
        values: Tensor,
        rule: Rule,
        *,
        log_weights: Tensor | None = None,
        moments: Tensor | None = None,
        n_pairs: int = 2**24,
    ) -> None:
        self.keys, self.values, self.rule = keys, values, rule
        self.log_weights, self.moments, self.n_pairs = log_weights, moments, n_pairs
        geometry = geometry_of(rule)
        self._ready: Ready | None = None
        if geometry is not None:
            self._ready = make_ready(keys, values, geometry, log_weights, moments)

    def __len__(self) -> int:
        return len(self.keys)

    def vote(self, query: Tensor, asked: Tensor | None = None) -> Votes:
        """What all rows, or those not after `asked` (B,), answer to queries (B, D)."""
        if self._ready is not None:
            temperature = self.rule.temperature
            return stream_vote(query, self._ready, temperature=temperature, asked=asked)
        return vote_in_chunks(
            query,
            self.keys,
            self.values,
            rule=self.rule,
            log_weights=self.log_weights,
            asked=asked,
            happened=self.moments,
            n_pairs=self.n_pairs,
        )

    def shares(self, query: Tensor, asked: Tensor | None = None) -> Tensor:
        """Each row's part of the vote, (B, M): all pairs at once, so ask for few."""
        distances = self.rule.distance(query, self.keys)
        silent = self._silent(asked)
        return self.rule.scores(distances, self.log_weights, silent).softmax(1)

    def _silent(self, asked: Tensor | None) -> Tensor | None:
        """Who is later than those who asked (B,): (B, M)."""
        if self.moments is None or asked is None:
            return None
        return silence_later(None, asked, self.moments)[0]

    def distances(self, query: Tensor, rows: Tensor) -> Tensor:
        """Distances of each query (B, D) to remembered rows of its own (B, K).

        Counted one pair at a time, so that near ones lose no digits.
        """
        pairs = self.rule.distance(query[:, None, None], self.keys[rows][:, :, None])
        return pairs[..., 0, 0]

    def nearest(
        self, query: Tensor, n_neighbors: int, asked: Tensor | None = None
    ) -> Neighbors:
        """The `n_neighbors` nearest rows to queries (B, D), nearest first.

        Rows later than `asked` (B,) come last, at an infinite distance.
        """
        parts = [
            self._nearest(
                query[chunk], n_neighbors, None if asked is None else asked[chunk]
            )
            for chunk in chunks(len(query), len(self), self.n_pairs)
        ]
        return Neighbors(*(torch.cat(part) for part in zip(*parts, strict=True)))

    def _nearest(
        self, query: Tensor, n_neighbors: int, asked: Tensor | None
    ) -> Neighbors:
        distances = self.rule.distance(query, self.keys)  # (B, M)
        silent = self._silent(asked)
        shares = self.rule.scores(distances, self.log_weights, silent).softmax(1)
        if silent is not None:
            distances = distances.masked_fill(silent, torch.inf)
        rows = distances.topk(n_neighbors, largest=False).indices  # (B, K)
        exact = self.distances(query, rows)
        if silent is not None:
            exact = exact.masked_fill(silent.gather(1, rows), torch.inf)
        order = exact.argsort(dim=1, stable=True)
        rows = rows.gather(1, order)
        return Neighbors(exact.gather(1, order), rows, shares.gather(1, rows))
