"""The ResNet of the paper, layer by layer."""

import torch
from tests.lab.peers.shapes import make_rows, onehot

from modernnca.lab.peers.resnet import Block, build


def norm(x, layer):
    """Batch normalization in evaluation mode."""
    scaled = (x - layer.running_mean) / (layer.running_var + layer.eps).sqrt()
    return scaled * layer.weight + layer.bias


def make_resnet(shape, **changes):
    sizes = {"n_blocks": 2, "d": 4, "hidden_factor": 1.5}
    dropouts = {"hidden_dropout": 0.5, "residual_dropout": 0.5}
    return build(shape, **{**sizes, **dropouts, **changes})


def test_a_block_is_residual():
    torch.manual_seed(0)
    block = Block(3, 5, hidden_dropout=0.5, residual_dropout=0.5)
    x = torch.randn(8, 3)
    for _ in range(3):
        block(x)  # learn the running mean and variance
    block.eval()
    bn, into, _, _, out, _ = block.change
    hidden = (norm(x, bn) @ into.weight.T + into.bias).clamp(min=0)
    expected = x + hidden @ out.weight.T + out.bias
    assert torch.allclose(block(x), expected, atol=1e-6)


def test_the_network_is_a_linear_layer_blocks_and_a_normalized_head():
    torch.manual_seed(0)
    rows, shape = make_rows()
    net = make_resnet(shape).eval()
    _, first, *blocks, bn, _, last = net
    x = torch.cat([rows.numbers, rows.plain, onehot(rows, shape.levels)], 1)
    x = first(x)
    for block in blocks:
        x = x + block.change(x)
    expected = norm(x, bn).clamp(min=0) @ last.weight.T + last.bias
    assert len(blocks) == 2
    assert blocks[0].change[1].out_features == 6  # 4 * 1.5
    assert torch.allclose(net(rows), expected, atol=1e-6)


def test_blocks_with_zero_output_make_no_difference():
    rows, shape = make_rows()
    nets = []
    for n_blocks in (1, 6):
        torch.manual_seed(0)
        net = make_resnet(shape, n_blocks=n_blocks).eval()
        for block in net[2:-3]:
            torch.nn.init.zeros_(block.change[4].weight)
            torch.nn.init.zeros_(block.change[4].bias)
        nets.append(net)
    for place in (1, -1):
        nets[1][place].load_state_dict(nets[0][place].state_dict())
    assert torch.equal(nets[0](rows), nets[1](rows))
