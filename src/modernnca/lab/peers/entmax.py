"""Entmax and entmoid: sparse counterparts of softmax and sigmoid.

Scores well below the largest get exactly zero weight; Peters et al. (2019), with
alpha = 1.5.
"""

from typing import Any

import torch
from torch import Tensor

N_STEPS = 8  # of Newton's method; in float32 six suffice, even for thousands


def entmax15(scores: Tensor) -> Tensor:
    """Sparse weights over the last axis; they sum to one.

    >>> entmax15(torch.tensor([0.0, 0.0, -5.0]))
    tensor([0.5000, 0.5000, 0.0000])
    """
    return _Entmax15.apply(scores)


def entmoid15(scores: Tensor) -> Tensor:
    """The first weight of entmax15([score, 0]): 0 up to -2, and 1 from 2 on.

    >>> entmoid15(torch.tensor([-2.0, 0.0, 2.0]))
    tensor([0.0000, 0.5000, 1.0000])
    """
    clipped = scores.clamp(-2, 2)
    return 0.5 + clipped * (8 - clipped.square()).sqrt() / 8


class _Entmax15(torch.autograd.Function):
    """p = relu(scores / 2 - t)^2, where t makes p sum to one."""

    @staticmethod
    def forward(ctx: Any, scores: Tensor) -> Tensor:
        """Solve |relu(x - t)| = 1 by Newton's method.

        The norm is convex in t, so the iteration approaches t from below. It needs no
        sorting: a few passes over the scores, fast on every device.
        """
        x = (scores - scores.amax(-1, keepdim=True)) / 2
        t = x.new_full((*x.shape[:-1], 1), -1.0)
        for _ in range(N_STEPS):
            excess = (x - t).relu()
            norm = excess.norm(dim=-1, keepdim=True)
            t += norm * (norm - 1) / excess.sum(-1, keepdim=True)
        weights = (x - t).relu().square()
        ctx.save_for_backward(weights)
        return weights

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Tensor:
        """dp/dscores = diag(s) - s s' / sum(s), with s = sqrt(p)."""
        (weights,) = ctx.saved_tensors
        s = weights.sqrt()
        scaled = gradients[0] * s
        return scaled - s * scaled.sum(-1, keepdim=True) / s.sum(-1, keepdim=True)
