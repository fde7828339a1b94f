"""FT-Transformer: every column matters, their order does not."""

import pytest
import torch
from tests.lab.peers.shapes import make_rows

from modernnca.core.rows import Rows
from modernnca.lab.peers import peer
from modernnca.lab.peers.ft_t import FTTransformer

ALL, SHAPE = make_rows()
ROWS = ALL.take(slice(0, 1))


def make_net(**settings):
    torch.manual_seed(0)
    chosen = {
        "n_layers": 2,
        "d_token": 16,
        "n_heads": 4,
        "d_ffn_factor": 4 / 3,
        "attention_dropout": 0.2,
        "ffn_dropout": 0.1,
        "residual_dropout": 0.1,
    }
    return FTTransformer(SHAPE, **{**chosen, **settings}).eval()


def test_the_prediction_changes_with_every_column():
    net = make_net()
    found = net(ROWS)
    for part, cells in enumerate(ROWS[:3]):
        for column in range(cells.shape[1]):
            other = list(ROWS)
            other[part] = cells.clone()
            other[part][0, column] += 1
            assert not torch.allclose(net(Rows(*other)), found, atol=1e-5)


def test_the_order_of_tokens_does_not_matter():
    net = make_net()
    tokens = net.tokens(ROWS)
    order = torch.tensor([4, 0, 5, 2, 1, 3])
    found = net.forward_tokens(tokens)
    torch.testing.assert_close(net.forward_tokens(tokens[:, order]), found)
    assert not torch.allclose(net.forward_tokens(tokens[:, :5]), found)


def test_the_last_layer_computes_cls_alone_with_the_same_result():
    net = make_net()
    tokens = torch.cat([net.cls.expand(1, 1, -1), net.tokens(ROWS)], 1)
    for layer in net.layers:
        tokens = layer(tokens)
    torch.testing.assert_close(net.head(tokens[:, 0]), net(ROWS))


def test_all_layers_but_the_first_are_prenorm():
    names = [type(layer.norm).__name__ for layer in make_net(n_layers=3).layers]
    assert names == ["Identity", "LayerNorm", "LayerNorm"]


def test_d_token_must_be_a_multiple_of_n_heads():
    model = peer("ft-t").build("regression", seed=0, settings={"d_token": 20})
    with pytest.raises(ValueError, match="d_token=20 must be a multiple of n_heads=8"):
        model.fit([[0.0], [1.0]], [0.0, 1.0])


def test_in_the_search_space_n_heads_divides_d_token():
    card = peer("ft-t")
    n_heads = card.defaults["n_heads"]
    assert all(d % n_heads == 0 for d in card.space["d_token"].options)
