"""Inputs of networks: a row as one flat vector, or as one token per column."""

import math

import torch
from torch import Tensor, nn

from modernnca.core.rows import Rows
from modernnca.lab.peers.net_model import TableShape


class Flat(nn.Module):
    """Concatenate numbers, plain columns and one-hot categories: (B, d_flat).

    >>> shape = TableShape(n_numbers=1, n_plain=0, levels=(2,), d_out=1)
    >>> Flat(shape)(Rows(torch.ones(1, 1), torch.zeros(1, 0), torch.tensor([[1]])))
    tensor([[1., 0., 1.]])
    """

    def __init__(self, shape: TableShape) -> None:
        super().__init__()
        self.n_levels = shape.n_levels
        self.d_out = shape.d_flat

    def forward(self, rows: Rows) -> Tensor:
        """Concatenate the parts of each row."""
        parts = [rows.numbers, rows.plain]
        if self.n_levels:
            onehot = rows.numbers.new_zeros(len(rows.codes), self.n_levels + 1)
            onehot.scatter_(1, rows.codes, 1.0)
            parts.append(onehot[:, :-1])  # the last code means "unknown level"
        return torch.cat(parts, 1)


class FeatureTokenizer(nn.Module):
    """A token per column, (B, n_tokens, d): x w + b, or a level's embedding + b.

    >>> shape = TableShape(n_numbers=1, n_plain=0, levels=(2,), d_out=1)
    >>> rows = Rows(torch.ones(5, 1), torch.zeros(5, 0), torch.ones(5, 1).long())
    >>> FeatureTokenizer(shape, d_token=8)(rows).shape
    torch.Size([5, 2, 8])
    """

    def __init__(self, shape: TableShape, *, d_token: int) -> None:
        super().__init__()
        n_numbers = shape.n_numbers + shape.n_plain
        self.n_tokens = n_numbers + len(shape.levels)
        bound = 1 / math.sqrt(d_token)
        self.weight = nn.Parameter(
            torch.empty(n_numbers, d_token).uniform_(-bound, bound)
        )
        self.bias = nn.Parameter(
            torch.empty(self.n_tokens, d_token).uniform_(-bound, bound)
        )
        self.levels = None
        if shape.n_levels:
            self.levels = nn.Embedding(shape.n_levels + 1, d_token)
            nn.init.uniform_(self.levels.weight, -bound, bound)
            with torch.no_grad():
                self.levels.weight[-1] = 0.0  # unknown level

    def forward(self, rows: Rows) -> Tensor:
        """The tokens of each row."""
        numbers = torch.cat([rows.numbers, rows.plain], 1)
        tokens = numbers[:, :, None] * self.weight  # (B, P + Q, d)
        if self.levels is not None:
            tokens = torch.cat([tokens, self.levels(rows.codes)], 1)
        return tokens + self.bias
