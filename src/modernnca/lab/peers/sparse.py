"""Softmax and sigmoid that can say "not at all": entmax and entmoid.

Both keep what is well below the best at exactly zero; Peters et al. (2019), with
alpha = 1.5.
"""

from typing import Any

import torch
from torch import Tensor

N_STEPS = 8  # of Newton; six exhaust float32, even among thousands


def entmax15(scores: Tensor) -> Tensor:
    """Weights of the last axis that sum to one, many of them zero.

    >>> entmax15(torch.tensor([0.0, 0.0, -5.0]))
    tensor([0.5000, 0.5000, 0.0000])
    """
    return _Entmax15.apply(scores)


def entmoid15(scores: Tensor) -> Tensor:
    """The first weight of entmax15([score, 0]); 0 from -2 downwards, 1 from 2 upwards.

    >>> entmoid15(torch.tensor([-2.0, 0.0, 2.0]))
    tensor([0.0000, 0.5000, 1.0000])
    """
    inner = scores.clamp(-2, 2)
    return 0.5 + inner * (8 - inner.square()).sqrt() / 8


class _Entmax15(torch.autograd.Function):
    """p = relu(scores / 2 - t)^2, with the t that makes them sum to one."""

    @staticmethod
    def forward(ctx: Any, scores: Tensor) -> Tensor:
        """Newton's method on |relu(x - t)| = 1: convex in t, so it comes from below.

        No sorting: a few passes over the numbers, fast on every device.
        """
        x = (scores - scores.amax(-1, keepdim=True)) / 2
        t = x.new_full((*x.shape[:-1], 1), -1.0)
        for _ in range(N_STEPS):
            above = (x - t).relu()
            norm = above.norm(dim=-1, keepdim=True)
            t += norm * (norm - 1) / above.sum(-1, keepdim=True)
        weights = (x - t).relu().square()
        ctx.save_for_backward(weights)
        return weights

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Tensor:
        """Scores move weights by sqrt(p); what all gain together is taken back."""
        (weights,) = ctx.saved_tensors
        slope = weights.sqrt()
        gained = gradients[0] * slope
        return gained - slope * gained.sum(-1, keepdim=True) / slope.sum(
            -1, keepdim=True
        )
