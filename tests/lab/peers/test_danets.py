"""DANets: the abstract layer against its formula, group by group."""

import torch
from tests.lab.peers.shapes import make_rows
from torch import nn

from modernnca.lab.peers.danets import AbstractLayer, DANet


def make_layer(d_in=6, d_out=3, n_groups=4):
    torch.manual_seed(0)
    return AbstractLayer(d_in, d_out, n_groups=n_groups, n_ghost=256)


def make_danet(shape, **sizes):
    torch.manual_seed(0)
    chosen = {"n_layers": 6, "d_block": 8, "dropout": 0.0, "n_groups": 2}
    return DANet(shape, **{**chosen, "n_ghost": 256, **sizes})


def test_masks_are_sparse_and_sum_to_one():
    masks = make_layer(d_in=200, n_groups=5).masks()
    assert masks.shape == (5, 200)
    assert torch.allclose(masks.sum(1), torch.ones(5), atol=1e-5)
    assert (masks >= 0).all()
    assert (masks == 0).float().mean() > 0.3
    assert not torch.equal(masks[0] > 0, masks[1] > 0)


def test_a_group_ignores_columns_outside_its_mask():
    layer = make_layer(n_groups=1).eval()
    with torch.no_grad():
        layer.choice.copy_(torch.tensor([[5.0, 5.0, 0.0, 0.0, 0.0, 0.0]]))
    x = torch.randn(4, 6)
    changed = x.clone()
    changed[:, 2:] += 1
    assert torch.equal(layer(x), layer(changed))
    changed[:, 0] += 1
    assert not torch.allclose(layer(x), layer(changed))


def test_it_is_the_sum_of_gated_groups():
    layer = make_layer(d_in=6, d_out=3, n_groups=4)
    x = torch.randn(10, 6)
    expected = torch.zeros(10, 3)
    for mask, weight in zip(layer.masks(), layer.weight, strict=True):
        group = nn.BatchNorm1d(6)((x * mask) @ weight.T)
        gate, value = group[:, :3], group[:, 3:]
        expected += (torch.sigmoid(gate) * value).clamp(min=0)
    assert torch.allclose(layer(x), expected, atol=1e-5)


def test_it_is_a_grouped_convolution_of_masked_columns():
    layer = make_layer(d_in=6, d_out=3, n_groups=4).eval()
    x = torch.randn(5, 6)
    masked = torch.einsum("gd,bd->bgd", layer.masks(), x).reshape(5, 24, 1)
    weight = layer.weight.reshape(24, 6, 1)
    groups = nn.functional.conv1d(masked, weight, groups=4).squeeze(2)
    parts = layer.norm(groups).chunk(4, dim=1)
    expected = sum((part[:, :3].sigmoid() * part[:, 3:]).relu() for part in parts)
    assert torch.allclose(layer(x), expected, atol=1e-5)


def test_every_block_has_a_shortcut_from_the_raw_columns():
    rows, shape = make_rows(n_rows=20)
    net = make_danet(shape).eval()
    raw = net.flat(rows)
    x = raw
    for block in net.blocks:
        first, second = block.main
        shortcut = block.shortcut[1](raw)
        x = nn.functional.leaky_relu(second(first(x)) + shortcut, 0.01)
    assert len(net.blocks) == 3
    assert torch.allclose(net(rows), net.head(x), atol=1e-6)
    last = net.blocks[-1].shortcut[1]
    with torch.no_grad():
        last.weight.zero_()
    assert not torch.allclose(net(rows), net.head(x), atol=1e-4)


def test_outputs_have_a_sensible_scale_for_any_number_of_columns():
    for d_in in (1, 10, 1000):
        layer = make_layer(d_in=d_in)
        out = layer(torch.randn(256, d_in))
        assert out.std() > 0.2
