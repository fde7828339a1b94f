"""Ghost batch norm is batch norm of each chunk."""

import pytest
import torch
from torch import nn

from modernnca.lab.peers.ghost_batch_norm import GhostBatchNorm


def test_each_chunk_is_normalized_separately():
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
def test_no_chunk_is_a_single_row(n_rows):
    for chunk_size in (3, 4, 256):
        norm = GhostBatchNorm(1, n_rows=chunk_size)
        assert norm(torch.randn(n_rows, 1)).isfinite().all()


def test_in_evaluation_rows_are_independent():
    ghost = GhostBatchNorm(2, n_rows=4)
    ghost(torch.randn(40, 2))
    x = torch.randn(9, 2)
    alone = torch.cat([ghost.eval()(row[None]) for row in x])
    assert torch.allclose(alone, ghost.eval()(x))


def test_too_small_chunks_are_an_error():
    with pytest.raises(
        ValueError, match=r"n_rows=2 a chunk may be a single.*at least 3"
    ):
        GhostBatchNorm(2, n_rows=2)
