"""The votes of all keys on each other, without themselves, each pair computed once.

Distances are symmetric, so a tile of pairs serves its rows and its columns. To have one
number for both, weights are scaled by the square roots of what is expected of the
nearest key of either. Rows for which that is too far off are named, to be asked again.
"""

import torch
from torch import Tensor

from modernnca.core.softnn import Votes
from modernnca.kernels.fused_loss import LN2
from modernnca.kernels.streaming import PreparedKeys, tile_distances

_N_ROWS, _N_PAIRS = 256, 2**17  # a tile stays in the cache of a core
_N_SAMPLED = 512  # keys that tell how near the nearest is, about
# Exponents of two. Smaller weights count as the least; a row whose total is below the
# bound would feel them.
_LEAST, _MAX_RANGE, _LEAST_TOTAL = -100.0, 30.0, 2.0**-30


def self_votes(
    keys: PreparedKeys, temperature: Tensor | float
) -> tuple[Votes, Tensor] | None:
    """The votes (M, V) of all keys but itself on each, and which to ask again (M,).

    None if distances to the nearest keys differ too much for one scale.
    """
    keys = _scaled(keys, temperature)
    half = _nearest(keys) / 2  # (M,)
    middle = half.median()
    if not bool((half - middle).abs().max() <= _MAX_RANGE):
        return None
    scaled = keys.values * (middle - half).exp2()[:, None]  # (M, V + 1)
    sums = torch.zeros_like(scaled)
    for first in range(0, len(half), _N_ROWS):
        rows = slice(first, min(first + _N_ROWS, len(half)))
        own = _weights(keys, half, rows, rows)
        own.fill_diagonal_(0.0)
        sums[rows] += own @ scaled[rows]
        for start in range(rows.stop, len(half), _N_PAIRS // _N_ROWS):
            others = slice(start, start + _N_PAIRS // _N_ROWS)
            weights = _weights(keys, half, rows, others)  # (b, m)
            sums[rows] += weights @ scaled[others]
            sums[others] += weights.T @ scaled[rows]
    total = sums[:, -1:]
    again = ~(total.isfinite() & (total > _LEAST_TOTAL)).squeeze(1)
    log_weight = total.log() - (half + middle)[:, None] * LN2
    return Votes(sums[:, :-1] / total, log_weight), again


def _scaled(keys: PreparedKeys, temperature: Tensor | float) -> PreparedKeys:
    """The keys at such a scale that a distance is the exponent of two of a weight."""
    scale = 1 / (temperature * LN2)
    if not keys.geometry.root:
        scale = scale**0.5
    return keys._replace(keys=keys.keys * scale, norms=keys.norms * scale**2)


def _weights(keys: PreparedKeys, half: Tensor, rows: slice, others: slice) -> Tensor:
    """The weights (b, m) of pairs of keys."""
    u = tile_distances(keys.keys[rows], keys, others, exact=True)
    exponents = torch.sub(half[others], u, out=u).add_(half[rows, None])
    return exponents.clamp_min_(_LEAST).exp2_()


def _nearest(keys: PreparedKeys) -> Tensor:
    """The distance (M,) to the nearest of some keys, but itself."""
    n_keys = len(keys.keys)
    sampled = torch.arange(0, n_keys, -(-n_keys // _N_SAMPLED), device=keys.keys.device)
    some = keys._replace(keys=keys.keys[sampled], norms=keys.norms[sampled])
    parts = []
    for start in range(0, n_keys, _N_ROWS):
        rows = torch.arange(start, min(start + _N_ROWS, n_keys), device=sampled.device)
        u = tile_distances(keys.keys[rows], some, slice(None), exact=True)
        u.masked_fill_(rows[:, None] == sampled, torch.inf)
        parts.append(u.amin(1))
    return torch.cat(parts)
