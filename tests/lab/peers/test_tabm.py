"""TabM: K members with shared weights and own scales, each with its own loss."""

import os
import sys

import pytest
import torch
from tests.lab.peers.shapes import make_rows
from torch.nn.functional import cross_entropy, mse_loss

from modernnca.errors import MissingExtraError
from modernnca.lab.peers.supervised import LabeledRows
from modernnca.lab.peers.tabm import TabM, TabMLearner

if os.environ.get("CI") != "true":
    pytest.importorskip("tabm")

SIZES = {
    "n_members": 3,
    "n_blocks": 2,
    "d_block": 8,
    "dropout": 0.0,
}


def make_tabm(shape, **changes):
    torch.manual_seed(0)
    return TabM(shape, **{**SIZES, **changes})


def by_hand(net, rows, member):
    """The output of one member: each layer is s * (W (r * x)) + b, then ReLU."""
    x = net.flat(rows)
    _, backbone, head = net.nets
    for block in backbone.blocks:
        layer = block[0]
        x = x * layer.r[member] @ layer.weight.T * layer.s[member] + layer.bias[member]
        x = x.clamp(min=0)
    return x @ head.weight[member] + head.bias[member]


def test_a_member_is_an_mlp_with_its_own_scales():
    rows, shape = make_rows(d_out=4)
    net = make_tabm(shape).eval()
    for parameter in net.nets.parameters():
        torch.nn.init.normal_(parameter)
    found = net.members(rows)  # (B, K, V)
    assert found.shape == (6, 3, 4)
    for member in range(3):
        assert torch.allclose(found[:, member], by_hand(net, rows, member), atol=1e-4)


def test_members_share_the_weights_and_differ_by_one_sign_per_column():
    _, shape = make_rows()
    net = make_tabm(shape)
    first, second = (block[0] for block in net.nets[1].blocks)
    assert first.weight.shape == (8, net.flat.d_out)  # one for all members
    widths = [*[1] * (shape.n_numbers + shape.n_plain), *shape.levels]
    scales = first.r.split(widths, dim=1)
    assert all((part == part[:, :1]).all() for part in scales)  # one for each column
    signs = torch.stack([part[:, 0] for part in scales], 1)  # (K, columns)
    assert set(signs.unique().tolist()) == {-1.0, 1.0}
    assert len(signs.unique(dim=0)) > 1
    assert (second.r == 1).all()
    assert (first.s == 1).all()


def test_the_prediction_is_the_mean_of_the_probabilities():
    rows, shape = make_rows(d_out=4)
    net = make_tabm(shape).eval()
    expected = net.members(rows).softmax(-1).mean(1)
    assert torch.allclose(net(rows).softmax(1), expected, atol=1e-6)
    assert not torch.allclose(net.members(rows).mean(1).softmax(1), expected, atol=1e-6)


def test_the_prediction_is_the_mean_of_the_numbers():
    rows, shape = make_rows(d_out=1)
    net = make_tabm(shape).eval()
    assert torch.allclose(net(rows), net.members(rows).mean(1))


def squared(outputs, y):
    return mse_loss(outputs.squeeze(-1), y)


@pytest.mark.parametrize("criterion", [cross_entropy, squared])
def test_the_loss_is_the_mean_of_the_losses_of_the_members(criterion):
    rows, shape = make_rows(d_out=2 if criterion is cross_entropy else 1)
    y = torch.tensor([0, 1, 1, 0, 1, 0])
    y = y if criterion is cross_entropy else y.float()
    net = make_tabm(shape)
    train = LabeledRows(rows, y)
    learner = TabMLearner(
        net,
        train,
        train,
        criterion=criterion,
        evaluate=lambda outputs: (0.0, 0.0),
        generator=torch.Generator(),
    )
    batch = torch.tensor([4, 0, 1])
    losses = []
    for k in range(3):
        index = learner.orders[batch, k]
        losses.append(criterion(net.members(rows.take(index))[:, k], y[index]))
    assert torch.allclose(learner.loss(batch), torch.stack(losses).mean(), atol=1e-6)


def test_every_member_sees_every_row_once_per_epoch_in_its_own_order():
    rows, shape = make_rows()
    train = LabeledRows(rows, torch.zeros(6))
    learner = TabMLearner(
        make_tabm(shape),
        train,
        train,
        criterion=squared,
        evaluate=lambda outputs: (0.0, 0.0),
        generator=torch.Generator().manual_seed(0),
    )
    assert (learner.orders.sort(0).values == torch.arange(6)[:, None]).all()
    assert len(learner.orders.T.unique(dim=0)) == 3


def test_a_member_has_no_gradient_from_the_others():
    rows, shape = make_rows()
    net = make_tabm(shape)
    net.members(rows)[:, 1].sum().backward()
    layer = net.nets[1].blocks[0][0]
    trained = layer.r.grad.abs().sum(1) > 0
    assert trained.tolist() == [False, True, False]


def test_a_missing_package_is_an_error_with_the_install_command(monkeypatch):
    monkeypatch.setitem(sys.modules, "tabm", None)  # as if it were not installed
    _, shape = make_rows()
    with pytest.raises(MissingExtraError, match=r'pip install "modernnca\[peers\]"'):
        make_tabm(shape)
