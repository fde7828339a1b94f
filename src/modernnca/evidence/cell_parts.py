"""The parts of a distance by the cells of a row: its numbers, plain columns and codes.

Where an embedding is a sum over cells, the squared distance splits exactly: with the
difference e = sum of e_j, the part of cell j is the inner product of e_j and e. Behind
blocks, integrated gradients along the straight line between the two sums do the same.
What a quadrature misses is spread in proportion, so that parts always add up.

Shapes: N pairs of rows, F cells of a row, D embedding, T trees.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from modernnca.core.distances import (
    Distance,
    cosine,
    dot,
    euclidean,
    manhattan,
    squared_euclidean,
    unit,
)
from modernnca.core.network import Network, evaluating
from modernnca.core.rows import Rows
from modernnca.ensemble.baselines import ConstantMember, KNNMember
from modernnca.ensemble.forest_member import ForestMember
from modernnca.ensemble.member import Member
from modernnca.ensemble.network_member import NetworkMember

N_STEPS = 32  # of the quadrature; tests hold what it misses to a few percent
_TINY = 1e-300

Between = Callable[[Tensor, Tensor], Tensor]  # points (N, D) to what is split, (N,)


class CellParts(NamedTuple):
    """Distances of pairs of rows, split."""

    parts: Tensor  # (N, F), which add up to `distances` less `offsets`
    distances: Tensor  # (N,)
    # (N,) the distance of each row to itself, of the two the mean: zero but for
    # distances that are products. It belongs to no cell.
    offsets: Tensor
    missed: Tensor  # (N,) what the parts lacked before it was spread


def _half_squared(one: Tensor, other: Tensor) -> Tensor:
    return (one - other).square().sum(-1) / 2


# What is split of each distance. All but Manhattan are split as squares: dot products
# are half the squared distance, less half the squared norms, which are offsets.
_SPLIT: dict[Distance, Between] = {
    squared_euclidean: _half_squared,
    euclidean: _half_squared,
    dot: _half_squared,
    cosine: lambda one, other: _half_squared(unit(one), unit(other)),
    manhattan: lambda one, other: (one - other).abs().sum(-1),
}


def split_distances(
    member: Member,
    one: Rows,
    other: Rows,
    places: np.ndarray,
    n_steps: int = N_STEPS,
) -> CellParts | None:
    """Split the distances of a member between the rows of `one` and `other`.

    `places` (N,) are the numbers of the remembered rows that `other` are; `n_steps` are
    those of the quadrature. None if the member has no distances.
    """
    for kind, split in SPLITS.items():
        if isinstance(member, kind):
            if kind is NetworkMember:
                return _split_network(member, one, other, n_steps)
            return split(member, one, other)
    return _split_by_exchange(member, one, other, places)


def completed(parts: Tensor, distances: Tensor, offsets: Tensor) -> CellParts:
    """Scale or shift parts (N, F) until they add up to the distances (N,)."""
    wanted = distances - offsets
    missed = wanted - parts.sum(1)
    size = parts.abs()
    # A pair without any part has a distance of rounding errors: all cells share it.
    size = torch.where(size.sum(1, keepdim=True) > 0, size, torch.ones_like(size))
    share = size / size.sum(1, keepdim=True).clamp_min(_TINY)
    return CellParts(parts + share * missed[:, None], distances, offsets, missed)


def _split_network(
    member: Member, one: Rows, other: Rows, n_steps: int = N_STEPS
) -> CellParts:
    """Integrated gradients from the first layer on."""
    assert isinstance(member, NetworkMember)
    network, distance = member.network_, member.rule().distance
    with evaluating(network):
        first, second = network.first_layer(one), network.first_layer(other)
        ends = [network.blocks(each).double() for each in (first, second)]
        between = _SPLIT[distance]
        direction = _mean_gradient(network, between, first, second, n_steps)
        parts = network.cell_products(direction, one)
        parts = (parts - network.cell_products(direction, other)).double()
    distances = _between(distance, *ends)
    if distance in (dot, cosine):
        offsets = sum(_between(distance, end, end) for end in ends) / 2
    else:
        offsets = torch.zeros_like(distances)
    if distance is squared_euclidean:
        parts = 2 * parts
    elif distance is euclidean:
        parts = 2 * parts / distances[:, None].clamp_min(1e-12)
    assert isinstance(offsets, Tensor)
    return completed(parts, distances, offsets)


def _mean_gradient(
    network: Network, between: Between, first: Tensor, second: Tensor, n_steps: int
) -> Tensor:
    """The mean gradient (N, D) of what is split, from `second` to `first`."""
    straight = isinstance(network.blocks, torch.nn.Identity)
    exact = straight and between is not _SPLIT[cosine]
    nodes, weights = np.polynomial.legendre.leggauss(1 if exact else n_steps)
    end, total = network.blocks(second).detach(), torch.zeros_like(first)
    with torch.enable_grad():
        for node, weight in zip(nodes, weights, strict=True):
            at = second + (node + 1) / 2 * (first - second)
            at = at.detach().requires_grad_()
            value = between(network.blocks(at), end).sum()
            total += weight / 2 * torch.autograd.grad(value, at)[0]
    return total


def _between(distance: Distance, one: Tensor, other: Tensor) -> Tensor:
    """The distance (N,) of each row of `one` (N, D) to the same row of `other`."""
    return distance(one[:, None], other[:, None])[:, 0, 0]


def _split_knn(member: Member, one: Rows, other: Rows) -> CellParts:
    """Squared differences of numbers and one-hot levels, over the distance."""
    assert isinstance(member, KNNMember)
    numbers = torch.cat([one.numbers - other.numbers, one.plain - other.plain], 1)
    unknown = member.shape_.n_levels
    n_known = (one.codes != unknown).long() + (other.codes != unknown).long()
    of_codes = n_known * (one.codes != other.codes)
    parts = torch.cat([numbers.double().square(), of_codes.double()], 1)
    distances = parts.sum(1).sqrt()
    parts = parts / distances[:, None].clamp_min(1e-12)
    return completed(parts, distances, torch.zeros_like(distances))


def _split_constant(member: Member, one: Rows, other: Rows) -> CellParts:
    """All distances are zero, and so are the parts."""
    n_cells = sum(part.shape[1] for part in one[:3])
    zeros = torch.zeros(one.n_rows, n_cells, dtype=torch.float64, device=one.device)
    return CellParts(zeros, *[zeros.new_zeros(one.n_rows)] * 3)


def _split_forest(member: Member, one: Rows, other: Rows) -> CellParts:
    """Of each tree that separates two rows, the cell at which they part ways."""
    assert isinstance(member, ForestMember)
    leaves = member.leaves_
    cells = [
        torch.cat([rows.numbers, rows.plain, rows.codes.to(rows.numbers.dtype)], 1)
        for rows in (one, other)
    ]
    n_trees = len(leaves.roots)
    node = leaves.roots.expand(one.n_rows, -1)  # (N, T), where both rows are
    parts = torch.zeros(cells[0].shape, dtype=torch.float64, device=one.device)
    apart = torch.zeros_like(node, dtype=torch.bool)
    while True:
        column = leaves.columns[node]
        left, right = (
            torch.where(
                each.gather(1, column) <= leaves.thresholds[node],
                leaves.left[node],
                leaves.right[node],
            )
            for each in cells
        )
        separated = (left != right) & ~apart
        parts.scatter_add_(1, column, separated.double() / n_trees)
        apart |= separated
        below = torch.where(apart, node, left)
        if torch.equal(below, node):
            break
        node = below
    distances = apart.double().mean(1)
    return completed(parts, distances, torch.zeros_like(distances))


SPLITS: dict[type[Member], Callable[[Member, Rows, Rows], CellParts]] = {
    NetworkMember: _split_network,
    KNNMember: _split_knn,
    ForestMember: _split_forest,
    ConstantMember: _split_constant,
}


def _split_by_exchange(
    member: Member, one: Rows, other: Rows, places: np.ndarray
) -> CellParts | None:
    """How much nearer a row comes with a cell of the other; for any other member."""
    index = torch.from_numpy(places).to(one.device)[:, None]

    def distances_of(rows: Rows) -> Tensor | None:
        pairs = member.pairs(rows._replace(time=None, group=None))
        return None if pairs is None else pairs.distances.gather(1, index)[:, 0]

    with torch.inference_mode():
        given = distances_of(one)
        if given is None:
            return None
        parts = []
        for name in ("numbers", "plain", "codes"):
            own, theirs = getattr(one, name), getattr(other, name)
            for cell in range(own.shape[1]):
                changed = own.clone()
                changed[:, cell] = theirs[:, cell]
                nearer = distances_of(one._replace(**{name: changed}))
                assert nearer is not None
                parts.append((given - nearer).clamp_min(0).double())
        stacked = torch.stack(parts, 1)
        distances = given.double()
        total = stacked.sum(1, keepdim=True)
        scaled = stacked * (distances[:, None] / total.clamp_min(1e-12))
        fits = (total > 0) & (distances[:, None] > 0)
        stacked = torch.where(fits, scaled, torch.zeros_like(stacked))
        return completed(stacked, distances, torch.zeros_like(distances))
