"""GPU kernels: soft nearest neighbors, streamed forward and backward.

They need Triton, which comes with torch's GPU builds; without it, or for shapes that
they do not support, `kernels.streaming` and `kernels.fused_loss` compute the same with
torch. The same code runs on a CPU in Triton's interpreter (TRITON_INTERPRET=1), where
tests hold it to the plain way.

Tensor cores multiply float16 fast and accumulate in float32. So a point is kept as the
sum of two float16, high and low, scaled so that they hold 22 of the 24 bits of a
float32, and an inner product is made of three: high x high, high x low, low x high. A
single one would lose digits that a difference of squared norms needs.
"""

import importlib.util
import os
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import pad

_INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"
# Points of more dimensions do not fit beside each other on a chip.
_MAX_DIM = 256
_MAX_VALUES = 63
_N_PROCESSORS = 132  # of an H200; others only lose some time
# What the largest number of a matrix becomes in float16, which ends at 2^16.
_FULL = 2.0**14

if importlib.util.find_spec("triton") is not None:
    from modernnca.kernels import triton_vote

    _INSTALLED = True
else:
    _INSTALLED = False


class Tiles(NamedTuple):
    """How a kernel cuts its work up: rows and columns at a time, warps, stages."""

    n_rows: int
    n_columns: int
    n_warps: int
    n_stages: int


# The best of 24 each, 128 dimensions, H200: 10,000 queries and 100,000 keys for the
# first, 1,024 and 15,000 for the others.
TILES = {
    "forward": Tiles(64, 64, 4, 2),
    "forward, exclude self": Tiles(64, 64, 4, 3),
    "backward, queries": Tiles(128, 64, 8, 2),
    "backward, keys": Tiles(128, 64, 8, 2),
}
_WIDE = Tiles(64, 32, 4, 1)  # for more than 128 dimensions


def supported(points: Tensor, n_values: int) -> bool:
    """Whether the kernels can serve points (N, D) and V + 1 values."""
    on_chip = points.device.type == "cuda" or _INTERPRETED
    small = points.shape[1] <= _MAX_DIM and n_values <= _MAX_VALUES
    return _INSTALLED and on_chip and small and points.dtype == torch.float32


def _power_of_two(n: int, least: int) -> int:
    return max(least, 1 << (n - 1).bit_length())


class SplitPoints(NamedTuple):
    """Points as the sum of two float16 matrices."""

    high: Tensor  # (N, D up to a power of two)
    low: Tensor  # likewise
    sq_norms: Tensor  # (N,) of the points
    scale: Tensor  # () what the points were multiplied by
    center: Tensor  # (D,) what was subtracted first
    width: int  # D

    def first(self, n: int) -> "SplitPoints":
        """The first n points."""
        return self._replace(
            high=self.high[:n], low=self.low[:n], sq_norms=self.sq_norms[:n]
        )


