"""Local batches: rows that are near each other learn together.

In a batch of random rows the nearest neighbor of a row is far off, and a network learns
little about those that decide its predictions, in which all rows vote. A batch that is
made of leaves of a random projection tree holds a row's neighbors at no further cost,
and rows from all over the table besides, as many leaves are in it.
"""

import torch
from torch import Tensor

_MAX_DIM = 16  # of more, random projections tell near from far, too


def local_order(
    points: Tensor, leaf_size: int, generator: torch.Generator | None = None
) -> Tensor:
    """All rows in an order in which near ones stand together.

    Half of the rows of each node of the tree go to one side, by their place on the line
    through two rows drawn at random. The leaves, of `leaf_size` rows at most, come in
    random order.

    Args:
        points: (N, D) embedded rows.
        generator: on the CPU.

    >>> points = torch.tensor([[0.0], [9.0], [0.1], [9.1], [0.2], [9.2]])
    >>> order = local_order(points, 3, torch.Generator().manual_seed(0))
    >>> sorted(leaf.sort().values.tolist() for leaf in order.split(3))
    [[0, 2, 4], [1, 3, 5]]
    """
    (n_rows, dim), device = points.shape, points.device
    if dim > _MAX_DIM:
        projection = torch.randn(dim, _MAX_DIM, generator=generator)
        points = points @ projection.to(points)
    order = torch.arange(n_rows, device=device)
    bounds = torch.tensor([0, n_rows])  # of the nodes, as places in the order
    while int(bounds.diff().max()) > max(leaf_size, 1):
        sizes = bounds.diff()
        n_nodes = len(sizes)
        drawn = torch.rand(2, n_nodes, generator=generator)
        ends = (bounds[:-1] + drawn * sizes).long().clamp(max=n_rows - 1)
        one, other = order[ends.to(device)]
        node = torch.repeat_interleave(torch.arange(n_nodes), sizes).to(device)
        line = (points[one] - points[other])[node]  # (N, D)
        place = torch.linalg.vecdot(points[order], line)
        by_place = place.argsort(stable=True)
        order = order[by_place[node[by_place].argsort(stable=True)]]
        middle = bounds[:-1] + sizes // 2
        bounds = torch.stack([bounds[:-1], middle], 1).flatten()
        bounds = torch.cat([bounds, torch.tensor([n_rows])]).unique()
    leaves = order.split(bounds.diff().tolist())
    turns = torch.randperm(len(leaves), generator=generator).tolist()
    return torch.cat([leaves[turn] for turn in turns])
