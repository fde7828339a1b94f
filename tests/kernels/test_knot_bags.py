"""Interpolation by kernels equals the plain one; they need Triton's interpreter."""

import pytest
import torch

from modernnca.kernels.knot_bags import bags_supported, make_bags, sum_cells
from modernnca.kernels.knots import place_cells, place_knots


def new_cells():
    numbers = torch.randn(900, 3, generator=torch.Generator().manual_seed(0))
    numbers[:, 2] = numbers[:, 2].round()  # many cells on few knots
    knots = place_knots(numbers, 16)
    return place_cells(numbers, knots), knots.numel()


def test_every_cell_is_in_the_bag_of_its_knot():
    cells, _ = new_cells()
    rows, share, bags = make_bags(cells)
    found = []
    for knot, first, last in bags.T.tolist():
        assert 0 < last - first <= 256
        found += [
            (knot, r.item(), s.item())
            for r, s in zip(rows[first:last], share[first:last], strict=True)
        ]
    expected = [
        (cells.below[r, j].item(), r, cells.share[r, j].item())
        for r in range(900)
        for j in range(3)
    ]
    assert sorted(found) == sorted(expected)
    assert bags.shape[1] > len(cells.below.unique())


@pytest.mark.skipif(
    not bags_supported(torch.zeros(1, 1)), reason="needs TRITON_INTERPRET=1"
)
def test_sums_of_cells_by_kernels_equal_those_without():
    cells, n_knots = new_cells()
    generator = torch.Generator().manual_seed(1)
    table = torch.randn(n_knots, 20, generator=generator).requires_grad_()
    rows = torch.randperm(900, generator=generator)[:500]
    factor = torch.randn(500, 20, generator=generator)
    results = []
    for summed in (
        sum_cells(table, cells, make_bags(cells), rows),
        cells.take(rows).look_up(table),
    ):
        (gradient,) = torch.autograd.grad(summed, table, factor)
        results.append((summed.detach(), gradient))
    for ours, theirs in zip(*results, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-5)
