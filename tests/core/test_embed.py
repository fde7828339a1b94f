"""Embeddings: the coded layer against one-hots, the blocks against the paper."""

import math

import pytest
import torch
from torch import nn
from torch.nn.functional import one_hot

from modernnca.core.embed import (
    EMBEDDINGS,
    BlockShape,
    CodedLinear,
    Dropout,
    Residual,
    build_layernorm,
    build_linear,
    build_mlp,
    build_residual,
)

# Two columns share the levels 0..4: 0-1 of the first, 2-4 of the second; 5 is unknown.
CODES = torch.tensor([[0, 2], [1, 4], [5, 3], [0, 5], [5, 5], [0, 2]])


@pytest.fixture
def layer():
    torch.manual_seed(0)
    return CodedLinear(d_in=3, n_levels=5, d_out=4).double()


def explicit(layer):
    """`nn.Linear` on [numbers, one-hots] with the weights of `layer`."""
    n_levels, d_out = len(layer.levels) - 1, len(layer.bias)
    plain = nn.Linear(layer.weight.shape[1] + n_levels, d_out).double()
    with torch.no_grad():
        plain.weight.copy_(torch.cat([layer.weight, layer.levels[:-1].T], 1))
        plain.bias.copy_(layer.bias)
    return plain


def test_coded_linear_is_linear_on_one_hots_with_the_same_gradients(layer, draw):
    plain, x, pull = explicit(layer), draw(6, 3), draw(6, 4)
    mine, theirs = x.clone().requires_grad_(), x.clone().requires_grad_()
    hot = one_hot(CODES, 6).sum(1)[:, :5].double()
    found, expected = layer(mine, CODES), plain(torch.cat([theirs, hot], 1))
    torch.testing.assert_close(found, expected)

    (found * pull).sum().backward()
    (expected * pull).sum().backward()
    torch.testing.assert_close(mine.grad, theirs.grad)
    torch.testing.assert_close(layer.weight.grad, plain.weight.grad[:, :3])
    torch.testing.assert_close(layer.levels.grad[:-1].T, plain.weight.grad[:, 3:])
    torch.testing.assert_close(layer.bias.grad, plain.bias.grad)


def test_scales_are_those_of_the_last_numbers_and_of_the_levels(draw):
    layer = CodedLinear(d_in=3, n_levels=5, d_out=4, n_scaled=2).double()
    assert torch.equal(layer.scale.data, torch.ones(2).double())  # changes nothing yet
    with torch.no_grad():
        layer.scale.copy_(torch.tensor([2.0, -3.0]))
        layer.level_scale.copy_(draw(6))
    x, hot = draw(6, 3), one_hot(CODES, 6).sum(1)[:, :5].double()
    seen = x * torch.tensor([1.0, 2.0, -3.0])
    plain = explicit(layer)
    expected = plain(torch.cat([seen, hot * layer.level_scale[:5]], 1))
    torch.testing.assert_close(layer(x, CODES), expected)
    # The first number may have been looked up by somebody else.
    looked_up = x[:, :1] @ layer.weight[:, :1].T
    torch.testing.assert_close(layer.add_last(looked_up, x[:, 1:], CODES), expected)


def test_an_unknown_level_adds_nothing_and_learns_nothing(layer, draw):
    x = draw(2, 3)
    unknown = layer(x, torch.full((2, 2), 5))
    torch.testing.assert_close(unknown, layer(x, torch.zeros(2, 0).long()))
    layer(x, torch.tensor([[0, 5], [5, 5]])).sum().backward()
    assert (layer.levels.grad[-1] == 0).all()


def test_coded_linear_starts_in_the_range_of_nn_linear(layer):
    bound = 1 / math.sqrt(3 + 5)
    for parameter in layer.parameters():
        assert parameter.abs().max() <= bound
        assert parameter.abs().max() > bound / 2


SHAPE = BlockShape(dim=6, n_blocks=2, d_block=9, dropout=0.5)


