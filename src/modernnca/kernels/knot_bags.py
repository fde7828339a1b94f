"""Interpolation between knots for most rows of a table, by GPU kernels.

A row of the table of knots gets its gradient from all cells next to that knot. Which
ones these are never changes, so they are grouped into bags once. A step looks up which
rows of the bags it has used, and needs neither sorting nor copies of cells.
"""

from typing import Any, NamedTuple

import torch
from torch import Tensor

from modernnca.kernels.knots import Cells
from modernnca.kernels.vote_kernels import (
    interpolate_backward,
    interpolate_forward,
    supported,
)

_BAG_SIZE = 256  # a knot with more cells has several bags, for balance


class Bags(NamedTuple):
    """All cells of N rows and P columns, sorted by the knot below."""

    rows: Tensor  # (N * P,) the row of each cell
    share: Tensor  # (N * P,) how near the knot above is
    bags: Tensor  # (3, number of bags) knot below, first cell, last cell + 1


def bags_supported(numbers: Tensor) -> bool:
    """Whether the kernels can interpolate such numbers."""
    return supported(numbers[:, :0], 1)


def make_bags(cells: Cells) -> Bags:
    """Group cells into bags."""
    n_columns = cells.below.shape[1]
    below, order = cells.below.flatten().sort()
    knots, counts = below.unique_consecutive(return_counts=True)
    n_bags = (counts + _BAG_SIZE - 1) // _BAG_SIZE  # of each knot
    knot = torch.arange(len(knots), device=below.device).repeat_interleave(n_bags)
    # The number of each bag among the bags of its knot.
    before = n_bags.cumsum(0) - n_bags
    number = torch.arange(len(knot), device=below.device) - before[knot]
    ends = counts.cumsum(0)
    first = (ends - counts)[knot] + number * _BAG_SIZE
    last = torch.minimum(first + _BAG_SIZE, ends[knot])
    return Bags(
        (order // n_columns).int(),
        cells.share.flatten()[order],
        torch.stack([knots[knot], first, last]).int(),
    )


class _SumCells(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, table: Tensor, cells: Cells, bags: Bags, rows: Tensor
    ) -> Tensor:
        ctx.bags, ctx.n_knots, ctx.n_rows = bags, len(table), len(cells.below)
        ctx.save_for_backward(rows)
        return interpolate_forward(table.contiguous(), rows, cells.below, cells.share)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        (rows,) = ctx.saved_tensors
        places = torch.full((ctx.n_rows,), -1, dtype=torch.int32, device=rows.device)
        here = torch.arange(len(rows), dtype=torch.int32, device=rows.device)
        places.scatter_(0, rows, here)
        gradient = interpolate_backward(
            gradients[0].contiguous(), places, *ctx.bags, n_knots=ctx.n_knots
        )
        return gradient, None, None, None


def sum_cells(table: Tensor, cells: Cells, bags: Bags, rows: Tensor) -> Tensor:
    """What `cells.take(rows).look_up(table)` gives, for rows (M,) that all differ."""
    out: Tensor = _SumCells.apply(table, cells, bags, rows)
    return out
