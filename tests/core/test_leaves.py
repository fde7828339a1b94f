"""Rows are near that end in the same leaves."""

import pytest
import torch

from modernnca.core.leaves import Leaves, LeavesShape, apart, together
from modernnca.core.net import embed_all
from modernnca.core.rows import Rows
from modernnca.core.softnn import Rule
from modernnca.memory.exact import ExactMemory


@pytest.fixture
def leaves():
    """Two trees: one asks a number and then a code, one is a leaf."""
    found = Leaves(LeavesShape(n_trees=2, n_nodes=6))
    found.columns = torch.tensor([0, 0, 2, 0, 0, 0])
    found.limits = torch.tensor([0.5, 0, 3, 0, 0, 0])
    found.left = torch.tensor([1, 1, 3, 3, 4, 5])
    found.right = torch.tensor([2, 1, 4, 3, 4, 5])
    found.leaves = torch.tensor([0, 0, 0, 1, 2, 0])
    found.roots = torch.tensor([0, 5])
    return found


@pytest.fixture
def rows():
    numbers = torch.tensor([[0.5], [0.6], [9.0], [-1.0]])
    return Rows(numbers, torch.zeros(4, 1), torch.tensor([[0], [3], [4], [9]]))


def test_leaves_by_hand(leaves, rows):
    assert leaves(rows).tolist() == [[0, 0], [1, 0], [2, 0], [0, 0]]


def test_rows_are_led_some_at_a_time(leaves, rows):
    assert torch.equal(embed_all(leaves, rows, n_cells=2), leaves(rows))
    none = rows.take(slice(0, 0))
    assert leaves(none).shape == (0, 2)


def test_distances_by_hand(leaves, rows):
    keys = leaves(rows)
    assert apart(keys[:2], keys).tolist() == [[0, 0.5, 0.5, 0], [0.5, 0, 0.5, 0.5]]


def drawn(n_rows, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(5, (n_rows, 7), generator=generator).float()


def test_the_distance_is_the_share_of_trees_that_differ():
    keys, query = drawn(30), drawn(11, seed=1)
    slowly = (query[:, None] != keys).float().mean(-1)
    torch.testing.assert_close(apart(query, keys), slowly)
    by_pair = apart(query[:, None, None], keys.expand(11, -1, -1)[:, :, None])
    torch.testing.assert_close(by_pair[..., 0, 0], slowly)


@pytest.mark.parametrize(("n_queries", "n_keys"), [(0, 4), (4, 0), (0, 0)])
def test_no_rows_have_no_distances(n_queries, n_keys):
    assert apart(drawn(n_queries), drawn(n_keys)).shape == (n_queries, n_keys)


def test_a_memory_of_leaves_votes_as_any_other():
    keys, query = drawn(40), drawn(9, seed=1)
    values = torch.eye(4)[torch.arange(40) % 4]
    weights = torch.linspace(0.3, 3, 40)
    rule = Rule(apart, kernel=together)
    memory = ExactMemory(keys, values, rule, log_weights=weights.log(), n_pairs=90)
    shared = (query[:, None] == keys).double().mean(-1)  # of the trees
    parts = shared.clamp_min(1e-3) ** 4 * weights
    expected = (parts / parts.sum(1, keepdim=True)).float() @ values
    torch.testing.assert_close(memory.vote(query).mean, expected)
    near = memory.nearest(query, 40)
    told = (near.shares[..., None] * values[near.rows]).sum(1)
    torch.testing.assert_close(told, expected)
    assert (near.distances.diff(dim=1) >= 0).all()


def test_who_meets_nobody_hears_all():
    keys, values = torch.zeros(2, 3), torch.eye(2)
    memory = ExactMemory(keys, values, Rule(apart, kernel=together))
    torch.testing.assert_close(
        memory.vote(torch.ones(1, 3)).mean, values.new_full((1, 2), 0.5)
    )


@pytest.mark.parametrize(
    ("name", "value"),
    [("columns", 3), ("columns", -1), ("left", 6), ("right", 0), ("roots", 9)],
)
def test_trees_that_lead_nowhere_are_refused(leaves, name, value):
    leaves.check(n_columns=3)
    getattr(leaves, name)[-1] = value
    with pytest.raises(ValueError, match="its trees lead nowhere"):
        leaves.check(n_columns=3)
