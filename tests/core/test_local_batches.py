"""Batches of leaves: each row comes once, and near rows come together."""

import pytest
import torch

from modernnca.core.local_batches import local_order


def seeded():
    return torch.Generator().manual_seed(0)


@pytest.mark.parametrize("n_rows", [1, 2, 7, 64, 65, 1000])
@pytest.mark.parametrize("dim", [1, 2, 40])
def test_every_row_comes_once(n_rows, dim):
    points = torch.randn(n_rows, dim, generator=seeded())
    order = local_order(points, 8, seeded())
    assert order.sort().values.tolist() == list(range(n_rows))


def test_equal_points_are_no_obstacle():
    assert len(local_order(torch.zeros(100, 3), 8, seeded()).unique()) == 100


@pytest.mark.parametrize("dim", [2, 40])
def test_rows_of_a_leaf_are_near(dim):
    """Half as far from each other as any two rows, or less, on a plane."""
    plane = torch.rand(1024, 2, generator=seeded())
    points = plane @ torch.randn(2, dim, generator=seeded())
    leaves = local_order(points, 16, seeded()).split(16)
    within = torch.stack([torch.pdist(points[leaf]).mean() for leaf in leaves]).mean()
    assert within < 0.25 * torch.pdist(points).mean()


def test_the_order_follows_the_generator():
    points = torch.randn(200, 3, generator=seeded())
    one, again = (local_order(points, 8, seeded()) for _ in range(2))
    other = local_order(points, 8, torch.Generator().manual_seed(1))
    assert torch.equal(one, again)
    assert not torch.equal(one, other)
