"""Rows of a table as what nets read: one flat vector, or a token for each column."""

import math

import torch
from torch import Tensor, nn

from modernnca.core.rows import Rows
from modernnca.lab.peers.net_model import TableShape


class Flat(nn.Module):
    """Numbers, plain columns and one-hot categories side by side: (B, d_flat).

    >>> shape = TableShape(n_numbers=1, n_plain=0, levels=(2,), d_out=1)
    >>> Flat(shape)(Rows(torch.ones(1, 1), torch.zeros(1, 0), torch.tensor([[1]])))
    tensor([[1., 0., 1.]])
    """

    def __init__(self, shape: TableShape) -> None:
        super().__init__()
        self.n_levels = shape.n_levels
        self.d_out = shape.d_flat

    def forward(self, rows: Rows) -> Tensor:
        """Lay the parts of each row side by side."""
        parts = [rows.numbers, rows.plain]
        if self.n_levels:
            onehot = rows.numbers.new_zeros(len(rows.codes), self.n_levels + 1)
            onehot.scatter_(1, rows.codes, 1.0)
            parts.append(onehot[:, :-1])  # the last one is none of the known
        return torch.cat(parts, 1)


class Tokens(nn.Module):
    """A vector for each column, (B, n_tokens, d): x w + b, or that of its level.

    >>> shape = TableShape(n_numbers=1, n_plain=0, levels=(2,), d_out=1)
    >>> rows = Rows(torch.ones(5, 1), torch.zeros(5, 0), torch.ones(5, 1).long())
    >>> Tokens(shape, d_token=8)(rows).shape
    torch.Size([5, 2, 8])
    """

    def __init__(self, shape: TableShape, *, d_token: int) -> None:
        super().__init__()
        n_numbers = shape.n_numbers + shape.n_plain
        self.n_tokens = n_numbers + len(shape.levels)
        edge = 1 / math.sqrt(d_token)
        self.weight = nn.Parameter(
            torch.empty(n_numbers, d_token).uniform_(-edge, edge)
        )
        self.bias = nn.Parameter(
            torch.empty(self.n_tokens, d_token).uniform_(-edge, edge)
        )
        self.levels = None
        if shape.n_levels:
            self.levels = nn.Embedding(shape.n_levels + 1, d_token)
            nn.init.uniform_(self.levels.weight, -edge, edge)
            with torch.no_grad():
                self.levels.weight[-1] = 0.0  # none of the known

    def forward(self, rows: Rows) -> Tensor:
        """Give each column of each row its vector."""
        numbers = torch.cat([rows.numbers, rows.plain], 1)
        tokens = numbers[:, :, None] * self.weight  # (B, P + Q, d)
        if self.levels is not None:
            tokens = torch.cat([tokens, self.levels(rows.codes)], 1)
        return tokens + self.bias
