"""Attention is a plain softmax; layers add; parts change nothing."""

import math

import pytest
import torch

from modernnca.lab.peers.attention import (
    Attention,
    Gated,
    Layer,
    feed_forward,
    in_parts,
    rows_at_once,
)


def plain_attention(attention, tokens, mask):
    """By loops over rows and heads, with a softmax written out."""
    d_head = attention.d_head
    q = attention.asks(tokens)
    k, v = attention.tells(tokens).chunk(2, -1)
    heads = []
    for start in range(0, q.shape[-1], d_head):
        part = slice(start, start + d_head)
        scores = q[..., part] @ k[..., part].transpose(1, 2) / math.sqrt(d_head)
        weights = scores.exp() * mask
        heads.append(weights / weights.sum(-1, keepdim=True) @ v[..., part])
    return attention.out(torch.cat(heads, -1))


@pytest.mark.parametrize("d_head", [None, 5])
def test_attention_is_a_plain_softmax_over_what_is_heard(d_head):
    torch.manual_seed(0)
    attention = Attention(12, n_heads=3, d_head=d_head)
    tokens = torch.randn(4, 7, 12)
    every = torch.ones(7, 7)
    expected = plain_attention(attention, tokens, every)
    torch.testing.assert_close(attention(tokens), expected)
    torch.testing.assert_close(attention(tokens, n_asking=2), expected[:, :2])
    some = (torch.rand(7, 7) < 0.5) | torch.eye(7).bool()
    torch.testing.assert_close(
        attention(tokens, mask=some), plain_attention(attention, tokens, some)
    )
    torch.testing.assert_close(
        attention(tokens, causal=True), plain_attention(attention, tokens, every.tril())
    )


def test_what_is_told_is_dropped_for_all_that_ask_and_in_training_only():
    torch.manual_seed(0)
    attention = Attention(4, n_heads=1, dropout=0.4)
    for linear in (attention.asks, attention.tells, attention.out):
        torch.nn.init.zeros_(linear.weight)  # all tokens count the same,
    attention.tells.bias.data[4:] = 1.0  # and all tell 1,
    torch.nn.init.eye_(attention.out.weight)
    tokens = torch.zeros(4000, 5, 4)
    heard = attention(tokens)
    assert (heard == heard[:, :1, :1]).all()
    n_kept = heard[:, 0, 0] * 0.6 * 5  # so this is how many were not dropped
    torch.testing.assert_close(n_kept, n_kept.round(), atol=1e-5, rtol=0)
    assert n_kept.mean().item() == pytest.approx(3, abs=0.1)
    assert n_kept.var().item() == pytest.approx(5 * 0.6 * 0.4, abs=0.1)
    assert (attention.eval()(tokens) == 1).all()


def test_heads_that_do_not_share_a_token_equally_are_refused():
    with pytest.raises(
        ValueError,
        match=r"d_token=20 must be a multiple of n_heads=8, such as 24\.",
    ):
        Attention(20, n_heads=8)


def test_a_layer_adds_to_what_was_there():
    torch.manual_seed(0)
    layer = Layer(8, Attention(8, n_heads=2), feed_forward(8, 4, torch.relu, 0.0))
    tokens = torch.randn(3, 5, 8)
    heard = tokens + layer.attention(layer.norm(tokens))
    expected = heard + layer.alone(layer.norm_alone(heard))
    torch.testing.assert_close(layer(tokens), expected)
    torch.testing.assert_close(layer(tokens, n_asking=1), expected[:, :1])


def test_the_gate_is_the_second_half():
    x = torch.tensor([[2.0, 3.0, 0.5, -0.5]])
    expected = torch.tensor([[2 * math.tanh(0.5), 3 * math.tanh(-0.5)]])
    torch.testing.assert_close(Gated(torch.tanh)(x), expected)


def test_parts_give_the_same_answers_and_gradients():
    torch.manual_seed(0)
    layer = Layer(8, Attention(8, n_heads=2), feed_forward(8, 4, torch.relu, 0.0))
    tokens = torch.randn(10, 5, 8)
    found = []
    for n_at_once in (10, 3):
        layer.zero_grad()
        answers = in_parts(layer, tokens, n_at_once)
        answers.square().sum().backward()
        found.append((answers.detach(), layer.attention.asks.weight.grad.clone()))
    torch.testing.assert_close(found[0], found[1])


def test_dropped_cells_are_the_same_when_computed_again():
    torch.manual_seed(0)
    drop = torch.nn.Dropout(0.5)
    x = torch.ones(64, 1, 1, requires_grad=True)
    answers = in_parts(drop, x, 8)
    answers.sum().backward()
    assert torch.equal(x.grad, answers)


def test_wide_tables_are_read_in_smaller_parts():
    found = [rows_at_once(n, d_token=192, n_layers=3) for n in (10, 300, 10_000)]
    assert found[0] >= 1024 > found[1] > found[2] >= 1
