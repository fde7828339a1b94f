"""DCNv2: the cross layers equal the formula of the paper."""

import torch
from tests.lab.peers.shapes import make_rows, onehot

from modernnca.lab.peers.dcnv2 import Cross, DCNv2


def make_dcn(shape, **changes):
    sizes = {"d": 4, "n_cross": 2, "n_hidden": 2}
    return DCNv2(
        shape, **{**sizes, "cross_dropout": 0.5, "hidden_dropout": 0.5, **changes}
    )


def test_a_cross_layer_by_hand():
    cross = Cross(2, n_layers=1, dropout=0.0)
    with torch.no_grad():
        cross.layers[0].weight.copy_(torch.tensor([[1.0, 2.0], [0.0, -1.0]]))
        cross.layers[0].bias.copy_(torch.tensor([0.5, 1.0]))
    # W x + b = (3 + 2*5 + 0.5, -5 + 1) = (13.5, -4); the output is x * (W x + b) + x
    found = cross(torch.tensor([[3.0, 5.0]]))
    assert torch.equal(found, torch.tensor([[3 * 13.5 + 3, 5 * -4 + 5]]))


def test_cross_layers_equal_the_formula():
    torch.manual_seed(0)
    cross = Cross(5, n_layers=3, dropout=0.0).double()
    x0 = torch.randn(5).double()
    x = x0
    for layer in cross.layers:
        crossed = [
            x0[i] * (layer.weight[i] @ x + layer.bias[i]) + x[i] for i in range(5)
        ]
        x = torch.stack(crossed)
    assert torch.allclose(cross(x0[None])[0], x, atol=1e-12)


def test_the_degree_grows_by_one_with_each_layer():
    torch.manual_seed(0)
    cross = Cross(1, n_layers=3, dropout=0.0).double()
    at = torch.linspace(-1, 1, 9).double()
    values = cross(at[:, None])[:, 0].detach()
    # Differences of order n remove polynomials of degree n - 1, and no others.
    assert values.diff(n=5).abs().max() < 1e-12
    assert values.diff(n=4).abs().max() > 1e-6


def test_cross_and_deep_read_the_linear_layer_and_the_head_reads_both():
    torch.manual_seed(0)
    rows, shape = make_rows()
    net = make_dcn(shape).eval()
    mix = net.first[1]
    flat = torch.cat([rows.numbers, rows.plain, onehot(rows, shape.levels)], 1)
    x = flat @ mix.weight.T + mix.bias
    crossed = x
    for layer in net.cross.layers:
        crossed = x * layer(crossed) + crossed
    deep = x
    for layer in (net.deep[0], net.deep[3]):
        deep = layer(deep).clamp(min=0)
    expected = net.last(torch.cat([crossed, deep], 1))
    assert torch.allclose(net(rows), expected, atol=1e-6)


def test_dropout_drops_products_but_not_the_input():
    cross = Cross(3, n_layers=4, dropout=1.0).train()
    x = torch.randn(2, 3)
    assert torch.equal(cross(x), x)


def test_numbers_are_clipped_at_ten_standard_deviations():
    torch.manual_seed(0)
    rows, shape = make_rows()
    net = make_dcn(shape).eval()
    far, ten = (rows._replace(numbers=rows.numbers.clone()) for _ in range(2))
    far.numbers[0, 0], ten.numbers[0, 0] = 1e4, 10.0
    assert torch.equal(net(far), net(ten))
    assert not torch.equal(net(far), net(rows))
