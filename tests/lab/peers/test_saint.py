"""SAINT: attention over columns and rows, and queries that do not interact."""

import pytest
import torch
from tests.lab.peers.shapes import make_rows

from modernnca.lab.peers.net_model import TableShape
from modernnca.lab.peers.saint import SAINT, NumberTokenizer

SHAPE = make_rows()[1]


def some_rows(n_rows, seed=0):
    return make_rows(n_rows, seed=seed)[0]


def make_net(shape=SHAPE, **settings):
    torch.manual_seed(0)
    chosen = {
        "looks": "colrow",
        "n_blocks": 2,
        "d_token": 8,
        "n_heads": 2,
        "attention_dropout": 0.0,
        "ffn_dropout": 0.0,
        "n_mates": 6,
    }
    return SAINT(shape, **{**chosen, **settings})


def test_the_prediction_of_a_row_does_not_depend_on_other_queries():
    net, rows = make_net().eval(), some_rows(9, seed=1)
    net.context.sample(some_rows(20), torch.Generator())
    found = net(rows)
    for row in (0, 5, 8):
        alone = net(rows.take(slice(row, row + 1)))
        torch.testing.assert_close(alone, found[row : row + 1])
    order = torch.randperm(9)
    torch.testing.assert_close(net(rows.take(order)), found[order])
    torch.testing.assert_close(net(rows.take(torch.tensor([2] * 40))), found[[2] * 40])


def test_the_prediction_depends_on_the_context():
    net, rows = make_net().eval(), some_rows(4, seed=1)
    found = []
    for seed in (2, 3):
        net.context.sample(some_rows(6, seed=seed), torch.Generator())
        found.append(net(rows))
    assert not torch.allclose(*found, atol=1e-5)


@pytest.mark.parametrize(
    ("looks", "independent"), [("colrow", False), ("row", False), ("col", True)]
)
def test_in_training_rows_attend_to_each_other_except_with_col(looks, independent):
    net, rows = make_net(looks=looks), some_rows(6)
    net.context.sample(rows, torch.Generator())
    found = net(rows)
    changed = rows.numbers.clone()
    changed[0] += 1
    change = net(rows._replace(numbers=changed))[1:] - found[1:]
    assert (change.abs().max() < 1e-6) == independent


def test_training_and_inference_agree_if_the_batch_is_the_context():
    """A query with six context rows equals the last row of a batch of seven."""
    net, rows = make_net(), some_rows(7)
    net.context.sample(rows.take(slice(0, 6)), torch.Generator())
    net.layers = net.layers[:2]  # one row attention: the context has not seen the query
    net.axes = net.axes[:2]
    together = net.train()(rows)[6:]
    query = net.eval()(rows.take(slice(6, 7)))
    torch.testing.assert_close(query, together)


def test_each_number_has_its_own_mlp():
    torch.manual_seed(0)
    tokens, rows = NumberTokenizer(SHAPE, d_token=5), some_rows(4)
    numbers = torch.cat([rows.numbers, rows.plain], 1)
    for column in range(4):
        hidden = (
            numbers[:, column, None] * tokens.hidden.weight[column]
            + tokens.hidden.bias[column]
        ).relu()
        expected = hidden @ tokens.weight[column] + tokens.bias[column]
        torch.testing.assert_close(tokens(rows)[:, column], expected)


def test_wide_tables_have_small_tokens_and_a_bounded_network():
    wide = TableShape(n_numbers=2000, n_plain=0, levels=(), d_out=1)
    net = make_net(wide, d_token=32, n_blocks=1)
    assert net.cls.shape == (8,)
    assert sum(p.numel() for p in net.parameters()) < 50e6


def test_unknown_attention_is_an_error():
    with pytest.raises(ValueError, match=r"'rowcol'.*col, colrow, row"):
        make_net(looks="rowcol")
