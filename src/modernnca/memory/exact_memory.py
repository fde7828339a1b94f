"""The exact memory: every row votes, in chunks; the reference for other memories."""

import copy
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from modernnca.core.origin import Origin
from modernnca.core.softnn import Rule, Votes, vote_in_chunks
from modernnca.kernels.self_votes import self_votes
from modernnca.kernels.streaming import (
    PreparedKeys,
    geometry_of,
    prepare_keys,
    stream_vote,
    stream_votes,
    tile_distances,
)
from modernnca.memory.memory import Memory, PairReader, Pairs, reader_of

_MIN_LOG_SHARE = -40.0  # of smaller ones, the squares would be denormal, which is slow

_MANY_ROWS = 1024  # with fewer, it does not matter


class ExactMemory:
    """All remembered rows in one place.

    Args:
        keys: (M, D) embeddings of the rows.
        values: (M, V) what they vote for.
        rule: how distances become scores.
        log_weights: (M,) logarithms of the weights of the rows.
        origin: of the rows; those later than a query do not vote on it, nor those of
            its own group. See `core.origin`.
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
        origin: Origin | None = None,
        n_pairs: int = 2**24,
    ) -> None:
        self.keys, self.values, self.rule = keys, values, rule
        self.log_weights, self.origin, self.n_pairs = log_weights, origin, n_pairs
        geometry = geometry_of(rule)
        self._prepared: PreparedKeys | None = None
        if geometry is not None:
            self._prepared = prepare_keys(keys, values, geometry, log_weights)

    def __len__(self) -> int:
        return len(self.keys)

    def with_origin(self, origin: Origin | None) -> "ExactMemory":
        """The same rows, with another origin; nothing is copied.

        With `Origin(group=torch.arange(M))` and the same numbers for queries that are
        remembered rows, their votes are leave-one-out votes.
        """
        other = copy.copy(self)
        other.origin = origin
        return other

    def vote(self, query: Tensor, origin: Origin | None = None) -> Votes:
        """The vote on queries (B, D) of all rows that `origin` does not mask."""
        if self._prepared is not None:
            temperature = self.rule.temperature
            return stream_vote(
                query,
                self._prepared,
                temperature=temperature,
                query_origin=origin,
                key_origin=self.origin,
            )
        return vote_in_chunks(
            query,
            self.keys,
            self.values,
            rule=self.rule,
            log_weights=self.log_weights,
            query_origin=origin,
            key_origin=self.origin,
            n_pairs=self.n_pairs,
        )

    def leave_one_out(self, rows: Tensor | None = None) -> Votes:
        """The vote of all other rows on each remembered row, or on some numbers (B,).

        A row that is earlier than all others sees them all.
        """
        if rows is None:
            return self._leave_each_out()
        origin = None if self.origin is None else self.origin.take(rows)
        if self._prepared is None:
            return vote_in_chunks(
                self.keys[rows],
                self.keys,
                self.values,
                rule=self.rule,
                log_weights=self.log_weights,
                own=rows,
                query_origin=origin,
                key_origin=self.origin,
                n_pairs=self.n_pairs,
            )
        query, temperature = self.keys[rows], self.rule.temperature
        found = stream_vote(
            query,
            self._prepared,
            temperature=temperature,
            query_origin=origin,
            key_origin=self.origin,
            own=rows,
        )
        alone = found.log_weight.isneginf().squeeze(1).nonzero().squeeze(1)
        if origin is None or not len(alone):
            return found
        again = stream_vote(
            query[alone], self._prepared, temperature=temperature, own=rows[alone]
        )
        mean = found.mean.index_copy(0, alone, again.mean)
        return Votes(mean, found.log_weight.index_copy(0, alone, again.log_weight))

    def _leave_each_out(self) -> Votes:
        """The same for all rows; where no row is later, in half the time."""
        every = torch.arange(len(self.keys), device=self.keys.device)
        symmetric = self.keys.device.type == "cpu" and self.origin is None
        if not symmetric or self._prepared is None or len(every) < _MANY_ROWS:
            return self.leave_one_out(every)
        found = self_votes(self._prepared, self.rule.temperature)
        if found is None:
            return self.leave_one_out(every)
        votes, inexact = found
        again = inexact.nonzero().squeeze(1)
        if len(again):
            votes.mean[again], votes.log_weight[again] = self.leave_one_out(again)
        return votes

    def pairs(self, query: Tensor, origin: Origin | None = None) -> Pairs:
        """All pairs of queries (B, D) and rows at once: pass few queries."""
        distances = self.rule.distances(query, self.keys)
        mask = None
        if self.origin is not None and origin is not None:
            mask = origin.within_reach(self.origin).mask(self.origin)
        scores = self.rule.scores(distances, self.log_weights, mask)
        if mask is not None:
            distances = distances.masked_fill(mask, torch.inf)
        return Pairs(distances.to(query), scores.softmax(1).to(query))

    def reader(self, query: Tensor, origin: Origin | None = None) -> PairReader:
        """Pairs of queries (B, D) and some rows at a time, and the vote of all rows.

        Hard k-NN has to see all distances at once: then pass few queries.
        """
        votes, own = self.vote(query, origin), self.origin
        if self.rule.n_neighbors is not None:
            return reader_of(self.pairs(query, origin), votes)
        if origin is not None and own is not None:
            origin = origin.within_reach(own)
            origin = origin if origin.masks(own) else None
        distances_to = self._distances_of(query)

        def tile(part: slice) -> Pairs:
            mask = None
            if origin is not None and own is not None:
                mask = origin.mask(own.take(part))
            weights = None if self.log_weights is None else self.log_weights[part]
            return self._pairs_of(distances_to(part), weights, mask, votes)

        def chosen(rows: Tensor) -> Pairs:
            # In float64, or rounding would depend on which rows are chosen together.
            wide = query.dtype if query.device.type == "mps" else torch.float64
            keys = self.keys[rows].to(wide)  # (B, K, D)
            distances = self.rule.distance(query[:, None].to(wide), keys)[:, 0]
            distances = distances.to(query.dtype)
            mask = None
            if origin is not None and own is not None:
                masks = [
                    origin.take(slice(b, b + 1)).mask(own.take(rows[b]))
                    for b in range(len(rows))
                ]
                mask = torch.cat([each for each in masks if each is not None])
            weights = None if self.log_weights is None else self.log_weights[rows]
            return self._pairs_of(distances, weights, mask, votes)

        return PairReader(votes, tile, chosen)

    def _distances_of(self, query: Tensor) -> Callable[[slice], Tensor]:
        """The distances (B, m) of queries to some of the rows."""
        prepared = self._prepared
        if prepared is None:
            return lambda part: self.rule.distance(query, self.keys[part])
        ready = prepared.geometry.prepare(query, prepared.center)
        return lambda part: tile_distances(ready, prepared, part, exact=True)

    def _pairs_of(
        self,
        distances: Tensor,
        log_weights: Tensor | None,
        mask: Tensor | None,
        votes: Votes,
    ) -> Pairs:
        """Distances and shares, given the vote of all rows."""
        scores = self.rule.kernel(distances / self.rule.temperature)
        if log_weights is not None:
            scores = scores + log_weights
        scores = scores.to(votes.log_weight.dtype).sub_(votes.log_weight)
        shares = scores.clamp_min_(_MIN_LOG_SHARE).exp_()
        if mask is not None:
            distances = distances.masked_fill(mask, torch.inf)
            shares = shares.masked_fill(mask, 0.0)
        return Pairs(distances, shares)


def vote_together(
    memories: Sequence[Memory], queries: Sequence[Tensor], origin: Origin | None = None
) -> list[Votes]:
    """The votes of several memories, each on queries of its own (B, D)."""
    exact = [memory for memory in memories if isinstance(memory, ExactMemory)]
    keys = [memory._prepared for memory in exact if memory._prepared is not None]
    if len(keys) < len(memories):
        pairs = zip(memories, queries, strict=True)
        return [memory.vote(query, origin) for memory, query in pairs]
    temperatures = [memory.rule.temperature for memory in exact]
    return stream_votes(
        queries,
        keys,
        temperatures=temperatures,
        query_origin=origin,
        key_origins=[memory.origin for memory in exact],
    )
