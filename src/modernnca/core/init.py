"""Initial weights drawn from a given generator, never from torch's global one."""

import math

import torch
from torch import nn


def uniform(
    size: tuple[int, ...], bound: float, generator: torch.Generator | None
) -> nn.Parameter:
    """A parameter drawn uniformly from -bound to bound."""
    return nn.Parameter(torch.empty(size).uniform_(-bound, bound, generator=generator))


class Linear(nn.Linear):
    """`nn.Linear`, with the same distribution of initial weights.

    >>> one, two = (Linear(2, 3, torch.Generator().manual_seed(0)) for _ in range(2))
    >>> torch.equal(one.weight, two.weight)
    True
    """

    def __init__(
        self, d_in: int, d_out: int, generator: torch.Generator | None
    ) -> None:
        self._generator = generator
        super().__init__(d_in, d_out)
        del self._generator

    def reset_parameters(self) -> None:
        """Draw the weights, in torch's order and with its bounds."""
        nn.init.kaiming_uniform_(self.weight, a=math.sqrt(5), generator=self._generator)
        bound = 1 / math.sqrt(self.in_features) if self.in_features else 0.0
        nn.init.uniform_(self.bias, -bound, bound, generator=self._generator)
