"""Soft nearest neighbors: every remembered row votes, and near rows count more.

Shapes, here and in the rest of `core`: B queries, M remembered rows (keys), D numbers
in an embedding, V numbers in a vote (the classes, or 1 in regression).
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from modernnca.core.distances import Distance
from modernnca.core.origin import Origin, extend_mask

Kernel = Callable[[Tensor], Tensor]

# Distances that differ by less, relatively, are equal but for rounding.
_TIE = {torch.float64: 1e-9, torch.float32: 1e-6}


class Votes(NamedTuple):
    """The vote of a set of remembered rows.

    Votes of disjoint sets combine exactly (see `merge`), so a memory may be read
    whole, in chunks, in shards or on other machines, with the same result.
    """

    mean: Tensor  # (B, V) the weighted mean of the remembered values
    log_weight: Tensor  # (B, 1) log of the total weight behind that mean


def exponential(distance: Tensor) -> Tensor:
    """The kernel of NCA: weights exp(-d)."""
    return -distance


def student(distance: Tensor) -> Tensor:
    """The heavy-tailed kernel of t-distributed NCA: weights 1 / (1 + d^2).

    Min et al. (2010), with one degree of freedom.
    """
    return -torch.log1p(distance.square())


class Rule(NamedTuple):
    """How a distance becomes a score, the logarithm of a row's weight in the vote.

    score = kernel(distance / temperature), plus the log of the row's own weight. With
    `n_neighbors`, the nearest so many rows count the same and the others nothing:
    hard k-NN as a limit of the soft rule. (Its votes do not `merge`.) Rows as near as
    the last of them count, too: which ones are taken depends neither on the order of
    the rows nor on the other queries of a batch.
    """

    distance: Distance
    temperature: Tensor | float = 1.0
    kernel: Kernel = exponential
    n_neighbors: int | None = None

    def distances(self, query: Tensor, keys: Tensor) -> Tensor:
        """Distances (B, M); for hard k-NN in float64, so that ties stay ties."""
        if self.n_neighbors is None or query.device.type == "mps":
            return self.distance(query, keys)
        return self.distance(query.double(), keys.double())

    def scores(
        self,
        distances: Tensor,
        log_weights: Tensor | None = None,
        mask: Tensor | None = None,
    ) -> Tensor:
        """Scores of distances (B, M); see `soft_vote` for the other arguments."""
        if self.n_neighbors is None:
            scores = self.kernel(distances / self.temperature)
        else:
            if mask is not None:
                distances = distances.masked_fill(mask, torch.inf)
            n_near = min(self.n_neighbors, distances.shape[1])
            last = distances.topk(n_near, largest=False).values[:, -1:]  # (B, 1)
            last = last + _TIE[distances.dtype] * last.abs()
            scores = torch.zeros_like(distances).masked_fill_(
                distances > last, -torch.inf
            )
        if log_weights is not None:
            scores = scores + log_weights
        return scores if mask is None else scores.masked_fill(mask, -torch.inf)


def soft_vote(
    query: Tensor,
    keys: Tensor,
    values: Tensor,
    *,
    rule: Rule,
    log_weights: Tensor | None = None,
    mask: Tensor | None = None,
) -> Votes:
    """Average `values`, weighted by the softmax of the rule's scores.

    Args:
        query: (B, D) embeddings of the queries.
        keys: (M, D) embeddings of the remembered rows.
        values: (M, V) their one-hot classes or their targets.
        rule: how distances become scores.
        log_weights: (M,) logarithms of the weights of the remembered rows.
        mask: (B, M) True where a remembered row must not vote. In training a row never
            votes on itself. Every row of `mask` must leave at least one key, or the
            mean of that row is NaN.

    >>> keys, values = torch.tensor([[0.0], [9.0]]), torch.eye(2)
    >>> soft_vote(torch.zeros(1, 1), keys, values, rule=Rule(torch.cdist)).mean.round()
    tensor([[1., 0.]])
    """
    if len(keys) != len(values):
        raise ValueError(
            f"keys and values must describe the same rows: {len(keys)=}, {len(values)=}"
        )
    scores = rule.scores(rule.distances(query, keys), log_weights, mask)  # (B, M)
    scores = scores.to(torch.promote_types(scores.dtype, values.dtype))
    log_weight = scores.logsumexp(dim=-1, keepdim=True)
    mean = (scores - log_weight).exp() @ values.to(scores.dtype)
    return Votes(mean.to(values.dtype), log_weight.to(values.dtype))


def chunks(n_queries: int, n_keys: int, n_pairs: int) -> list[slice]:
    """Cut the queries so that at most `n_pairs` (query, key) pairs are held at a time.

    >>> chunks(5, 10, 20)
    [slice(0, 2, None), slice(2, 4, None), slice(4, 6, None)]
    """
    n_at_once = max(1, n_pairs // max(1, n_keys))
    starts = range(0, max(1, n_queries), n_at_once)
    return [slice(start, start + n_at_once) for start in starts]


def vote_in_chunks(
    query: Tensor,
    keys: Tensor,
    values: Tensor,
    *,
    rule: Rule,
    log_weights: Tensor | None = None,
    own: Tensor | None = None,
    query_origin: Origin | None = None,
    key_origin: Origin | None = None,
    n_pairs: int = 2**24,
) -> Votes:
    """`soft_vote` for many queries, in bounded memory.

    Args:
        own: (B,) for each query the index of the key that is the query itself and must
            not vote, for leave-one-out votes.
        query_origin, key_origin: of B and M rows; see `core.origin`.
    """
    parts = []
    if query_origin is not None and key_origin is not None:
        query_origin = query_origin.within_reach(key_origin)
    for chunk in chunks(len(query), len(keys), n_pairs):
        mask = None
        if own is not None:
            mask = own[chunk, None] == torch.arange(len(keys), device=own.device)
        origin = None if query_origin is None else query_origin.take(chunk)
        mask = extend_mask(mask, origin, key_origin)[0]
        parts.append(
            soft_vote(
                query[chunk],
                keys,
                values,
                rule=rule,
                log_weights=log_weights,
                mask=mask,
            )
        )
    means, log_weight = zip(*parts, strict=True)
    return Votes(torch.cat(means), torch.cat(log_weight))


def merge(left: Votes, right: Votes) -> Votes:
    """Combine the votes of two disjoint sets of remembered rows.

    A side without any weight (log_weight -inf, as of an empty set) is neutral.
    """
    log_weight = torch.logaddexp(left.log_weight, right.log_weight)
    mean = torch.zeros_like(left.mean)
    for votes in (left, right):
        share = (votes.log_weight - log_weight).exp()
        mean = mean + torch.where(share > 0, share * votes.mean, 0)
    return Votes(mean, log_weight)
