"""GPU kernels: soft nearest neighbors, streamed both ways as in flash attention.

They need Triton, which comes with torch's GPU builds; without it, or for shapes that
they do not know, `core.streaming` and `core.fused` go their own ways. The same code runs
on a CPU in Triton's interpreter (TRITON_INTERPRET=1), where tests hold it to the plain
way.

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
    from modernnca.core.triton_kernels import hear, pull_keys, pull_queries

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


# Measured on an H200 with 128 dimensions (benchmarks/speed.py).
TILES = {
    "hear": Tiles(64, 64, 4, 2),
    "pull_queries": Tiles(64, 64, 4, 1),
    "pull_keys": Tiles(64, 64, 4, 1),
}
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


def _tiles(kernel: str, dim: int) -> Tiles:
    return TILES[kernel] if dim <= 128 else _SMALL


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
    own: bool = False,
    floor: Tensor | None = None,
) -> Heard:
    """Sum what all keys say to each query, weighted by exp(-distance).

    Args:
        query: (B, D) placed and scaled.
        keys: (M, D) likewise.
        values: (M, V + 1) values and a column of ones, times the keys' weights.
        own: the queries are the first keys, and none answers itself.
        floor: the least squared distance.
    """
    n_queries, n_keys, n_values = len(query), len(keys), values.shape[1]
    query, keys, values = _padded(query), _padded(keys), _padded(values)
    tiles = _tiles("hear", keys.shape[1])
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
        query.new_zeros(1) if floor is None else floor.view(1),
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
        own=own,
        num_warps=tiles.n_warps,
        num_stages=tiles.n_stages,
    )
    least = nearest.amin(0)  # (B,)
    shares = (least - nearest).exp()  # (parts, B)
    summed = torch.einsum("pbv,pb->bv", heard, shares)[:, :n_values]
    return Heard(summed, least[:, None], near.amax(0).bool())


def pull_all(
    points: Tensor,
    values: Tensor,
    pull: Tensor,
    nearest: Tensor,
    *,
    norms: bool,
    root: bool,
    floor: Tensor,
) -> tuple[Tensor, Tensor]:
    """The slope of the loss by points (M, D), of which the first B ask; and sum(h u).

    Args:
        values: (M, V + 1) as in `hear_all`.
        pull: (B, V + 1) such that pull . values, times exp(nearest - u), is the slope h
            by a score.
        nearest: (B, 1) from `hear_all`.
    """
    (n_keys, n_dimensions), n_queries = points.shape, len(pull)
    points, values, pull = _padded(points), _padded(values), _padded(pull)
    lengths = torch.linalg.vecdot(points, points)
    nearest, dim = nearest.contiguous(), points.shape[1]
    tiles = _tiles("pull_queries", dim)
    n_blocks = -(-n_queries // tiles.n_queries)
    n_parts, n_keys_each = _n_parts(n_blocks, n_keys, tiles.n_keys)
    by_part = points.new_empty(n_parts, n_queries, dim)
    warmth = points.new_empty(n_parts, n_queries)
    shared = (points, lengths, values, pull, nearest, floor.view(1))
    pull_queries[(n_blocks, n_parts)](
        *shared,
        by_part,
        warmth,
        n_queries,
        n_keys,
        n_keys_each,
        dim=dim,
        n_values=values.shape[1],
        n_rows=tiles.n_queries,
        n_columns=tiles.n_keys,
        norms=norms,
        root=root,
        num_warps=tiles.n_warps,
        num_stages=tiles.n_stages,
    )
    tiles = _tiles("pull_keys", dim)
    slope = torch.empty_like(points)
    pull_keys[(-(-n_keys // tiles.n_keys),)](
        *shared,
        slope,
        n_queries,
        n_keys,
        dim=dim,
        n_values=values.shape[1],
        n_rows=tiles.n_queries,
        n_columns=tiles.n_keys,
        norms=norms,
        root=root,
        num_warps=tiles.n_warps,
        num_stages=tiles.n_stages,
    )
    slope[:n_queries] += by_part.sum(0)
    return slope[:, :n_dimensions], warmth.sum()
