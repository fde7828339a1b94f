"""Rows of an encoded table as tensors: what the net reads."""

from typing import NamedTuple

import torch
from torch import Tensor


class Rows(NamedTuple):
    """The three parts of an encoded table; row i of each is the same row.

    >>> rows = Rows(torch.zeros(4, 2), torch.ones(4, 1), torch.zeros(4, 0).long())
    >>> len(rows.numbers), rows.take(torch.tensor([0, 3])).plain.shape
    (4, torch.Size([2, 1]))
    """

    numbers: Tensor  # (N, P) go through the numerical encoding
    plain: Tensor  # (N, Q) are used as they are
    codes: Tensor  # (N, C) levels of categories; see `core.embed.CodedLinear`

    def take(self, index: Tensor | slice) -> "Rows":
        """The rows at `index`, in that order."""
        return Rows(self.numbers[index], self.plain[index], self.codes[index])

    def to(self, device: torch.device) -> "Rows":
        """The same rows on `device`."""
        return Rows(*(part.to(device) for part in self))


def join(first: Rows, second: Rows) -> Rows:
    """The rows of `first`, then those of `second`."""
    return Rows(*(torch.cat(parts) for parts in zip(first, second, strict=True)))
