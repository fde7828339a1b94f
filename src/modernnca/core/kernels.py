"""GPU kernels: soft nearest neighbors, streamed both ways as in flash attention.

They need Triton, which comes with torch's GPU builds; without it, or for shapes that
they do not know, `core.streaming` and `core.fused` go their own ways. The same code
runs on a CPU in Triton's interpreter (TRITON_INTERPRET=1), where tests hold it to the
plain way.

Tensor cores multiply numbers of half length fast, and add them up in full. So a point
is kept as the sum of two halves, high and rest, brought to a unit in which they have 22
of the 24 digits of a float32, and an inner product is made of three: high x high, high
x rest, rest x high. A single one would drop digits that a difference of squared lengths
shows.
"""

import importlib.util
import os
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import pad

_INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"
# Points of more dimensions do not fit beside each other on a chip.
_MOST_DIMENSIONS = 256
_MOST_VALUES = 63
_PROCESSORS = 132  # of an H200; others only lose some time
# What the largest number of a matrix becomes in halves, which end at 2^16.
_FULL = 2.0**14

if importlib.util.find_spec("triton") is not None:
    from modernnca.core.triton_kernels import (
        halve,
        hand_back,
        hear,
        look_up,
        spread,
        steer,
    )

    _HERE = True
else:
    _HERE = False


class Tiles(NamedTuple):
    """How a kernel cuts its work up: rows and columns at a time, warps, stages."""

    n_rows: int
    n_columns: int
    n_warps: int
    n_stages: int


# The best of 24 each, 128 dimensions, H200: 10,000 queries and 100,000 keys for the
# first, 1,024 and 15,000 for the others.
TILES = {
    "hear": Tiles(64, 64, 4, 2),
    "hear alone": Tiles(64, 64, 4, 3),
    "ask": Tiles(128, 64, 8, 2),
    "answer": Tiles(128, 64, 8, 2),
}
_WIDE = Tiles(64, 32, 4, 1)  # for more than 128 dimensions


def usable(points: Tensor, n_values: int) -> bool:
    """Whether the kernels can serve points (N, D) and V + 1 values."""
    on_chip = points.device.type == "cuda" or _INTERPRETED
    small = points.shape[1] <= _MOST_DIMENSIONS and n_values <= _MOST_VALUES
    return _HERE and on_chip and small and points.dtype == torch.float32


def _power_of_two(n: int, least: int) -> int:
    return max(least, 1 << (n - 1).bit_length())


class Halves(NamedTuple):
    """Points in two halves of float16."""

    high: Tensor  # (N, D up to a power of two)
    rest: Tensor  # likewise
    lengths: Tensor  # (N,) squared, of the points
    unit: Tensor  # () what the points were multiplied by
    middle: Tensor  # (D,) what was taken from them first
    width: int  # D

    def first(self, n: int) -> "Halves":
        """The first n points."""
        return self._replace(
            high=self.high[:n], rest=self.rest[:n], lengths=self.lengths[:n]
        )


