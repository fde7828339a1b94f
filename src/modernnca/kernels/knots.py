"""Encode values, not cells: linear interpolation between knots, for training.

Behind the encoding stands a linear layer that sums the columns, so the embedding of a
row is a sum of one vector for each of its cells, which depends on the cell's value
alone. A column needs its vectors at some knots only; a cell between two knots takes the
weighted mean of theirs. For a column with no more distinct values than knots this is
exact. For others it is close, except far out in the tails, so predictions use the
encoding itself.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from modernnca.core.network import Network, evaluating, in_parts
from modernnca.core.row_sum import sum_rows
from modernnca.core.rows import Rows


class Cells(NamedTuple):
    """Where the cells of N rows lie between the knots of their columns."""

    below: Tensor  # (N, P) the knot below, as a row of the table of all knots
    share: Tensor  # (N, P) how near the knot above is, from 0 to 1

    def take(self, rows: Tensor | slice) -> "Cells":
        """The cells of these rows."""
        return Cells(self.below[rows], self.share[rows])

    def look_up(self, table: Tensor) -> Tensor:
        """The sum over the cells of each row of the interpolated table: (N, D)."""
        return sum_rows(
            table,
            torch.cat([self.below, self.below + 1], 1),
            weights=torch.cat([1 - self.share, self.share], 1),
        )


def place_knots(numbers: Tensor, n_knots: int) -> Tensor:
    """Knots (K, P) for the columns of `numbers` (N, P), sorted; K is at most `n_knots`.

    All distinct values where they are few enough; else half of the knots at quantiles,
    where most rows are, and half at equal steps, for the tails. Columns with fewer
    knots repeat their largest.

    >>> place_knots(torch.tensor([[0.0], [5.0], [5.0], [1.0]]), 8).T
    tensor([[0., 1., 5.]])
    """
    columns = [_knots_of(column, n_knots) for column in numbers.T]
    n_most = max(2, *(len(column) for column in columns), 2)  # a cell is between two
    filled = [
        torch.cat([column, column[-1:].expand(n_most - len(column))])
        for column in columns
    ]
    return torch.stack(filled, 1) if filled else numbers.new_zeros(2, 0)


def _knots_of(column: Tensor, n_knots: int) -> Tensor:
    distinct = column.unique()  # sorted
    if len(distinct) <= n_knots:
        return distinct
    ordered = column.sort().values
    n_even = n_knots // 2
    n_ranks = n_knots - n_even
    ranks = torch.linspace(0, len(ordered) - 1, n_ranks, dtype=torch.float64)
    at_quantiles = ordered[ranks.round().long().to(ordered.device)]
    share = torch.linspace(0, 1, n_even, dtype=column.dtype, device=column.device)
    even = ordered[0] + (ordered[-1] - ordered[0]) * share
    return torch.cat([at_quantiles, even]).unique()


def place_cells(numbers: Tensor, knots: Tensor) -> Cells:
    """Locate numbers (N, P) between knots (K, P); those beyond the ends are clipped."""
    n_knots, n_columns = knots.shape
    below = torch.zeros(numbers.shape, dtype=torch.int32, device=numbers.device)
    share = torch.zeros_like(numbers)
    for j in range(n_columns):
        own, column = knots[:, j].contiguous(), numbers[:, j].contiguous()
        above = torch.searchsorted(own, column).clamp_(1, n_knots - 1)
        low, high = own[above - 1], own[above]
        gap = (high - low).clamp_min(torch.finfo(own.dtype).tiny)
        below[:, j] = above - 1 + j * n_knots
        share[:, j] = ((column - low) / gap).clamp(0, 1)
    return Cells(below, share)


def embed_cells(network: Network, rows: Rows, knots: Tensor, cells: Cells) -> Tensor:
    """`core.network.embed_rows`, interpolated between knots (K, P)."""
    with evaluating(network):
        table = network.knot_table(knots)
        return in_parts(
            lambda some: network.forward_cells(
                cells.take(some).look_up(table), rows.take(some)
            ),
            rows.n_rows,
            2**16,
        )
