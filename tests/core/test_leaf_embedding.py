"""A forest as an embedding: rows in the same leaves are near."""

import pytest
import torch

from modernnca.core.leaf_embedding import LeafEmbedding, leaf_distance, leaf_kernel
from modernnca.core.network import embed_rows
from modernnca.core.rows import Rows
from modernnca.core.softnn import Rule
from modernnca.memory.exact_memory import ExactMemory


@pytest.fixture
def leaves():
    """Two trees: one tests a number and then a code, one is a leaf."""
    found = LeafEmbedding(n_trees=2, n_nodes=6)
    found.columns = torch.tensor([0, 0, 2, 0, 0, 0])
    found.thresholds = torch.tensor([0.5, 0, 3, 0, 0, 0])
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


@pytest.mark.parametrize("width", [2**30, 2**18 // 3, 2])
def test_rows_are_embedded_some_at_a_time(leaves, rows, width):
    assert torch.equal(embed_rows(leaves, rows, width=width), leaves(rows))
    none = rows.take(slice(0, 0))
    assert leaves(none).shape == (0, 2)


def test_distances_by_hand(leaves, rows):
    keys = leaves(rows)
    assert leaf_distance(keys[:2], keys).tolist() == [
        [0, 0.5, 0.5, 0],
        [0.5, 0, 0.5, 0.5],
    ]


def draw_leaves(n_rows, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(5, (n_rows, 7), generator=generator).float()


def test_the_distance_is_the_share_of_trees_that_differ():
    keys, query = draw_leaves(30), draw_leaves(11, seed=1)
    expected = (query[:, None] != keys).float().mean(-1)
    torch.testing.assert_close(leaf_distance(query, keys), expected)
    by_pair = leaf_distance(query[:, None, None], keys.expand(11, -1, -1)[:, :, None])
    torch.testing.assert_close(by_pair[..., 0, 0], expected)


@pytest.mark.parametrize(("n_queries", "n_keys"), [(0, 4), (4, 0), (0, 0)])
def test_no_rows_have_no_distances(n_queries, n_keys):
    assert leaf_distance(draw_leaves(n_queries), draw_leaves(n_keys)).shape == (
        n_queries,
        n_keys,
    )


def test_the_vote_of_leaves_is_weighted_by_the_shared_trees():
    keys, query = draw_leaves(40), draw_leaves(9, seed=1)
    values = torch.eye(4)[torch.arange(40) % 4]
    weights = torch.linspace(0.3, 3, 40)
    rule = Rule(leaf_distance, kernel=leaf_kernel)
    memory = ExactMemory(keys, values, rule, log_weights=weights.log(), n_pairs=90)
    shared = (query[:, None] == keys).double().mean(-1)  # of the trees
    parts = shared.clamp_min(1e-3) ** 4 * weights
    shares = (parts / parts.sum(1, keepdim=True)).float()
    torch.testing.assert_close(memory.vote(query).mean, shares @ values)
    pairs = memory.pairs(query)
    torch.testing.assert_close(pairs.shares, shares)
    torch.testing.assert_close(pairs.distances, 1 - shared.float())


def test_all_rows_vote_equally_on_a_query_that_shares_no_leaf():
    keys, values = torch.zeros(2, 3), torch.eye(2)
    memory = ExactMemory(keys, values, Rule(leaf_distance, kernel=leaf_kernel))
    torch.testing.assert_close(
        memory.vote(torch.ones(1, 3)).mean, values.new_full((1, 2), 0.5)
    )


@pytest.mark.parametrize(
    ("name", "value", "what"),
    [
        ("columns", 3, "a column"),
        ("columns", -1, "a column"),
        ("left", 6, "a child index"),
        ("right", 0, "a child index"),
        ("roots", 9, "a root"),
    ],
)
def test_invalid_trees_raise(leaves, name, value, what):
    leaves.check(n_columns=3)
    getattr(leaves, name)[-1] = value
    with pytest.raises(ValueError) as error:
        leaves.check(n_columns=3)
    assert str(error.value) == f"Invalid forest: {what} is out of range."
