"""Products by oneDNN are those of torch; blocks in one node are those of many."""

import pytest
import torch

from modernnca.core import products
from modernnca.core.network import InputShape, Network, NetworkConfig
from modernnca.core.network_stack import NetworkStack
from modernnca.core.rows import Rows

SHAPES = [(3, 4, 5), (128, 96, 200), (1, 2000, 900), (700, 64, 256), (0, 4, 5)]


def drawn(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("one_dnn", [True, False])
@pytest.mark.parametrize(("n", "k", "m"), SHAPES)
def test_products_are_those_of_torch(n, k, m, one_dnn, monkeypatch):
    if one_dnn and not hasattr(torch.ops.mkldnn, "_linear_pointwise"):
        pytest.skip("this torch has no oneDNN")
    monkeypatch.setattr(products, "_ONE_DNN", one_dnn)
    x, weight, bias = drawn(n, k), drawn(m, k, seed=1), drawn(m, seed=2)
    exact = (x.double() @ weight.double().T).float()
    close = {"rtol": 1e-4, "atol": 1e-3}
    torch.testing.assert_close(products.linear(x, weight), exact, **close)
    torch.testing.assert_close(products.matmul(x, weight.T), exact, **close)
    torch.testing.assert_close(products.matmul(x.T.clone().T, weight.T), exact, **close)
    found = products.linear(x, weight, bias, relu=True)
    torch.testing.assert_close(found, (exact + bias).relu(), **close)


@pytest.mark.parametrize("training", [True, False])
def test_blocks_in_one_node_are_those_of_many(training):
    """Values, gradients and running statistics, with dropout."""
    found = []
    for fused in (True, False):
        stack = make_stack().double().train(training)
        stack.draw_dropout_from(torch.Generator().manual_seed(0))
        none = torch.zeros(150, 0).double()
        rows = Rows(drawn(150, 3).double(), none, none.long())
        if fused:
            out = stack(rows)
        else:
            stack._through_blocks = lambda x: x.transpose(0, 1).contiguous()
            first = stack(rows).transpose(0, 1)
            for block in stack.blocks:
                first = block(first)
            out = first.transpose(0, 1)
        (out * drawn(*out.shape, seed=3).double()).sum().backward()
        values = {name: p.grad for name, p in stack.named_parameters()}
        values |= dict(stack.named_buffers()) | {"out": out.detach()}
        found.append({k: v for k, v in values.items() if v is not None})
    assert found[0].keys() == found[1].keys()
    assert "blocks.0.first_weight" in found[0]
    for name, value in found[0].items():
        # The factors of dropout are float32.
        torch.testing.assert_close(value, found[1][name], rtol=1e-6, atol=1e-9)


def make_stack():
    networks = []
    for number, n_blocks in enumerate((0, 2, 1)):
        config = NetworkConfig.defaults().updated(
            {"n_blocks": n_blocks, "dim": 8, "d_block": 24, "dropout": 0.3}
        )
        generator = torch.Generator().manual_seed(number)
        network = Network(config, InputShape(3, 0, 0), generator)
        network.prepare(drawn(50, 3))
        networks.append(network)
    return NetworkStack(networks)
