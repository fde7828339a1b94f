"""Context rows are a fixed sample, and queries do not attend to each other."""

import torch
from tests.lab.peers.shapes import make_rows

from modernnca.lab.peers.context_rows import ContextRows

SHAPE = make_rows()[1]


def some_rows(n_rows, seed=0):
    return make_rows(n_rows, seed=seed)[0]


def test_the_context_is_a_sample_of_training_rows_without_replacement():
    rows, context = some_rows(30), ContextRows(SHAPE, 8)
    context.sample(rows, torch.Generator().manual_seed(0))
    found = (context.numbers[:, None] == rows.numbers).all(-1)  # (8, 30)
    assert found.any(1).all()
    assert found.sum(0).max() == 1
    index = found.int().argmax(1)
    assert torch.equal(context.codes, rows.codes[index])
    assert torch.equal(context.plain, rows.plain[index])


def test_all_rows_of_a_small_table_are_context():
    context = ContextRows(SHAPE, 8)
    context.sample(some_rows(3), torch.Generator())
    assert len(context.numbers) == 3


def test_queries_attend_to_the_context_and_to_themselves():
    context, queries = ContextRows(SHAPE, 2).eval(), some_rows(3, seed=1)
    context.sample(some_rows(9), torch.Generator())
    rows, mask = context(queries)
    assert torch.equal(rows.numbers[2:], queries.numbers)
    expected = [
        [1, 1, 0, 0, 0],
        [1, 1, 0, 0, 0],
        [1, 1, 1, 0, 0],
        [1, 1, 0, 1, 0],
        [1, 1, 0, 0, 1],
    ]
    assert mask.int().tolist() == expected


def test_in_training_there_is_no_context_and_no_mask():
    context, rows = ContextRows(SHAPE, 2), some_rows(3)
    context.sample(rows, torch.Generator())
    unchanged, mask = context(rows)
    assert unchanged is rows
    assert mask is None
