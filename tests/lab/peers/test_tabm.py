"""TabM: K members by scales of their own on shared weights, each with its own loss."""

import os
import sys

import pytest
import torch
from tests.lab.peers.shapes import some_rows
from torch.nn.functional import cross_entropy, mse_loss

from modernnca.errors import MissingExtraError
from modernnca.lab.peers.supervised import Examples
from modernnca.lab.peers.tabm import EachMember, TabM

if os.environ.get("CI") != "true":
    pytest.importorskip("tabm")

SIZES = {
    "n_members": 3,
    "n_blocks": 2,
    "d_block": 8,
    "dropout": 0.0,
}


def a_tabm(shape, **changes):
    torch.manual_seed(0)
    return TabM(shape, **{**SIZES, **changes})


def by_hand(net, rows, member):
    """The answer of one member: each layer is s * (W (r * x)) + b, then ReLU."""
    x = net.flat(rows)
    _, backbone, head = net.nets
    for block in backbone.blocks:
        layer = block[0]
        x = x * layer.r[member] @ layer.weight.T * layer.s[member] + layer.bias[member]
        x = x.clamp(min=0)
    return x @ head.weight[member] + head.bias[member]


def test_a_member_is_a_plain_net_with_its_own_scales():
    rows, shape = some_rows(d_out=4)
    net = a_tabm(shape).eval()
    for parameter in net.nets.parameters():
        torch.nn.init.normal_(parameter)
    found = net.members(rows)  # (B, K, V)
    assert found.shape == (6, 3, 4)
    for member in range(3):
        assert torch.allclose(found[:, member], by_hand(net, rows, member), atol=1e-4)


def test_members_share_the_weights_and_begin_apart_by_column():
    _, shape = some_rows()
    net = a_tabm(shape)
    first, second = (block[0] for block in net.nets[1].blocks)
    assert first.weight.shape == (8, net.flat.d_out)  # one for all members
    widths = [*[1] * (shape.n_numbers + shape.n_plain), *shape.levels]
    scales = first.r.split(widths, dim=1)
    assert all((part == part[:, :1]).all() for part in scales)  # one for each column
    starts = torch.stack([part[:, 0] for part in scales], 1)  # (K, columns)
    assert set(starts.unique().tolist()) == {-1.0, 1.0}
    assert len(starts.unique(dim=0)) > 1
    assert (second.r == 1).all()
    assert (first.s == 1).all()


def test_together_they_answer_with_the_mean_of_probabilities():
    rows, shape = some_rows(d_out=4)
    net = a_tabm(shape).eval()
    expected = net.members(rows).softmax(-1).mean(1)
    assert torch.allclose(net(rows).softmax(1), expected, atol=1e-6)
    assert not torch.allclose(net.members(rows).mean(1).softmax(1), expected, atol=1e-6)


def test_together_they_answer_with_the_mean_number():
    rows, shape = some_rows(d_out=1)
    net = a_tabm(shape).eval()
    assert torch.allclose(net(rows), net.members(rows).mean(1))


def squared(answers, y):
    return mse_loss(answers.squeeze(-1), y)


@pytest.mark.parametrize("criterion", [cross_entropy, squared])
def test_the_loss_is_the_mean_of_the_losses_of_the_members(criterion):
    rows, shape = some_rows(d_out=2 if criterion is cross_entropy else 1)
    y = torch.tensor([0, 1, 1, 0, 1, 0])
    y = y if criterion is cross_entropy else y.float()
    net = a_tabm(shape)
    examples = Examples(rows, y)
    learner = EachMember(
        net,
        examples,
        examples,
        criterion=criterion,
        judge=lambda answers: (0.0, 0.0),
        generator=torch.Generator(),
    )
    batch = torch.tensor([4, 0, 1])
    losses = []
    for k in range(3):
        own = learner.orders[batch, k]
        losses.append(criterion(net.members(rows.take(own))[:, k], y[own]))
    assert torch.allclose(learner.loss(batch), torch.stack(losses).mean(), atol=1e-6)


def test_every_member_sees_every_row_once_an_epoch_in_an_order_of_its_own():
    rows, shape = some_rows()
    examples = Examples(rows, torch.zeros(6))
    learner = EachMember(
        a_tabm(shape),
        examples,
        examples,
        criterion=squared,
        judge=lambda answers: (0.0, 0.0),
        generator=torch.Generator().manual_seed(0),
    )
    assert (learner.orders.sort(0).values == torch.arange(6)[:, None]).all()
    assert len(learner.orders.T.unique(dim=0)) == 3


def test_members_do_not_teach_each_other():
    rows, shape = some_rows()
    net = a_tabm(shape)
    net.members(rows)[:, 1].sum().backward()
    layer = net.nets[1].blocks[0][0]
    touched = layer.r.grad.abs().sum(1) > 0
    assert touched.tolist() == [False, True, False]


def test_its_absence_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "tabm", None)  # as if it were not there
    _, shape = some_rows()
    with pytest.raises(MissingExtraError, match=r'pip install "modernnca\[peers\]"'):
        a_tabm(shape)
