"""Look-ups between knots for most rows of a table, by GPU kernels.

A row of the table of knots gets its gradient from all cells beside it. Which ones these
are never changes, so they are put into bags once. A step finds out which rows of the
bags it has seen, and needs neither sorting nor copies of cells.
"""

from typing import Any, NamedTuple

import torch
from torch import Tensor

from modernnca.core.kernels import give_back_cells, look_up_cells, usable
from modernnca.core.knots import Cells

_MOST = 256  # cells of a bag: a knot with many cells has several bags, for balance


class Bags(NamedTuple):
    """All cells of N rows and P columns, sorted by the knot below."""

    rows: Tensor  # (N * P,) whose cells they are
    share: Tensor  # (N * P,) how near the knot above is
    bags: Tensor  # (3, number of bags) knot below, first cell, last cell + 1


def by_kernels(numbers: Tensor) -> bool:
    """Whether there are kernels for such numbers."""
    return usable(numbers[:, :0], 1)


def make_bags(cells: Cells) -> Bags:
    """Put cells into bags."""
    n_columns = cells.below.shape[1]
    below, order = cells.below.flatten().sort()
    knots, counts = below.unique_consecutive(return_counts=True)
    n_bags = (counts + _MOST - 1) // _MOST  # of each knot
    knot = torch.arange(len(knots), device=below.device).repeat_interleave(n_bags)
    # The number of each bag among those of its knot.
    before = n_bags.cumsum(0) - n_bags
    number = torch.arange(len(knot), device=below.device) - before[knot]
    ends = counts.cumsum(0)
    first = (ends - counts)[knot] + number * _MOST
    last = torch.minimum(first + _MOST, ends[knot])
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
        return look_up_cells(table.contiguous(), rows, cells.below, cells.share)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        (rows,) = ctx.saved_tensors
        places = torch.full((ctx.n_rows,), -1, dtype=torch.int32, device=rows.device)
        here = torch.arange(len(rows), dtype=torch.int32, device=rows.device)
        places.scatter_(0, rows, here)
        gradient = give_back_cells(
            gradients[0].contiguous(), places, *ctx.bags, n_knots=ctx.n_knots
        )
        return gradient, None, None, None


def sum_cells(table: Tensor, cells: Cells, bags: Bags, rows: Tensor) -> Tensor:
    """What `cells.take(rows).look_up(table)` gives, for rows (M,) that all differ."""
    out: Tensor = _SumCells.apply(table, cells, bags, rows)
    return out
