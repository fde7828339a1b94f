"""Trees as arrays: every row reaches the leaf that it reaches in the forest."""

import numpy as np
import pytest

from modernnca.table.preprocessor import EncodedTable
from modernnca.table.trees import _MAX_ROWS as MAX_ROWS
from modernnca.table.trees import as_trees, grow_forest

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
            goes_left = cells[trees.columns[node]] <= trees.thresholds[node]
            node = (trees.left if goes_left else trees.right)[node]
        assert trees.right[node] == node
        found.append(node)
    return found


@pytest.mark.parametrize("values", [CLASSES, NUMBERS[:, :1]], ids=["classes", "number"])
def test_a_row_reaches_the_leaf_of_the_forest(values):
    forest = grow_forest(TABLE, values, seed=1)
    trees = as_trees(forest)
    # Cells at a threshold, or next to it, are where rounding would show.
    thresholds = trees.thresholds[trees.left != np.arange(len(trees.left))][:20]
    near = np.vstack(
        [thresholds, np.nextafter(thresholds, np.float32(np.inf))]
    ).T.ravel()
    queries = np.vstack([CELLS[:30], np.repeat(near[:, None], CELLS.shape[1], axis=1)])
    found = np.array([walk(trees, cells) for cells in queries]) - trees.roots
    assert (found == forest.apply(queries)).all()


def test_leaves_of_a_tree_are_numbered_from_zero():
    trees = as_trees(grow_forest(TABLE, CLASSES, seed=1))
    is_leaf = trees.left == np.arange(len(trees.left))
    ends = [*trees.roots[1:], len(trees.left)]
    for first, end in zip(trees.roots, ends, strict=True):
        leaves = trees.leaves[first:end][is_leaf[first:end]]
        assert leaves.tolist() == list(range(len(leaves)))


def test_children_come_after_their_parents():
    trees = as_trees(grow_forest(TABLE, CLASSES, seed=1))
    own = np.arange(len(trees.left))
    assert (trees.left >= own).all()
    assert (trees.right >= own).all()


def test_trees_see_at_most_so_many_rows():
    x = np.arange(MAX_ROWS + 500, dtype=np.float32)[:, None]
    table = EncodedTable(x, x[:, :0], np.zeros((len(x), 0), dtype=int))
    values = np.eye(2)[(x[:, 0] % 2).astype(int)]
    forest = grow_forest(table, values, seed=0, stop=lambda: True)
    seen = {tree.tree_.n_node_samples[0] for tree in forest.estimators_}
    assert seen == {MAX_ROWS}


@pytest.mark.parametrize(("n_checks", "n_trees"), [(1, 10), (3, 30), (99, 100)])
def test_no_trees_are_grown_once_it_is_to_stop(n_checks, n_trees):
    checks = []

    def stop():
        checks.append(None)
        return len(checks) >= n_checks

    forest = grow_forest(TABLE, CLASSES, seed=1, stop=stop)
    assert len(forest.estimators_) == n_trees
    whole = grow_forest(TABLE, CLASSES, seed=1)
    for one, other in zip(forest.estimators_, whole.estimators_, strict=False):
        assert (one.tree_.threshold == other.tree_.threshold).all()
