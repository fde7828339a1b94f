"""The vote of many keys, tile by tile, merged on the way: exact, in bounded memory.

A tile of some queries and some keys stays in the cache through all that is done to it;
the plain way reads and writes each pair from memory a dozen times. The votes of the
tiles are merged by `core.softnn.merge`.
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from modernnca.core.distances import recompute_near_pairs
from modernnca.core.origin import Origin
from modernnca.core.products import linear
from modernnca.core.softnn import Rule, Votes, exponential, merge
from modernnca.kernels.fused_loss import LN2, MIN_SCORE
from modernnca.kernels.geometry import GEOMETRIES, Geometry
from modernnca.kernels.threads import map_in_threads
from modernnca.kernels.vote_kernels import (
    SplitPoints,
    SplitValues,
    split_points,
    split_values,
    supported,
    vote_forward,
)

# Some libraries sum the terms of a product with few columns one after the other. So
# many terms lose no digits that matter, and transposed they are faster, too.
_N_SUMMED = 1024
# Of so few pairs, computing all distances from differences is faster than finding out
# which ones lost digits.
_FEW_PAIRS = 2**22
_FAR = 1e30  # the distance of masked keys; not inf, whose differences are NaN


def geometry_of(rule: Rule) -> Geometry | None:
    """The geometry of a rule whose votes can be streamed; None for other rules."""
    if rule.n_neighbors is not None or rule.kernel is not exponential:
        return None
    return GEOMETRIES.get(rule.distance)


class PreparedKeys(NamedTuple):
    """Remembered rows, with all that can be computed before the first query."""

    geometry: Geometry
    center: Tensor | None  # (D,)
    keys: Tensor  # (M, D) centered or normalized
    norms: Tensor  # (M,) squared
    values: Tensor  # (M, V + 1) values and ones, times the weights of the rows
    split: tuple[SplitPoints, SplitValues] | None  # keys and values, for kernels


def prepare_keys(
    keys: Tensor,
    values: Tensor,
    geometry: Geometry,
    log_weights: Tensor | None,
) -> PreparedKeys:
    """Prepare keys (M, D) that vote for values (M, V)."""
    center = geometry.center(keys)
    prepared = geometry.prepare(keys, center).contiguous()
    weighted = torch.cat([values, values.new_ones(len(values), 1)], 1)
    if log_weights is not None:
        weighted = weighted * log_weights.exp()[:, None]
    split = None
    if supported(prepared, weighted.shape[1]) and len(prepared):
        split = split_points(prepared), split_values(weighted)
    norms = prepared.square().sum(1)
    return PreparedKeys(geometry, center, prepared, norms, weighted, split)


def stream_vote(
    query: Tensor,
    keys: PreparedKeys,
    *,
    temperature: Tensor | float,
    query_origin: Origin | None = None,
    key_origin: Origin | None = None,
    own: Tensor | None = None,
    exact: bool = True,
) -> Votes:
    """What `soft_vote` with the exponential kernel gives for queries (B, D).

    Keys do not vote where their origin is masked (see `core.origin`), nor does the key
    `own` (B,), which is the query itself. A query that no key is left for has a total
    weight of zero (log -inf). Without `exact`, distances of near rows may lose digits,
    as in training.
    """
    prepared = keys.geometry.prepare(query, keys.center)
    if len(prepared) == 0:
        return Votes(keys.values[:0, :-1], keys.values[:0, -1:])
    if query_origin is not None and key_origin is not None:
        query_origin = query_origin.within_reach(key_origin)
        if query_origin.masks(key_origin):
            both = (query_origin, key_origin)
            return _vote_by_tiles(prepared, keys, temperature, both, own, exact=exact)
    if own is not None:
        return _vote_by_tiles(prepared, keys, temperature, own=own, exact=exact)
    if keys.split is not None and prepared.dtype == torch.float32:
        return _vote_by_kernel(prepared, keys, temperature, exact=exact)
    return _vote_by_tiles(prepared, keys, temperature, exact=exact)


def stream_votes(
    queries: Sequence[Tensor],
    keys: Sequence[PreparedKeys],
    *,
    temperatures: Sequence[Tensor | float],
    query_origin: Origin | None = None,
    key_origins: Sequence[Origin | None] = (),
) -> list[Votes]:
    """`stream_vote` for several sets of keys, waiting for the device only once."""
    by_kernel = query_origin is None and all(
        each.split is not None and query.dtype == torch.float32 and len(query)
        for query, each in zip(queries, keys, strict=True)
    )
    if not by_kernel:
        origins = key_origins or [None] * len(keys)
        return [
            stream_vote(
                query,
                each,
                temperature=temperature,
                query_origin=query_origin,
                key_origin=origin,
            )
            for query, each, temperature, origin in zip(
                queries, keys, temperatures, origins, strict=True
            )
        ]
    prepared = [
        each.geometry.prepare(query, each.center)
        for query, each in zip(queries, keys, strict=True)
    ]
    parts = list(zip(prepared, keys, temperatures, strict=True))
    found = [_kernel_vote(*part) for part in parts]
    flags = [v.mean.new_zeros(1) if f is None else f.any()[None] for v, f in found]
    lost = torch.cat([flag.to(torch.bool) for flag in flags]).tolist()
    return [
        _recompute(votes, inexact, *part) if again else votes
        for (votes, inexact), part, again in zip(found, parts, lost, strict=True)
    ]


def _vote_by_kernel(
    query: Tensor, keys: PreparedKeys, temperature: Tensor | float, *, exact: bool
) -> Votes:
    """Votes for prepared queries (B, D); those that lost digits are computed again."""
    votes, inexact = _kernel_vote(query, keys, temperature)
    return _recompute(votes, inexact if exact else None, query, keys, temperature)


def _kernel_vote(
    query: Tensor, keys: PreparedKeys, temperature: Tensor | float
) -> tuple[Votes, Tensor | None]:
    """Votes for prepared queries (B, D), and which of them lost digits (B,)."""
    assert keys.split is not None
    points, values = keys.split
    found = vote_forward(
        split_points(query),
        points,
        values,
        inverse_temperature=1 / temperature,
        norms=keys.geometry.norms,
        root=keys.geometry.root,
    )
    total = found.sums[:, -1:]
    mean, log_weight = found.sums[:, :-1] / total, total.log() - found.min_distance
    return Votes(mean, log_weight), found.inexact


def _recompute(
    votes: Votes,
    inexact: Tensor | None,
    query: Tensor,
    keys: PreparedKeys,
    temperature: Tensor | float,
) -> Votes:
    """The votes, with those of prepared queries that lost digits computed again."""
    if inexact is None:
        return votes
    if len(query) * len(keys.keys) <= _FEW_PAIRS:
        return _vote_by_differences(query, keys, temperature)
    again = inexact.nonzero().squeeze(1)
    if len(again):
        exact = _vote_by_tiles(query[again], keys, temperature, exact=True)
        votes.mean[again], votes.log_weight[again] = exact
    return votes


def _vote_by_differences(
    query: Tensor, keys: PreparedKeys, temperature: Tensor | float
) -> Votes:
    """Votes for a few prepared queries (B, D), from differences: no digits are lost."""
    direct = "donot_use_mm_for_euclid_dist"
    distances = torch.cdist(query, keys.keys, compute_mode=direct)  # (B, M)
    if not keys.geometry.root:
        distances = distances.square()
    u = distances / temperature
    nearest = u.amin(1, keepdim=True)
    sums = (nearest - u).exp() @ keys.values  # (B, V + 1)
    total = sums[:, -1:]
    return Votes(sums[:, :-1] / total, total.log() - nearest)


def _vote_by_tiles(
    query: Tensor,
    keys: PreparedKeys,
    temperature: Tensor | float,
    origins: tuple[Origin, Origin] | None = None,
    own: Tensor | None = None,
    *,
    exact: bool,
) -> Votes:
    """Votes for prepared queries (B, D), some queries and some keys at a time."""
    # On a CPU a tile stays in the cache of a core.
    on_cpu = query.device.type == "cpu"
    n_queries, n_pairs = (128, 2**17) if on_cpu else (4096, 2**25)

    def vote(start: int) -> Votes:
        some = slice(start, start + n_queries)
        tile = n_pairs // len(query[some])
        itself = None if own is None else own[some]
        votes = None
        for first in range(0, len(keys.keys), tile):
            part = slice(first, first + tile)
            mask = None
            if origins is not None:
                mask = origins[0].take(some).mask(origins[1].take(part))
            of_tile = _vote_of_tile(
                query[some], keys, part, temperature, mask, itself, exact
            )
            votes = of_tile if votes is None else merge(votes, of_tile)
        assert votes is not None
        return votes

    starts = range(0, len(query), n_queries)
    parts = map_in_threads(vote, starts) if on_cpu else [vote(i) for i in starts]
    return Votes(*(torch.cat(part) for part in zip(*parts, strict=True)))


def _vote_of_tile(
    query: Tensor,
    keys: PreparedKeys,
    part: slice,
    temperature: Tensor | float,
    mask: Tensor | None,
    own: Tensor | None,
    exact: bool,
) -> Votes:
    """The vote of some keys for a few prepared queries (b, D)."""
    # Powers of two take half as long as those of e: distances in units of ln 2.
    u = tile_distances(query, keys, part, exact=exact)  # (b, m)
    u.mul_(1 / (temperature * LN2))
    itself = None
    if mask is not None:
        u.masked_fill_(mask, _FAR)
    if own is not None:
        within = (own >= part.start) & (own < part.start + u.shape[1])
        queries = within.nonzero().squeeze(1)
        itself = (queries, own[queries] - part.start)
        u[itself] = _FAR
    nearest = u.amin(1, keepdim=True)
    # As in kernels.fused_loss: no denormal numbers, which are slow.
    p = torch.sub(nearest, u, out=u).clamp_min_(MIN_SCORE / LN2).exp2_()
    if mask is not None:
        p.masked_fill_(mask, 0.0)
    if itself is not None:
        p[itself] = 0.0
    values, weights = keys.values[part].split(_N_SUMMED), p.split(_N_SUMMED, 1)
    sums = query.new_zeros(keys.values.shape[1], len(query))  # (V + 1, b)
    for value, weight in zip(values, weights, strict=True):
        sums += value.T @ weight.T
    total = sums[-1:].T  # 0 where no key of the tile votes
    mean = sums[:-1].T / total.clamp_min(torch.finfo(total.dtype).tiny)
    return Votes(mean, total.log() - nearest * LN2)


def tile_distances(
    query: Tensor, keys: PreparedKeys, part: slice, *, exact: bool
) -> Tensor:
    """Distances (b, m) of prepared queries to some of the keys."""
    points, geometry = keys.keys[part], keys.geometry
    if not geometry.norms:
        return linear(-query, points)
    norms = query.square().sum(1, keepdim=True)  # (b, 1)
    of_keys = keys.norms[part]
    squared = linear(-2 * query, points, of_keys).add_(norms)
    if exact:
        # One pass in the cache tells of which queries a pair may have lost digits.
        least = squared.amin(1, keepdim=True)
        near = (least < (norms + of_keys.max()) * 2**-10)[:, 0].nonzero()[:, 0]
        if len(near):
            some = squared[near]
            recompute_near_pairs(some, norms[near] + of_keys, query[near], points)
            squared[near] = some
    squared.clamp_min_(0)
    return squared.sqrt_() if geometry.root else squared
