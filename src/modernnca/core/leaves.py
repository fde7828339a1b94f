"""Trees as an embedding: a row is where it ends, and rows that end together are near.

Shapes: N rows, B asking rows, M remembered rows, T trees, S nodes of all trees.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from modernnca.core.rows import Rows

# Rows that are together in twice as many trees count 2^4 times as much; those that
# never are, next to nothing (chosen by experiment).
_STEEPNESS, _LEAST_TOGETHER = 4.0, 1e-3


@dataclass(frozen=True)
class LeavesShape:
    """All that is needed to build an embedding by leaves, besides its trees."""

    n_trees: int
    n_nodes: int

    @property
    def dim(self) -> int:
        """How many numbers a row becomes."""
        return self.n_trees


class Leaves(nn.Module):
    """For each tree the number of the leaf that a row falls into.

    Trees are given by buffers: a node sends a row on to the `left` if the row's cell in
    its column is not above its limit, otherwise to the `right`; a leaf sends it to
    itself. Columns are those of numbers, plain ones and codes, in this order.

    >>> leaves = Leaves(LeavesShape(n_trees=1, n_nodes=3))
    >>> leaves.left, leaves.right = torch.tensor([1, 1, 2]), torch.tensor([2, 1, 2])
    >>> leaves.leaves = torch.tensor([0, 0, 1])
    >>> none = torch.zeros(2, 0)
    >>> leaves(Rows(torch.tensor([[-1.0], [1.0]]), none, none.long()))
    tensor([[0.],
            [1.]])
    """

    columns: Tensor  # (S,)
    limits: Tensor  # (S,)
    left: Tensor  # (S,)
    right: Tensor  # (S,)
    leaves: Tensor  # (S,) the number of a leaf in its tree
    roots: Tensor  # (T,)

    def __init__(self, shape: LeavesShape) -> None:
        super().__init__()
        self.shape = shape
        self.register_buffer("limits", torch.zeros(shape.n_nodes))
        for name in ("columns", "left", "right", "leaves"):
            self.register_buffer(name, torch.zeros(shape.n_nodes, dtype=torch.long))
        self.register_buffer("roots", torch.zeros(shape.n_trees, dtype=torch.long))

    @property
    def n_cells(self) -> int:
        """What a row costs; see `core.net.embed_all`."""
        return self.shape.n_trees

    def check(self, n_columns: int) -> None:
        """Refuse trees that do not lead every row of so many columns to a leaf."""
        own = torch.arange(self.shape.n_nodes)
        last = self.shape.n_nodes - 1
        # Nodes come after those that lead to them, so that no row walks in circles.
        within: list[tuple[Tensor, Tensor | int, int]] = [
            (self.columns, 0, n_columns - 1),
            (self.left, own, last),
            (self.right, own, last),
            (self.roots, 0, last),
        ]
        if any(((part < low) | (part > high)).any() for part, low, high in within):
            raise ValueError("its trees lead nowhere.")

    def forward(self, rows: Rows) -> Tensor:
        """The leaves of N rows: (N, T)."""
        codes = rows.codes.to(rows.numbers.dtype)
        cells = torch.cat([rows.numbers, rows.plain, codes], 1)
        node = self.roots.expand(len(cells), -1)  # (N, T)
        while True:
            goes_left = cells.gather(1, self.columns[node]) <= self.limits[node]
            below = torch.where(goes_left, self.left[node], self.right[node])
            if torch.equal(below, node):  # all have arrived
                return self.leaves[node].to(cells.dtype)
            node = below


def apart(query: Tensor, keys: Tensor) -> Tensor:
    """The share of trees in which two rows are not in the same leaf.

    A distance of leaves (..., B, T) and (..., M, T): (..., B, M), from 0 to 1.

    >>> apart(torch.tensor([[0.0, 1.0]]), torch.tensor([[0.0, 1.0], [0.0, 2.0]]))
    tensor([[0.0000, 0.5000]])
    """
    return torch.cdist(query, keys, p=0) / query.shape[-1]


def together(distance: Tensor) -> Tensor:
    """The kernel of that distance: weights (1 - d)^4; see `core.softnn.Rule`.

    >>> together(torch.tensor([0.0, 0.5])).exp()
    tensor([1.0000, 0.0625])
    """
    return _STEEPNESS * (1 - distance).clamp_min(_LEAST_TOGETHER).log()