def halve_all(
    points: Tensor,
    middle: Tensor | None = None,
    *,
    unit: Tensor | None = None,
    loud: Tensor | None = None,
) -> Halves:
    """Halve points (N, D) less `middle` (D,), times `loud` (N,) if given."""
    points = points.contiguous()
    (n_points, width), dim = points.shape, _power_of_two(points.shape[1], 16)
    if middle is None:
        middle = points.new_zeros(width)
    if unit is None:
        unit = _FULL / _spread(points, middle).clamp_min(1e-15)
    high = points.new_empty(n_points, dim, dtype=torch.float16)
    rest, lengths = torch.empty_like(high), points.new_empty(n_points)
    halve[(-(-n_points // 32),)](
        points,
        middle,
        unit,
        unit if loud is None else loud,
        high,
        rest,
        lengths,
        n_points,
        width,
        dim=dim,
        n_rows=32,
        by_loud=loud is not None,
    )
    return Halves(high, rest, lengths, unit, middle, width)


def _spread(points: Tensor, middle: Tensor) -> Tensor:
    """How far points (N, D) lie from the middle (D,) in any one dimension: ().

    Profile of a step at 28,934 x 16: torch's amin and amax over rows took 46 of 930
    microseconds, and aminmax needs room for four times the points; this takes 6.
    """
    (n_points, width), n_rows = points.shape, 64
    most = points.new_empty(-(-n_points // n_rows))
    spread[(len(most),)](
        points,
        middle,
        most,
        n_points,
        width,
        dim=_power_of_two(width, 16),
        n_rows=n_rows,
    )
    return most.amax()


class Words(NamedTuple):
    """Values and ones, times the keys' weights, as kernels want them."""

    halves: Tensor  # (M, 2n) both halves side by side
    largest: Tensor  # () absolutely
    unit: Tensor  # ()
    n_values: int  # V + 1, of n


def halve_values(values: Tensor) -> Words:
    """Halve values (M, V + 1)."""
    n_values = values.shape[1]
    largest = values.abs().amax().clamp_min(1e-15)
    unit = _FULL / largest
    values = pad(values * unit, (0, _power_of_two(n_values, 8) - n_values))
    high = values.half()
    halves = torch.cat([high, (values - high).half()], 1)
    return Words(halves, largest, unit, n_values)


def _tiles(kernel: str, keys: Halves) -> Tiles:
    return TILES[kernel] if keys.high.shape[1] <= 128 else _WIDE


def _n_parts(n_blocks: int, n_keys: int, tile: int) -> tuple[int, int]:
    """Cut the keys into so many parts of so many: no processor idle in the last turn.

    >>> _n_parts(79, 100_000, 128)  # 395 programs, three for each processor
    (5, 20096)
    """
    most = max(1, min(-(-1024 // n_blocks), n_keys // (4 * tile)))
    # Turns of all processors, times what one takes.
    n_parts = min(range(1, most + 1), key=lambda n: -(-n_blocks * n // _PROCESSORS) / n)
    each = -(-n_keys // (n_parts * tile)) * tile
    return -(-n_keys // each), each


class Heard(NamedTuple):
    """What some queries heard from all keys."""

    heard: Tensor  # (B, V + 1) sums of what was heard, times exp(nearest)
    nearest: Tensor  # (B, 1) the least scaled distance
    near: Tensor | None  # (B,) True where digits were lost: to be counted again


def hear_all(
    query: Halves,
    keys: Halves,
    words: Words,
    *,
    sharp: Tensor | float,
    norms: bool,
    root: bool,
    alone: bool = False,
) -> Heard:
    """Sum what all keys say to each query, weighted by exp(-distance * sharp).

    With `alone` the queries are the first of the keys, and none hears itself.
    """
    n_queries, n_keys, width = len(query.high), len(keys.high), words.halves.shape[1]
    tiles = _tiles("hear alone" if alone else "hear", keys)
    n_blocks = -(-n_queries // tiles.n_rows)
    n_parts, n_keys_each = _n_parts(n_blocks, n_keys, tiles.n_columns)
    heard = keys.lengths.new_empty(n_parts, n_queries, width)
    nearest = keys.lengths.new_empty(n_parts, n_queries)
    near = None
    if norms and not alone:
        near = torch.empty_like(nearest, dtype=torch.int32)
    hear[(n_blocks, n_parts)](
        query.high,
        query.rest,
        query.lengths,
        keys.high,
        keys.rest,
        keys.lengths,
        words.halves,
        query.unit,
        keys.unit,
        torch.as_tensor(sharp, dtype=heard.dtype, device=heard.device),
        heard,
        nearest,
        nearest if near is None else near,
        n_queries,
        n_keys,
        n_keys_each,
        dim=keys.high.shape[1],
        n_values=width,
        n_rows=tiles.n_rows,
        n_columns=tiles.n_columns,
        norms=norms,
        root=root,
        alone=alone,
        num_warps=tiles.n_warps,
        num_stages=tiles.n_stages,
    )
    least = nearest.amin(0)  # (B,)
    shares = (least - nearest).exp() / (_FULL * words.unit)  # (parts, B)
    summed = torch.einsum("pbv,pb->bv", heard, shares)
    summed = summed[:, : width // 2] + summed[:, width // 2 :]
    return Heard(
        summed[:, : words.n_values],
        least[:, None],
        None if near is None else near.amax(0).bool(),
    )


def steer_all(
    points: Tensor,
    halves: Halves,
    values: Tensor,
    pull: Tensor,
    nearest: Tensor,
    *,
    largest: Tensor,
    sharp: Tensor,
    norms: bool,
    root: bool,
) -> tuple[Tensor, Tensor]:
    """The slope of the loss by the points (M, D), and the sum of what all pairs weigh
    times their distances.

    Args:
        points: (M, D) of which the first B ask.
        halves: of the same.
        values: (M, V + 1), as heard.
        pull: (B, V + 1) what a query's loss makes of a value.
        nearest: (B, 1) the least scaled distances.
        largest: the absolutely largest value.
    """
    n_queries = len(pull)
    # The most that a pair of this query can weigh.
    loud = pull.abs().sum(1, keepdim=True) * largest * (2 * sharp)
    if root:
        loud = loud * sharp / nearest
    loud = (loud / _FULL).clamp_min(1e-30)
    unit = halves.unit / loud.amax()
    moving = halve_all(points[:n_queries], halves.middle, unit=unit, loud=loud)
    words, pull = values.T.contiguous(), pull.T.contiguous()
    asking = halves.first(n_queries)
    slope = torch.empty_like(points)
    warmth = points.new_zeros(1)
    for own_asks in (False, True):
        tiles = _tiles("ask" if own_asks else "answer", halves)
        own, other = (asking, halves) if own_asks else (halves, asking)
        n_blocks = -(-len(own.high) // tiles.n_rows)
        n_parts, each = 1, len(other.high)
        if own_asks:
            n_parts, each = _n_parts(n_blocks, each, tiles.n_columns)
            warmth = points.new_empty(n_parts, n_queries)
        steer[(n_blocks, n_parts)](
            points,
            halves.middle,
            own.high,
            own.rest,
            own.lengths,
            pull if own_asks else words,
            other.high,
            other.rest,
            other.lengths,
            words if own_asks else pull,
            moving.high,
            moving.rest,
            nearest,
            loud,
            halves.unit,
            halves.unit if own_asks else unit,
            sharp,
            slope,
            warmth,
            len(own.high),
            len(other.high),
            each,
            halves.width,
            dim=halves.high.shape[1],
            n_values=len(words),
            n_rows=tiles.n_rows,
            n_columns=tiles.n_columns,
            norms=norms,
            root=root,
            own_asks=own_asks,
            num_warps=tiles.n_warps,
            num_stages=tiles.n_stages,
        )
    return slope, warmth.sum()


def look_up_cells(table: Tensor, rows: Tensor, below: Tensor, share: Tensor) -> Tensor:
    """Sum what the cells of `rows` (M,) find between rows of the table (R, D)."""
    n_at_once, width = 16, table.shape[1]
    out = table.new_empty(len(rows), width)
    look_up[(-(-len(rows) // n_at_once),)](
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


def give_back_cells(
    gradient: Tensor,
    places: Tensor,
    order: Tensor,
    share: Tensor,
    bags: Tensor,
    *,
    n_knots: int,
) -> Tensor:
    """The gradient of the table (R, D): see `core.bags`."""
    width = gradient.shape[1]
    out = gradient.new_zeros(n_knots, width)
    hand_back[(bags.shape[1],)](
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