def build(make, shape=SHAPE):
    torch.manual_seed(0)
    module = make(shape).double().eval()
    with torch.no_grad():  # norms that have something to say
        for tensor in (*module.parameters(), *module.buffers()):
            if tensor.is_floating_point():
                tensor.uniform_(0.5, 1.5)
    return module


def batch_norm(norm, x):
    scale = norm.weight / (norm.running_var + norm.eps).sqrt()
    return (x - norm.running_mean) * scale + norm.bias


def layer_norm(norm, x):
    center = x - x.mean(1, keepdim=True)
    scale = (center.square().mean(1, keepdim=True) + norm.eps).sqrt()
    return center / scale * norm.weight + norm.bias


@pytest.mark.parametrize(
    ("make", "normalize", "residual"),
    [
        (build_mlp, batch_norm, False),
        (build_layernorm, layer_norm, False),
        (build_residual, batch_norm, True),
    ],
)
def test_blocks_are_the_papers_equation_with_a_norm_at_the_end(
    make, normalize, residual, draw
):
    module, x = build(make), draw(5, 6)
    *blocks, last = module
    out = x
    for block in blocks:
        norm, first, _, _, second = block.block if residual else block
        hidden = (normalize(norm, out) @ first.weight.T + first.bias).clamp_min(0)
        bent = hidden @ second.weight.T + second.bias
        out = out + bent if residual else bent
    assert len(blocks) == 2
    torch.testing.assert_close(module(x), normalize(last, out))


def test_batch_norm_in_training_uses_the_batch_alone(draw):
    # The last norm leaves a mean of zero and a variance of one (its own first weights).
    torch.manual_seed(0)
    out = build_mlp(SHAPE).double().train()(draw(50, 6))
    torch.testing.assert_close(out.mean(0), torch.zeros(6).double())
    torch.testing.assert_close(
        out.var(0, correction=0), torch.ones(6).double(), rtol=0.01, atol=0
    )


def test_dropout_sits_between_relu_and_the_second_linear_layer():
    block = build_mlp(SHAPE)[0]
    kinds = [type(part) for part in block]
    assert kinds == [nn.BatchNorm1d, nn.Linear, nn.ReLU, Dropout, nn.Linear]
    assert block[3].p == 0.5


@pytest.mark.parametrize("name", EMBEDDINGS)
def test_no_blocks_leave_the_row_as_it_is(name, draw):
    x = draw(5, 6)
    shape = BlockShape(dim=6, n_blocks=0, d_block=9, dropout=0.5)
    assert EMBEDDINGS[name](shape).train()(x) is x


def test_linear_has_no_blocks_whatever_is_asked_for():
    assert list(build_linear(SHAPE).parameters()) == []


def test_a_residual_adds_its_input(draw):
    x, block = draw(5, 6), nn.Linear(6, 6).double()
    torch.testing.assert_close(Residual(block)(x), x + block(x))


@pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
def test_dropout_silences_its_share_and_keeps_the_mean(p):
    torch.manual_seed(0)
    x = torch.ones(1001, 257, requires_grad=True)  # not a multiple of four
    out = Dropout(p)(x)
    n = x.numel()
    heard = out != 0
    # Four standard deviations of the number heard.
    assert abs(heard.sum().item() - n * (1 - p)) < 4 * math.sqrt(n * p * (1 - p))
    assert torch.allclose(out[heard], torch.tensor(1 / (1 - p)))
    for neighbor in (1, 2, 3, 4):  # lots of one random number are not alike
        both = (heard.flatten()[neighbor:] & heard.flatten()[:-neighbor]).float().mean()
        assert both.item() == pytest.approx((1 - p) ** 2, abs=0.005)
    out.sum().backward()
    assert torch.equal(x.grad, out.detach())


def test_dropout_rests_when_it_is_not_training_and_follows_the_seed():
    x = torch.randn(8, 5)
    drop = Dropout(0.5)
    assert torch.equal(drop.eval()(x), x)
    drop.train()
    found = []
    for seed in (0, 0, 1):
        torch.manual_seed(seed)
        found.append(drop(x))
    assert torch.equal(found[0], found[1])
    assert not torch.equal(found[0], found[2])
