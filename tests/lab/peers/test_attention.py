"""Attention equals its formula, layers are residual, and chunks change nothing."""

import math

import pytest
import torch

from modernnca.lab.peers.attention import (
    GLU,
    Attention,
    TransformerLayer,
    feed_forward,
    in_chunks,
    rows_per_chunk,
)


def plain_attention(attention, tokens, mask):
    """By loops over rows and heads, with a softmax written out."""
    d_head = attention.d_head
    q = attention.query(tokens)
    k, v = attention.key_value(tokens).chunk(2, -1)
    heads = []
    for start in range(0, q.shape[-1], d_head):
        part = slice(start, start + d_head)
        scores = q[..., part] @ k[..., part].transpose(1, 2) / math.sqrt(d_head)
        weights = scores.exp() * mask
        heads.append(weights / weights.sum(-1, keepdim=True) @ v[..., part])
    return attention.out(torch.cat(heads, -1))


@pytest.mark.parametrize("d_head", [None, 5])
def test_attention_equals_a_softmax_written_out(d_head):
    torch.manual_seed(0)
    attention = Attention(12, n_heads=3, d_head=d_head)
    tokens = torch.randn(4, 7, 12)
    full = torch.ones(7, 7)
    expected = plain_attention(attention, tokens, full)
    torch.testing.assert_close(attention(tokens), expected)
    torch.testing.assert_close(attention(tokens, n_queries=2), expected[:, :2])
    some = (torch.rand(7, 7) < 0.5) | torch.eye(7).bool()
    torch.testing.assert_close(
        attention(tokens, mask=some), plain_attention(attention, tokens, some)
    )
    torch.testing.assert_close(
        attention(tokens, causal=True), plain_attention(attention, tokens, full.tril())
    )


def test_dropout_drops_a_value_for_all_queries_and_in_training_only():
    torch.manual_seed(0)
    attention = Attention(4, n_heads=1, dropout=0.4)
    for linear in (attention.query, attention.key_value, attention.out):
        torch.nn.init.zeros_(linear.weight)  # all tokens have the same weight
    attention.key_value.bias.data[4:] = 1.0  # and the value 1
    torch.nn.init.eye_(attention.out.weight)
    tokens = torch.zeros(4000, 5, 4)
    attended = attention(tokens)
    assert (attended == attended[:, :1, :1]).all()
    n_kept = attended[:, 0, 0] * 0.6 * 5  # how many tokens were not dropped
    torch.testing.assert_close(n_kept, n_kept.round(), atol=1e-5, rtol=0)
    assert n_kept.mean().item() == pytest.approx(3, abs=0.1)
    assert n_kept.var().item() == pytest.approx(5 * 0.6 * 0.4, abs=0.1)
    assert (attention.eval()(tokens) == 1).all()


def test_d_token_must_be_a_multiple_of_n_heads():
    with pytest.raises(
        ValueError,
        match=r"d_token=20 must be a multiple of n_heads=8, such as 24\.",
    ):
        Attention(20, n_heads=8)


def test_a_layer_is_residual():
    torch.manual_seed(0)
    ffn = feed_forward(8, 4, torch.relu, 0.0)
    layer = TransformerLayer(8, Attention(8, n_heads=2), ffn)
    tokens = torch.randn(3, 5, 8)
    attended = tokens + layer.attention(layer.norm(tokens))
    expected = attended + layer.ffn(layer.norm_ffn(attended))
    torch.testing.assert_close(layer(tokens), expected)
    torch.testing.assert_close(layer(tokens, n_queries=1), expected[:, :1])


def test_the_gate_is_the_second_half():
    x = torch.tensor([[2.0, 3.0, 0.5, -0.5]])
    expected = torch.tensor([[2 * math.tanh(0.5), 3 * math.tanh(-0.5)]])
    torch.testing.assert_close(GLU(torch.tanh)(x), expected)


def test_chunks_give_the_same_outputs_and_gradients():
    torch.manual_seed(0)
    ffn = feed_forward(8, 4, torch.relu, 0.0)
    layer = TransformerLayer(8, Attention(8, n_heads=2), ffn)
    tokens = torch.randn(10, 5, 8)
    found = []
    for chunk_size in (10, 3):
        layer.zero_grad()
        outputs = in_chunks(layer, tokens, chunk_size)
        outputs.square().sum().backward()
        found.append((outputs.detach(), layer.attention.query.weight.grad.clone()))
    torch.testing.assert_close(found[0], found[1])


def test_the_backward_pass_repeats_the_dropout():
    torch.manual_seed(0)
    drop = torch.nn.Dropout(0.5)
    x = torch.ones(64, 1, 1, requires_grad=True)
    outputs = in_chunks(drop, x, 8)
    outputs.sum().backward()
    assert torch.equal(x.grad, outputs)


def test_wide_tables_have_smaller_chunks():
    found = [rows_per_chunk(n, d_token=192, n_layers=3) for n in (10, 300, 10_000)]
    assert found[0] >= 1024 > found[1] > found[2] >= 1
