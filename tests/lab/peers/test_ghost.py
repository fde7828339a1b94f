"""Ghost batch norm is batch norm of each part."""

import pytest
import torch
from torch import nn

from modernnca.lab.peers.ghost import GhostBatchNorm


def test_each_part_is_normalized_on_its_own():
    torch.manual_seed(0)
    ghost, plain = GhostBatchNorm(3, n_rows=4), nn.BatchNorm1d(3)
    for norm in (ghost, plain):
        with torch.no_grad():
            norm.weight.copy_(torch.tensor([1.0, 2.0, 3.0]))
            norm.bias.copy_(torch.tensor([0.0, 1.0, -1.0]))
    x = torch.randn(8, 3) + torch.arange(8.0)[:, None]
    expected = torch.cat([plain(x[:4]), plain(x[4:])])
    assert torch.equal(ghost(x), expected)
    assert not torch.allclose(expected, nn.BatchNorm1d(3)(x))
    assert torch.equal(ghost.running_mean, plain.running_mean)
    assert torch.equal(ghost.running_var, plain.running_var)
    assert torch.equal(ghost.eval()(x), plain.eval()(x))


@pytest.mark.parametrize("n_rows", [2, 3, 4, 5, 7, 256, 257, 513])
def test_no_part_is_a_single_row(n_rows):
    for most in (3, 4, 256):
        assert GhostBatchNorm(1, n_rows=most)(torch.randn(n_rows, 1)).isfinite().all()


def test_evaluation_asks_rows_one_by_one():
    ghost = GhostBatchNorm(2, n_rows=4)
    ghost(torch.randn(40, 2))
    x = torch.randn(9, 2)
    alone = torch.cat([ghost.eval()(row[None]) for row in x])
    assert torch.allclose(alone, ghost.eval()(x))


def test_too_small_parts_are_refused():
    with pytest.raises(ValueError, match=r"n_rows=2 may be a single row.*take 3"):
        GhostBatchNorm(2, n_rows=2)
