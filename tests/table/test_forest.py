"""Trees as arrays lead every row to the leaf that the forest leads it to."""

import numpy as np
import pytest

from modernnca.table.encoder import EncodedTable
from modernnca.table.forest import _MOST_ROWS as MOST_ROWS
from modernnca.table.forest import as_trees, grow

RNG = np.random.RandomState(0)
N = 300
NUMBERS = RNG.randn(N, 3).astype(np.float32)
CODES = RNG.randint(4, size=(N, 2))
TABLE = EncodedTable(NUMBERS, (NUMBERS[:, :1] > 0).astype(np.float32), CODES)
CELLS = np.hstack([TABLE.numbers, TABLE.plain, CODES.astype(np.float32)])
CLASSES = np.eye(3)[RNG.randint(3, size=N)]


def walk(trees, cells):
    """The leaf of one row in each tree, step by step."""
    found = []
    for node in trees.roots:
        while trees.left[node] != node:
            goes_left = cells[trees.columns[node]] <= trees.limits[node]
            node = (trees.left if goes_left else trees.right)[node]
        assert trees.right[node] == node
        found.append(node)
    return found


@pytest.mark.parametrize("values", [CLASSES, NUMBERS[:, :1]], ids=["classes", "number"])
def test_a_walk_ends_where_the_forest_says(values):
    forest = grow(TABLE, values, seed=1)
    trees = as_trees(forest)
    # Cells at a limit, or next to it, are where rounding would show.
    limits = trees.limits[trees.left != np.arange(len(trees.left))][:20]
    near = np.vstack([limits, np.nextafter(limits, np.float32(np.inf))]).T.ravel()
    asked = np.vstack([CELLS[:30], np.repeat(near[:, None], CELLS.shape[1], axis=1)])
    told = np.array([walk(trees, cells) for cells in asked]) - trees.roots
    assert (told == forest.apply(asked)).all()


def test_leaves_of_a_tree_are_numbered_from_nothing():
    trees = as_trees(grow(TABLE, CLASSES, seed=1))
    is_leaf = trees.left == np.arange(len(trees.left))
    ends = [*trees.roots[1:], len(trees.left)]
    for first, end in zip(trees.roots, ends, strict=True):
        leaves = trees.leaves[first:end][is_leaf[first:end]]
        assert leaves.tolist() == list(range(len(leaves)))


def test_nodes_come_after_those_that_lead_to_them():
    trees = as_trees(grow(TABLE, CLASSES, seed=1))
    own = np.arange(len(trees.left))
    assert (trees.left >= own).all()
    assert (trees.right >= own).all()


def test_trees_see_so_many_rows_at_most():
    x = np.arange(MOST_ROWS + 500, dtype=np.float32)[:, None]
    table = EncodedTable(x, x[:, :0], np.zeros((len(x), 0), dtype=int))
    forest = grow(table, np.eye(2)[(x[:, 0] % 2).astype(int)], seed=0, deadline=-np.inf)
    seen = {tree.tree_.n_node_samples[0] for tree in forest.estimators_}
    assert seen == {MOST_ROWS}
