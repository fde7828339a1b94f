"""SAINT: columns look at columns, rows at rows, and asked rows not at each other."""

import pytest
import torch
from tests.lab.peers.shapes import some_rows

from modernnca.lab.peers.net_model import TableShape
from modernnca.lab.peers.saint import SAINT, NumberTokens

SHAPE = some_rows()[1]


def made_rows(n_rows, seed=0):
    return some_rows(n_rows, seed=seed)[0]


def made_net(shape=SHAPE, **settings):
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


def test_a_row_has_one_answer_whatever_else_is_asked():
    net, rows = made_net().eval(), made_rows(9, seed=1)
    net.mates.keep(made_rows(20), torch.Generator())
    found = net(rows)
    for row in (0, 5, 8):
        alone = net(rows.take(slice(row, row + 1)))
        torch.testing.assert_close(alone, found[row : row + 1])
    order = torch.randperm(9)
    torch.testing.assert_close(net(rows.take(order)), found[order])
    torch.testing.assert_close(net(rows.take(torch.tensor([2] * 40))), found[[2] * 40])


def test_the_mates_matter_to_the_answer():
    net, rows = made_net().eval(), made_rows(4, seed=1)
    found = []
    for seed in (2, 3):
        net.mates.keep(made_rows(6, seed=seed), torch.Generator())
        found.append(net(rows))
    assert not torch.allclose(*found, atol=1e-5)


@pytest.mark.parametrize(
    ("looks", "alone"), [("colrow", False), ("row", False), ("col", True)]
)
def test_in_training_rows_hear_each_other_unless_columns_look_alone(looks, alone):
    net, rows = made_net(looks=looks), made_rows(6)
    net.mates.keep(rows, torch.Generator())
    found = net(rows)
    changed = rows.numbers.clone()
    changed[0] += 1
    moved = net(rows._replace(numbers=changed))[1:] - found[1:]
    assert (moved.abs().max() < 1e-6) == alone


def test_with_the_batch_as_mates_training_and_asking_agree_on_context():
    """A row that sees mates and itself is, in a batch of one more, one of them."""
    net, rows = made_net(), made_rows(7)
    net.mates.keep(rows.take(slice(0, 6)), torch.Generator())
    net.layers = net.layers[:2]  # one look at the rows: mates have seen none asked
    net.looks = net.looks[:2]
    together = net.train()(rows)[6:]
    asked = net.eval()(rows.take(slice(6, 7)))
    torch.testing.assert_close(asked, together)


def test_each_number_has_a_net_of_its_own():
    torch.manual_seed(0)
    tokens, rows = NumberTokens(SHAPE, d_token=5), made_rows(4)
    numbers = torch.cat([rows.numbers, rows.plain], 1)
    for column in range(4):
        hidden = (
            numbers[:, column, None] * tokens.hidden.weight[column]
            + tokens.hidden.bias[column]
        ).relu()
        expected = hidden @ tokens.weight[column] + tokens.bias[column]
        torch.testing.assert_close(tokens(rows)[:, column], expected)


def test_wide_tables_get_small_tokens_and_a_bounded_net():
    wide = TableShape(n_numbers=2000, n_plain=0, levels=(), d_out=1)
    net = made_net(wide, d_token=32, n_blocks=1)
    assert net.cls.shape == (8,)
    assert sum(p.numel() for p in net.parameters()) < 50e6


def test_unknown_looks_are_refused():
    with pytest.raises(ValueError, match=r"'rowcol'.*col, colrow, row"):
        made_net(looks="rowcol")
