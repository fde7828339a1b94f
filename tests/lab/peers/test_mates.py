"""The rows that keep asked ones company are fixed, and asked ones do not meet."""

import torch
from tests.lab.peers.shapes import some_rows

from modernnca.lab.peers.mates import Mates

SHAPE = some_rows()[1]


def made_rows(n_rows, seed=0):
    return some_rows(n_rows, seed=seed)[0]


def test_mates_are_training_rows_and_none_twice():
    rows, mates = made_rows(30), Mates(SHAPE, 8)
    mates.keep(rows, torch.Generator().manual_seed(0))
    found = (mates.numbers[:, None] == rows.numbers).all(-1)  # (8, 30)
    assert found.any(1).all()
    assert found.sum(0).max() == 1
    places = found.int().argmax(1)
    assert torch.equal(mates.codes, rows.codes[places])
    assert torch.equal(mates.plain, rows.plain[places])


def test_a_small_table_is_kept_whole():
    mates = Mates(SHAPE, 8)
    mates.keep(made_rows(3), torch.Generator())
    assert len(mates.numbers) == 3


def test_asked_rows_see_the_mates_and_themselves():
    mates, asked = Mates(SHAPE, 2).eval(), made_rows(3, seed=1)
    mates.keep(made_rows(9), torch.Generator())
    rows, mask = mates(asked)
    assert torch.equal(rows.numbers[2:], asked.numbers)
    expected = [
        [1, 1, 0, 0, 0],
        [1, 1, 0, 0, 0],
        [1, 1, 1, 0, 0],
        [1, 1, 0, 1, 0],
        [1, 1, 0, 0, 1],
    ]
    assert mask.int().tolist() == expected


def test_in_training_rows_have_each_other():
    mates, rows = Mates(SHAPE, 2), made_rows(3)
    mates.keep(rows, torch.Generator())
    seen, mask = mates(rows)
    assert seen is rows
    assert mask is None
