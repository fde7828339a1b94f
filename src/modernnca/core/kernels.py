"""GPU kernels: soft nearest neighbors, streamed both ways as in flash attention.

They need Triton, which comes with torch's GPU builds; without it, or for shapes that
they do not know, `core.streaming` and `core.fused` go their own ways. The same code
runs on a CPU in Triton's interpreter (TRITON_INTERPRET=1), where tests hold it to the
plain way.

Inner products are made of three products of short numbers (tf32x3): differences of
squared lengths would show the digits that a single one drops.
"""

import importlib.util
import os
from typing import NamedTuple

import torch
from torch import Tensor

_INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"
# Points of more dimensions do not fit beside each other on a chip.
_MOST_DIMENSIONS = 256
_MOST_VALUES = 63

if importlib.util.find_spec("triton") is not None:
    from modernnca.core.triton_kernels import hear, tug, weigh

    _HERE = True
else:
    _HERE = False


class Heard(NamedTuple):
    """What some queries heard from all keys."""

    heard: Tensor  # (B, V + 1) sums of what was heard, times exp(nearest)
    nearest: Tensor  # (B, 1) the least scaled distance
    near: Tensor  # (B,) True where a distance lost digits and should be counted again


class Tiles(NamedTuple):
    """How a kernel cuts its work up: queries and keys at a time, warps, stages."""

    n_queries: int
    n_keys: int
    n_warps: int
    n_stages: int


# The best of 22 on an H200 with 128 dimensions: 6.4 ms for 10,000 x 100,000 pairs,
# where products in plain float32 and passes over the pairs take 30.
_TILES = Tiles(128, 64, 8, 1)
_SMALL = Tiles(32, 32, 4, 1)  # for more than 128 dimensions


def usable(points: Tensor, n_values: int) -> bool:
    """Whether the kernels can serve points (N, D) and V + 1 values."""
    on_chip = points.device.type == "cuda" or _INTERPRETED
    small = points.shape[1] <= _MOST_DIMENSIONS and n_values <= _MOST_VALUES
    return _HERE and on_chip and small and points.dtype == torch.float32


def _power_of_two(n: int) -> int:
    return 1 << max(4, (n - 1).bit_length())


def _padded(x: Tensor) -> Tensor:
    """Columns of zeros up to a power of two, which kernels want."""
    width = _power_of_two(x.shape[1]) - x.shape[1]
    return (torch.nn.functional.pad(x, (0, width)) if width else x).contiguous()


def _n_parts(n_blocks: int, n_keys: int, tile: int) -> tuple[int, int]:
    """Cut the keys so that every multiprocessor is busy a few times over."""
    n_parts = max(1, min(-(-512 // n_blocks), -(-n_keys // (4 * tile))))
    each = -(-n_keys // n_parts)
    each = -(-each // tile) * tile
    return -(-n_keys // each), each


def hear_all(
    query: Tensor,
    keys: Tensor,
    values: Tensor,
    *,
    norms: bool,
    root: bool,
) -> Heard:
    """Sum what all keys say to each query, weighted by exp(-distance).

    Args:
        query: (B, D) placed and scaled.
        keys: (M, D) likewise.
        values: (M, V + 1) values and a column of ones, times the keys' weights.
    """
    n_queries, n_keys, n_values = len(query), len(keys), values.shape[1]
    query, keys, values = _padded(query), _padded(keys), _padded(values)
    tiles = _TILES if keys.shape[1] <= 128 else _SMALL
    n_blocks = -(-n_queries // tiles.n_queries)
    n_parts, n_keys_each = _n_parts(n_blocks, n_keys, tiles.n_keys)
    heard = query.new_empty(n_parts, n_queries, values.shape[1])
    nearest = query.new_empty(n_parts, n_queries)
    near = torch.empty(n_parts, n_queries, dtype=torch.int32, device=query.device)
    hear[(n_blocks, n_parts)](
        query,
        torch.linalg.vecdot(query, query),
        keys,
        torch.linalg.vecdot(keys, keys),
        values,
        heard,
        nearest,
        near,
        n_queries,
        n_keys,
        n_keys_each,
        dim=keys.shape[1],
        n_values=values.shape[1],
        n_rows=tiles.n_queries,
        n_columns=tiles.n_keys,
        norms=norms,
        root=root,
        num_warps=tiles.n_warps,
        num_stages=tiles.n_stages,
    )
    least = nearest.amin(0)  # (B,)
    shares = (least - nearest).exp()  # (parts, B)
    summed = torch.einsum("pbv,pb->bv", heard, shares)[:, :n_values]
    return Heard(summed, least[:, None], near.amax(0).bool())


def weigh_all(
    inner: Tensor,
    lengths: Tensor,
    values: Tensor,
    *,
    first: int,
    norms: bool,
    root: bool,
) -> tuple[Tensor, Tensor]:
    """Turn inner products (b, M) into distances, in place; what was heard, how near.

    The queries are the points `first`, `first` + 1, ...; none answers itself.
    """
    (n_queries, n_keys), n_values = inner.shape, values.shape[1]
    values = _filled(values)
    heard = inner.new_empty(n_queries, values.shape[1])
    nearest = inner.new_empty(n_queries)
    weigh[(n_queries,)](
        inner,
        lengths,
        values,
        heard,
        nearest,
        first,
        n_keys,
        n_values=values.shape[1],
        n_columns=max(32, _STRIPE // values.shape[1]),
        norms=norms,
        root=root,
        num_warps=8,
    )
    return heard[:, :n_values], nearest


def tug_all(
    distances: Tensor, values: Tensor, pull: Tensor, nearest: Tensor, *, root: bool
) -> Tensor:
    """Turn distances (b, M) into slopes' weights h / u (or h), in place; sum(h u)."""
    values, pull = _filled(values), _filled(pull)
    n_queries, n_keys = distances.shape
    n_columns = max(32, _STRIPE // values.shape[1])
    n_stripes = -(-n_keys // n_columns)
    warmth = distances.new_empty(n_queries, n_stripes)
    tug[(n_queries, n_stripes)](
        distances,
        values,
        pull,
        nearest,
        warmth,
        n_keys,
        n_values=values.shape[1],
        n_columns=n_columns,
        root=root,
        num_warps=4,
    )
    return warmth.sum()


_STRIPE = 4096  # numbers that a program holds of the values


def _filled(x: Tensor) -> Tensor:
    """Columns of zeros up to a power of two."""
    width = 1 << (x.shape[1] - 1).bit_length()
    return torch.nn.functional.pad(x, (0, width - x.shape[1])).contiguous()