def split_points(
    points: Tensor,
    center: Tensor | None = None,
    *,
    scale: Tensor | None = None,
    row_scale: Tensor | None = None,
) -> SplitPoints:
    """Split points (N, D) less `center` (D,), times `row_scale` (N,) if given."""
    points = points.contiguous()
    (n_points, width), dim = points.shape, _power_of_two(points.shape[1], 16)
    if center is None:
        center = points.new_zeros(width)
    if scale is None:
        scale = _FULL / _max_deviation(points, center).clamp_min(1e-15)
    high = points.new_empty(n_points, dim, dtype=torch.float16)
    low, sq_norms = torch.empty_like(high), points.new_empty(n_points)
    triton_vote.split_fp16[(-(-n_points // 32),)](
        points,
        center,
        scale,
        scale if row_scale is None else row_scale,
        high,
        low,
        sq_norms,
        n_points,
        width,
        dim=dim,
        n_rows=32,
        by_row=row_scale is not None,
    )
    return SplitPoints(high, low, sq_norms, scale, center, width)


def _max_deviation(points: Tensor, center: Tensor) -> Tensor:
    """How far points (N, D) are from the center (D,) in any dimension: ().

    Profile of a step at 28,934 x 16: torch's amin and amax over rows took 46 of 930
    microseconds, and aminmax needs memory for four times the points; this takes 6.
    """
    (n_points, width), n_rows = points.shape, 64
    largest = points.new_empty(-(-n_points // n_rows))
    triton_vote.max_deviation[(len(largest),)](
        points,
        center,
        largest,
        n_points,
        width,
        dim=_power_of_two(width, 16),
        n_rows=n_rows,
    )
    return largest.amax()


class SplitValues(NamedTuple):
    """Values and ones, times the weights of the keys, as the kernels want them."""

    split: Tensor  # (M, 2n) high and low side by side
    max_value: Tensor  # () absolute
    scale: Tensor  # ()
    n_values: int  # V + 1, of n


def split_values(values: Tensor) -> SplitValues:
    """Split values (M, V + 1)."""
    n_values = values.shape[1]
    max_value = values.abs().amax().clamp_min(1e-15)
    scale = _FULL / max_value
    values = pad(values * scale, (0, _power_of_two(n_values, 8) - n_values))
    high = values.half()
    split = torch.cat([high, (values - high).half()], 1)
    return SplitValues(split, max_value, scale, n_values)


def _tiles(kernel: str, keys: SplitPoints) -> Tiles:
    return TILES[kernel] if keys.high.shape[1] <= 128 else _WIDE


def _n_parts(n_blocks: int, n_keys: int, tile: int) -> tuple[int, int]:
    """The number and size of parts of the keys that keep all processors busy.

    >>> _n_parts(79, 100_000, 128)  # 395 programs, three for each processor
    (5, 20096)
    """
    most = max(1, min(-(-1024 // n_blocks), n_keys // (4 * tile)))
    # Rounds over all processors, times what one round takes.
    n_parts = min(
        range(1, most + 1), key=lambda n: -(-n_blocks * n // _N_PROCESSORS) / n
    )
    each = -(-n_keys // (n_parts * tile)) * tile
    return -(-n_keys // each), each


class Forward(NamedTuple):
    """What `vote_forward` returns."""

    sums: Tensor  # (B, V + 1) weighted sums of values, times exp(min_distance)
    min_distance: Tensor  # (B, 1) the least scaled distance
    inexact: Tensor | None  # (B,) True where digits were lost


def vote_forward(
    query: SplitPoints,
    keys: SplitPoints,
    values: SplitValues,
    *,
    inverse_temperature: Tensor | float,
    norms: bool,
    root: bool,
    exclude_self: bool = False,
) -> Forward:
    """Sum the values of all keys for each query, weighted by exp(-distance / T).

    With `exclude_self` the queries are the first of the keys, and none votes on itself.
    """
    n_queries, n_keys, width = len(query.high), len(keys.high), values.split.shape[1]
    tiles = _tiles("forward, exclude self" if exclude_self else "forward", keys)
    n_blocks = -(-n_queries // tiles.n_rows)
    n_parts, n_keys_each = _n_parts(n_blocks, n_keys, tiles.n_columns)
    sums = keys.sq_norms.new_empty(n_parts, n_queries, width)
    min_distance = keys.sq_norms.new_empty(n_parts, n_queries)
    inexact = None
    if norms and not exclude_self:
        inexact = torch.empty_like(min_distance, dtype=torch.int32)
    triton_vote.forward[(n_blocks, n_parts)](
        query.high,
        query.low,
        query.sq_norms,
        keys.high,
        keys.low,
        keys.sq_norms,
        values.split,
        query.scale,
        keys.scale,
        torch.as_tensor(inverse_temperature, dtype=sums.dtype, device=sums.device),
        sums,
        min_distance,
        min_distance if inexact is None else inexact,
        n_queries,
        n_keys,
        n_keys_each,
        dim=keys.high.shape[1],
        n_values=width,
        n_rows=tiles.n_rows,
        n_columns=tiles.n_columns,
        norms=norms,
        root=root,
        exclude_self=exclude_self,
        num_warps=tiles.n_warps,
        num_stages=tiles.n_stages,
    )
    least = min_distance.amin(0)  # (B,)
    shares = (least - min_distance).exp() / (_FULL * values.scale)  # (parts, B)
    total = torch.einsum("pbv,pb->bv", sums, shares)
    total = total[:, : width // 2] + total[:, width // 2 :]
    return Forward(
        total[:, : values.n_values],
        least[:, None],
        None if inexact is None else inexact.amax(0).bool(),
    )


def vote_backward(
    points: Tensor,
    split: SplitPoints,
    values: Tensor,
    grad_values: Tensor,
    min_distance: Tensor,
    *,
    max_value: Tensor,
    inverse_temperature: Tensor,
    norms: bool,
    root: bool,
) -> tuple[Tensor, Tensor]:
    """The gradient of the loss by the points (M, D), and sum(h u) over all pairs.

    Args:
        points: (M, D), of which the first B are queries.
        split: the same points.
        values: (M, V + 1), as in `vote_forward`.
        grad_values: (B, V + 1) the gradient by the weighted sums of a query.
        min_distance: (B, 1) the least scaled distances.
        max_value: the largest absolute value.
    """
    n_queries = len(grad_values)
    # The largest gradient that a pair of this query can have.
    query_scale = grad_values.abs().sum(1, keepdim=True) * max_value
    query_scale = query_scale * (2 * inverse_temperature)
    if root:
        query_scale = query_scale * inverse_temperature / min_distance
    query_scale = (query_scale / _FULL).clamp_min(1e-30)
    scale = split.scale / query_scale.amax()
    scaled_queries = split_points(
        points[:n_queries], split.center, scale=scale, row_scale=query_scale
    )
    values, grad_values = values.T.contiguous(), grad_values.T.contiguous()
    queries = split.first(n_queries)
    gradient = torch.empty_like(points)
    score_sum = points.new_zeros(1)
    for own_are_queries in (False, True):
        kernel = "backward, queries" if own_are_queries else "backward, keys"
        tiles = _tiles(kernel, split)
        own, other = (queries, split) if own_are_queries else (split, queries)
        n_blocks = -(-len(own.high) // tiles.n_rows)
        n_parts, each = 1, len(other.high)
        if own_are_queries:
            n_parts, each = _n_parts(n_blocks, each, tiles.n_columns)
            score_sum = points.new_empty(n_parts, n_queries)
        triton_vote.backward[(n_blocks, n_parts)](
            points,
            split.center,
            own.high,
            own.low,
            own.sq_norms,
            grad_values if own_are_queries else values,
            other.high,
            other.low,
            other.sq_norms,
            values if own_are_queries else grad_values,
            scaled_queries.high,
            scaled_queries.low,
            min_distance,
            query_scale,
            split.scale,
            split.scale if own_are_queries else scale,
            inverse_temperature,
            gradient,
            score_sum,
            len(own.high),
            len(other.high),
            each,
            split.width,
            dim=split.high.shape[1],
            n_values=len(values),
            n_rows=tiles.n_rows,
            n_columns=tiles.n_columns,
            norms=norms,
            root=root,
            own_are_queries=own_are_queries,
            num_warps=tiles.n_warps,
            num_stages=tiles.n_stages,
        )
    return gradient, score_sum.sum()


def interpolate_forward(
    table: Tensor, rows: Tensor, below: Tensor, share: Tensor
) -> Tensor:
    """Sum the cells of `rows` (M,), each between two rows of the table (R, D)."""
    n_at_once, width = 16, table.shape[1]
    out = table.new_empty(len(rows), width)
    triton_vote.interpolate[(-(-len(rows) // n_at_once),)](
        table,
        rows,
        below,
        share,
        out,
        len(rows),
        below.shape[1],
        width,
        dim=_power_of_two(width, 16),
        n_at_once=n_at_once,
        num_warps=4,
    )
    return out


def interpolate_backward(
    gradient: Tensor,
    places: Tensor,
    order: Tensor,
    share: Tensor,
    bags: Tensor,
    *,
    n_knots: int,
) -> Tensor:
    """The gradient of the table (R, D): see `kernels.knot_bags`."""
    width = gradient.shape[1]
    out = gradient.new_zeros(n_knots, width)
    triton_vote.interpolate_grad[(bags.shape[1],)](
        gradient,
        places,
        order,
        share,
        bags,
        out,
        bags.shape[1],
        width,
        dim=_power_of_two(width, 16),
        n_at_once=16,
        num_warps=4,
    )
    return out
