"""Embeddings: the coded layer equals one-hots, the blocks equal the paper's."""

import math

import pytest
import torch
from torch import nn
from torch.nn.functional import one_hot

from modernnca.core.embeddings import (
    EMBEDDINGS,
    BlockConfig,
    CodedLinear,
    Dropout,
    Residual,
    build_layernorm,
    build_linear,
    build_mlp,
    build_residual,
)
from modernnca.core.init import Linear

# Two columns share the levels 0..4: 0-1 of the first, 2-4 of the second; 5 is unknown.
CODES = torch.tensor([[0, 2], [1, 4], [5, 3], [0, 5], [5, 5], [0, 2]])


@pytest.fixture
def layer():
    generator = torch.Generator().manual_seed(0)
    return CodedLinear(d_in=3, n_levels=5, d_out=4, generator=generator).double()


def explicit(layer):
    """`nn.Linear` on [numbers, one-hots] with the weights of `layer`."""
    n_levels, d_out = len(layer.levels) - 1, len(layer.bias)
    plain = nn.Linear(layer.weight.shape[1] + n_levels, d_out).double()
    with torch.no_grad():
        plain.weight.copy_(torch.cat([layer.weight, layer.levels[:-1].T], 1))
        plain.bias.copy_(layer.bias)
    return plain


def test_coded_linear_equals_linear_on_one_hots_with_its_gradients(layer, draw):
    plain, x, factor = explicit(layer), draw(6, 3), draw(6, 4)
    ours, theirs = x.clone().requires_grad_(), x.clone().requires_grad_()
    hot = one_hot(CODES, 6).sum(1)[:, :5].double()
    found, expected = layer(ours, CODES), plain(torch.cat([theirs, hot], 1))
    torch.testing.assert_close(found, expected)

    (found * factor).sum().backward()
    (expected * factor).sum().backward()
    torch.testing.assert_close(ours.grad, theirs.grad)
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
    # The same, given the sum over the first number.
    first = x[:, :1] @ layer.weight[:, :1].T
    torch.testing.assert_close(layer.add_last(first, x[:, 1:], CODES), expected)


def test_an_unknown_level_adds_nothing_and_has_no_gradient(layer, draw):
    x = draw(2, 3)
    unknown = layer(x, torch.full((2, 2), 5))
    torch.testing.assert_close(unknown, layer(x, torch.zeros(2, 0).long()))
    layer(x, torch.tensor([[0, 5], [5, 5]])).sum().backward()
    assert (layer.levels.grad[-1] == 0).all()


def test_coded_linear_is_initialized_in_the_range_of_nn_linear(layer):
    bound = 1 / math.sqrt(3 + 5)
    for parameter in layer.parameters():
        assert parameter.abs().max() <= bound
        assert parameter.abs().max() > bound / 2


CONFIG = BlockConfig(dim=6, n_blocks=2, d_block=9, dropout=0.5)


def build(make):
    generator = torch.Generator().manual_seed(0)
    module = make(CONFIG, generator).double().eval()
    with torch.no_grad():  # norms that are not the identity
        for tensor in (*module.parameters(), *module.buffers()):
            if tensor.is_floating_point():
                tensor.uniform_(0.5, 1.5, generator=generator)
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
def test_blocks_equal_the_papers_equation_with_a_norm_at_the_end(
    make, normalize, residual, draw
):
    module, x = build(make), draw(5, 6)
    *blocks, last = module
    out = x
    for block in blocks:
        norm, first, _, _, second = block.block if residual else block
        hidden = (normalize(norm, out) @ first.weight.T + first.bias).clamp_min(0)
        change = hidden @ second.weight.T + second.bias
        out = out + change if residual else change
    assert len(blocks) == 2
    torch.testing.assert_close(module(x), normalize(last, out))


def test_batch_norm_in_training_uses_the_statistics_of_the_batch(draw):
    # With its initial weights, the last norm gives a mean of 0 and a variance of 1.
    generator = torch.Generator().manual_seed(0)
    out = build_mlp(CONFIG, generator).double().train()(draw(50, 6))
    torch.testing.assert_close(out.mean(0), torch.zeros(6).double())
    torch.testing.assert_close(
        out.var(0, correction=0), torch.ones(6).double(), rtol=0.01, atol=0
    )


def test_dropout_is_between_relu_and_the_second_linear_layer():
    block = build_mlp(CONFIG)[0]
    kinds = [type(part) for part in block]
    assert kinds == [nn.BatchNorm1d, Linear, nn.ReLU, Dropout, Linear]
    assert block[3].p == 0.5


@pytest.mark.parametrize("name", EMBEDDINGS)
def test_without_blocks_rows_are_unchanged(name, draw):
    x = draw(5, 6)
    config = CONFIG.updated({"n_blocks": 0})
    assert EMBEDDINGS[name](config, None).train()(x) is x


def test_linear_has_no_blocks_whatever_the_config():
    assert list(build_linear(CONFIG).parameters()) == []


def test_a_residual_block_adds_its_input(draw):
    x, block = draw(5, 6), nn.Linear(6, 6).double()
    torch.testing.assert_close(Residual(block)(x), x + block(x))


@pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
def test_dropout_zeroes_its_share_and_keeps_the_mean(p):
    x = torch.ones(1001, 257, requires_grad=True)  # not a multiple of four
    drop = Dropout(p)
    drop.generator = torch.Generator().manual_seed(0)
    out = drop(x)
    n = x.numel()
    kept = out != 0
    # Four standard deviations of the number kept.
    assert abs(kept.sum().item() - n * (1 - p)) < 4 * math.sqrt(n * p * (1 - p))
    assert torch.allclose(out[kept], torch.tensor(1 / (1 - p)))
    flat = kept.flatten()
    for lag in (1, 2, 3, 4):  # draws from one random number are independent
        both = (flat[lag:] & flat[:-lag]).float().mean()
        assert both.item() == pytest.approx((1 - p) ** 2, abs=0.005)
    out.sum().backward()
    assert torch.equal(x.grad, out.detach())


def test_dropout_is_off_in_evaluation_and_reproducible_in_training(draw):
    x, drop = draw(8, 5), Dropout(0.5)
    assert torch.equal(drop.eval()(x), x)
    drop.train()
    before = torch.get_rng_state()
    found = []
    for seed in (0, 0, 1):
        drop.generator = torch.Generator().manual_seed(seed)
        found.append(drop(x))
    assert torch.equal(found[0], found[1])
    assert not torch.equal(found[0], found[2])
    assert torch.equal(torch.get_rng_state(), before)  # the global one is not used
