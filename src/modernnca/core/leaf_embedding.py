"""A forest as an embedding: rows that fall into the same leaves are near.

Shapes: N rows, B queries, M remembered rows, T trees, S nodes of all trees.
"""

import torch
from torch import Tensor, nn

from modernnca.core.rows import Rows

# The weight grows with the fourth power of the share of trees in which two rows share a
# leaf; it is next to nothing for rows that never do. Chosen by experiment.
_POWER, _MIN_PROXIMITY = 4.0, 1e-3


class LeafEmbedding(nn.Module):
    """For each tree the number of the leaf that a row falls into.

    Trees are given by buffers: a node sends a row to the `left` if the row's cell in
    its column is at most its threshold, otherwise to the `right`; a leaf sends it to
    itself. Columns are those of numbers, plain ones and codes, in this order.

    >>> leaves = LeafEmbedding(n_trees=1, n_nodes=3)
    >>> leaves.left, leaves.right = torch.tensor([1, 1, 2]), torch.tensor([2, 1, 2])
    >>> leaves.leaves = torch.tensor([0, 0, 1])
    >>> none = torch.zeros(2, 0)
    >>> leaves(Rows(torch.tensor([[-1.0], [1.0]]), none, none.long()))
    tensor([[0.],
            [1.]])
    """

    columns: Tensor  # (S,)
    thresholds: Tensor  # (S,)
    left: Tensor  # (S,)
    right: Tensor  # (S,)
    leaves: Tensor  # (S,) the number of a leaf in its tree
    roots: Tensor  # (T,)

    def __init__(self, n_trees: int, n_nodes: int) -> None:
        super().__init__()
        self.register_buffer("thresholds", torch.zeros(n_nodes))
        for name in ("columns", "left", "right", "leaves"):
            self.register_buffer(name, torch.zeros(n_nodes, dtype=torch.long))
        self.register_buffer("roots", torch.zeros(n_trees, dtype=torch.long))

    def check(self, n_columns: int) -> None:
        """Raise unless the trees lead every row of so many columns to a leaf."""
        own = torch.arange(len(self.left))
        last = len(self.left) - 1
        # Children come after their parents, so no row walks in circles.
        within: list[tuple[str, Tensor, Tensor | int, int]] = [
            ("a column", self.columns, 0, n_columns - 1),
            ("a child index", self.left, own, last),
            ("a child index", self.right, own, last),
            ("a root", self.roots, 0, last),
        ]
        for what, part, low, high in within:
            if ((part < low) | (part > high)).any():
                raise ValueError(f"Invalid forest: {what} is out of range.")

    def forward(self, rows: Rows) -> Tensor:
        """The leaves of N rows: (N, T)."""
        codes = rows.codes.to(rows.numbers.dtype)
        cells = torch.cat([rows.numbers, rows.plain, codes], 1)
        node = self.roots.expand(len(cells), -1)  # (N, T)
        while True:
            goes_left = cells.gather(1, self.columns[node]) <= self.thresholds[node]
            below = torch.where(goes_left, self.left[node], self.right[node])
            if torch.equal(below, node):  # every row has reached a leaf
                return self.leaves[node].to(cells.dtype)
            node = below


def leaf_distance(query: Tensor, keys: Tensor) -> Tensor:
    """The share of trees in which two rows are not in the same leaf.

    A distance of leaves (..., B, T) and (..., M, T): (..., B, M), from 0 to 1.

    >>> keys = torch.tensor([[0.0, 1.0], [0.0, 2.0]])
    >>> leaf_distance(torch.tensor([[0.0, 1.0]]), keys)
    tensor([[0.0000, 0.5000]])
    """
    return torch.cdist(query, keys, p=0) / query.shape[-1]


def leaf_kernel(distance: Tensor) -> Tensor:
    """The kernel of that distance: weights (1 - d)^4; see `core.softnn.Rule`.

    >>> leaf_kernel(torch.tensor([0.0, 0.5])).exp()
    tensor([1.0000, 0.0625])
    """
    return _POWER * (1 - distance).clamp_min(_MIN_PROXIMITY).log()
