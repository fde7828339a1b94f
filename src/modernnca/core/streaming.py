"""Votes of many keys, tile by tile, merged as they come: exact, and never many pairs.

A tile of some queries and some keys stays in the cache through all that is done to it;
the plain way reads and writes each pair from memory a dozen times. What a tile says is
merged with what was heard before, as in `core.softnn.merge`.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from modernnca.core.distances import mend_near_pairs
from modernnca.core.geometry import GEOMETRIES, Geometry
from modernnca.core.kernels import (
    Halves,
    Words,
    halve_all,
    halve_values,
    hear_all,
    usable,
)
from modernnca.core.softnn import Rule, Votes, exponential

_LEAST = -60.0
# Of a product with few columns some libraries add up the terms one after the other. So
# many lose no digits that matter, and lying on their side they are faster, too.
_IN_A_ROW = 1024
_FAR = 1e30  # where those are who do not answer; not inf, whose differences are NaN


def geometry_of(rule: Rule) -> Geometry | None:
    """The geometry of a rule whose votes can be streamed; None for other rules."""
    if rule.n_neighbors is not None or rule.kernel is not exponential:
        return None
    return GEOMETRIES.get(rule.distance)


class Ready(NamedTuple):
    """Remembered rows, with all that can be counted before anybody asks."""

    geometry: Geometry
    middle: Tensor | None  # (D,)
    keys: Tensor  # (M, D) placed
    norms: Tensor  # (M,) their squared lengths
    heard: Tensor  # (M, V + 1) values and ones, times the rows' weights
    halved: tuple[Halves, Words] | None  # keys and heard, for kernels
    moments: Tensor | None = None  # (M,) when the rows happened


def make_ready(
    keys: Tensor,
    values: Tensor,
    geometry: Geometry,
    log_weights: Tensor | None,
    moments: Tensor | None = None,
) -> Ready:
    """Place keys (M, D) that vote for values (M, V)."""
    middle = geometry.middle(keys)
    placed = geometry.place(keys, middle).contiguous()
    heard = torch.cat([values, values.new_ones(len(values), 1)], 1)
    if log_weights is not None:
        heard = heard * log_weights.exp()[:, None]
    halved = None
    if usable(placed, heard.shape[1]) and len(placed):
        halved = halve_all(placed), halve_values(heard)
    norms = placed.square().sum(1)
    return Ready(geometry, middle, placed, norms, heard, halved, moments)


def stream_vote(
    query: Tensor,
    ready: Ready,
    *,
    temperature: Tensor | float,
    asked: Tensor | None = None,
    mend: bool = True,
) -> Votes:
    """What `soft_vote` with the exponential kernel gives for queries (B, D).

    Rows that happened after a query asked (B,) do not answer it; one that asked before
    all hears the earliest. Without `mend`, distances of near rows may lose digits, as
    they do in training.
    """
    geometry = ready.geometry
    placed = geometry.place(query, ready.middle)
    if len(placed) == 0:
        return Votes(ready.heard[:0, :-1], ready.heard[:0, -1:])
    if asked is not None and ready.moments is not None:
        first, last = ready.moments.aminmax()
        if bool((asked < last).any()):  # else they hear everybody
            asked = asked.clamp_min(first)
            return _vote_by_tiles(placed, ready, temperature, asked, mend=mend)
    if ready.halved is not None and placed.dtype == torch.float32:
        return _vote_by_kernel(placed, ready, temperature, mend=mend)
    return _vote_by_tiles(placed, ready, temperature, mend=mend)


def _vote_by_kernel(
    query: Tensor, ready: Ready, temperature: Tensor | float, *, mend: bool
) -> Votes:
    """Votes for placed queries (B, D); those that lost digits are counted again."""
    assert ready.halved is not None
    keys, words = ready.halved
    heard, nearest, near = hear_all(
        halve_all(query),
        keys,
        words,
        sharp=1 / temperature,
        norms=ready.geometry.norms,
        root=ready.geometry.root,
    )
    loud = heard[:, -1:]
    mean, log_weight = heard[:, :-1] / loud, loud.log() - nearest
    again = near.nonzero().squeeze(1) if mend and near is not None else ()
    if len(again):
        mended = _vote_by_tiles(query[again], ready, temperature, mend=True)
        mean[again], log_weight[again] = mended.mean, mended.log_weight
    return Votes(mean, log_weight)


def _vote_by_tiles(
    query: Tensor,
    ready: Ready,
    temperature: Tensor | float,
    asked: Tensor | None = None,
    *,
    mend: bool,
) -> Votes:
    """Votes for placed queries (B, D), some queries and some keys at a time."""
    n_queries, n_keys = (256, 4096) if query.device.type == "cpu" else (4096, 8192)
    parts = []
    for start in range(0, len(query), n_queries):
        few = slice(start, start + n_queries)
        when = None if asked is None else asked[few, None]
        parts.append(_vote_of_all(query[few], ready, temperature, when, n_keys, mend))
    mean, log_weight = (torch.cat(part) for part in zip(*parts, strict=True))
    return Votes(mean, log_weight)


def _vote_of_all(
    query: Tensor,
    ready: Ready,
    temperature: Tensor | float,
    asked: Tensor | None,
    n_keys: int,
    mend: bool,
) -> tuple[Tensor, Tensor]:
    """The votes for a few placed queries (b, D): mean (b, V) and log-weight (b, 1)."""
    norms = query.square().sum(1, keepdim=True)  # (b, 1)
    nearest = query.new_full((len(query), 1), torch.inf)
    heard = query.new_zeros(ready.heard.shape[1], len(query))  # (V + 1, b)
    # One query reads every key once, whatever the tiles: do not cut its work up.
    n_keys = max(n_keys, 2**20 // max(1, len(query)))
    for start in range(0, len(ready.keys), n_keys):
        some = slice(start, start + n_keys)
        u = _distances(query, norms, ready, some, mend).div_(temperature)  # (b, m)
        later = None
        if asked is not None and ready.moments is not None:
            later = ready.moments[some] > asked
            u.masked_fill_(later, _FAR)
        nearer = torch.minimum(nearest, u.amin(1, keepdim=True))
        # As in core.fused: no numbers that are slow for being small.
        p = torch.sub(nearer, u, out=u).clamp_min_(_LEAST).exp_()
        if later is not None:
            p.masked_fill_(later, 0.0)
        heard.mul_((nearer - nearest).exp_().T)
        said, shares = ready.heard[some].split(_IN_A_ROW), p.split(_IN_A_ROW, 1)
        for few, their in zip(said, shares, strict=True):
            heard += few.T @ their.T
        nearest = nearer
    loud = heard[-1:].T
    return heard[:-1].T / loud, loud.log() - nearest


def _distances(
    query: Tensor, norms: Tensor, ready: Ready, some: slice, mend: bool
) -> Tensor:
    """Distances (b, m) of placed queries to some of the keys."""
    keys, geometry = ready.keys[some], ready.geometry
    if not geometry.norms:
        return (query @ keys.T).neg_()
    squared = torch.addmm(ready.norms[some], query, keys.T, alpha=-2).add_(norms)
    # One pass in the cache tells whether any pair may have lost digits.
    if mend and squared.amin() < (norms.max() + ready.norms[some].max()) * 2**-10:
        mend_near_pairs(squared, norms + ready.norms[some], query, keys)
    squared.clamp_min_(0)
    return squared.sqrt_() if geometry.root else squared
