"""Blocks of several networks on a CPU, forward and backward in few operations.

The steps of a small network cost the calls of its operations as much as their
arithmetic. Here each block is one node of the graph: it keeps no more than it needs,
fuses bias and ReLU into the products, and lets them be made by `core.products`.

Shapes: G networks, N rows, D dimensions, H hidden units.
"""

from typing import Any, NamedTuple

import torch
from torch import Tensor

from modernnca.core.products import linear, matmul


class BlockWeights(NamedTuple):
    """The parameters of a block in each of G networks."""

    gamma: Tensor  # (G, D) of the norm
    beta: Tensor
    first: Tensor  # (G, H, D)
    first_bias: Tensor  # (G, H)
    last: Tensor  # (G, D, H)
    last_bias: Tensor  # (G, D)


class NormState(NamedTuple):
    """What a BatchNorm keeps of each of G networks, and how."""

    mean: Tensor  # (G, D) the running statistics, which change in training
    var: Tensor
    momentum: float
    eps: float
    training: bool


def fused_blocks(
    parts: list[Tensor],
    weights: BlockWeights,
    norm: NormState,
    dropout: Tensor | None,
    keep: float,
) -> list[Tensor]:
    """One block of each network: G times (N, D).

    Args:
        parts: the input of each network, (N, D).
        dropout: (G, N, H) factors, each 0 or 1 / `keep`; None drops nothing.
        keep: the share of hidden units that dropout keeps.
    """
    if dropout is None:
        keep = 1.0
    out: tuple[Tensor, ...] = _FusedBlocks.apply(norm, dropout, keep, *weights, *parts)
    return list(out)


class _FusedBlocks(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        norm: NormState,
        dropout: Tensor | None,
        keep: float,
        *tensors: Tensor,
    ) -> tuple[Tensor, ...]:
        weights, parts = BlockWeights(*tensors[:6]), tensors[6:]
        ctx.norm, ctx.keep = norm, keep
        kept, outs = [], []
        for i, x in enumerate(parts):
            normed, mean, inverse = torch.native_batch_norm(
                x,
                weights.gamma[i],
                weights.beta[i],
                norm.mean[i],
                norm.var[i],
                norm.training,
                norm.momentum,
                norm.eps,
            )
            hidden = linear(normed, weights.first[i], weights.first_bias[i], relu=True)
            if dropout is not None:
                hidden.mul_(dropout[i])
            outs.append(linear(hidden, weights.last[i], weights.last_bias[i]))
            kept += [x, normed, mean, inverse, hidden]
        ctx.save_for_backward(weights.gamma, weights.first, weights.last, *kept)
        return tuple(outs)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Any, ...]:
        gamma, first, last, *kept = ctx.saved_tensors
        norm = ctx.norm
        of = BlockWeights(
            torch.empty_like(gamma),
            torch.empty_like(gamma),
            torch.empty_like(first),
            first.new_empty(first.shape[:2]),
            torch.empty_like(last),
            torch.empty_like(gamma),
        )
        of_parts = []
        for i, gradient in enumerate(gradients):
            x, normed, mean, inverse, hidden = kept[5 * i : 5 * i + 5]
            of.last[i] = matmul(gradient.T, hidden)
            of.last_bias[i] = gradient.sum(0)
            # A hidden unit is positive if neither ReLU nor dropout has cut it.
            of_hidden = matmul(gradient, last[i] / ctx.keep)
            of_hidden = torch.ops.aten.threshold_backward(of_hidden, hidden, 0)
            of.first[i] = matmul(normed.T, of_hidden).T
            of.first_bias[i] = of_hidden.sum(0)
            of_x, of.gamma[i], of.beta[i] = torch.ops.aten.native_batch_norm_backward(
                matmul(of_hidden, first[i]),
                x,
                gamma[i],
                norm.mean[i],
                norm.var[i],
                mean,
                inverse,
                norm.training,
                norm.eps,
                [True, True, True],
            )
            of_parts.append(of_x)
        return (None, None, None, *of, *of_parts)
