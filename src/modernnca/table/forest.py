"""A forest of random trees that part the rows by their targets."""

import time
from typing import NamedTuple

import numpy as np
from sklearn.ensemble import BaseEnsemble, ExtraTreesClassifier, ExtraTreesRegressor

from modernnca.table.encoder import EncodedTable

_N_TREES, _TREES_AT_ONCE = 100, 10  # between two looks at the clock
_LEAST_ROWS_IN_LEAF = 3  # or columns of many levels would tell single rows apart
_MOST_ROWS = 10_000  # more say the same, and take longer


class Trees(NamedTuple):
    """T trees as arrays of all their S nodes, numbered through; leaves lead nowhere."""

    columns: np.ndarray  # (S,) which column of the table a node asks for
    limits: np.ndarray  # (S,) float32; a row whose cell is not above goes left
    left: np.ndarray  # (S,) the node to the left; of a leaf, the leaf itself
    right: np.ndarray  # (S,)
    leaves: np.ndarray  # (S,) the number of a leaf in its tree; 0 for other nodes
    roots: np.ndarray  # (T,)


def grow(
    table: EncodedTable,
    values: np.ndarray,
    *,
    weights: np.ndarray | None = None,
    seed: int,
    deadline: float = np.inf,
) -> BaseEnsemble:
    """Grow a forest that tells `values` (N, V): one-hot classes, or numbers (N, 1).

    It sees columns of numbers, plain ones and codes, in this order, of 10,000 rows at
    most. At the deadline, by `time.monotonic`, no more trees are grown.
    """
    x = np.hstack([table.numbers, table.plain, table.codes.astype(np.float32)])
    rows = np.random.RandomState(seed).permutation(len(x))[:_MOST_ROWS]
    classes = values.shape[1] > 1
    kind = ExtraTreesClassifier if classes else ExtraTreesRegressor
    forest = kind(
        warm_start=True,
        min_samples_leaf=_LEAST_ROWS_IN_LEAF,
        max_features="sqrt" if classes else 1 / 3,
        random_state=seed,
    )
    y = values[rows].argmax(1) if classes else values[rows, 0]
    weights = None if weights is None else weights[rows]
    for n_trees in range(_TREES_AT_ONCE, _N_TREES + 1, _TREES_AT_ONCE):
        forest.set_params(n_estimators=n_trees).fit(x[rows], y, weights)
        if time.monotonic() >= deadline:
            break
    return forest


def as_trees(forest: BaseEnsemble) -> Trees:
    """The nodes of a forest as plain arrays, which lead rows to the same leaves.

    >>> x = np.arange(8, dtype=np.float32)[:, None]
    >>> table = EncodedTable(x, x[:, :0], np.zeros((8, 0), dtype=int))
    >>> trees = as_trees(grow(table, np.eye(2)[[0] * 4 + [1] * 4], seed=0))
    >>> len(trees.roots), int(trees.leaves.max())
    (100, 1)
    """
    parts, n_nodes = [], 0
    for tree in (grown.tree_ for grown in forest.estimators_):
        leaf, nodes = tree.children_left < 0, np.arange(tree.node_count)
        parts.append(
            Trees(
                np.where(leaf, 0, tree.feature),
                _rounded_down(tree.threshold),
                np.where(leaf, nodes, tree.children_left) + n_nodes,
                np.where(leaf, nodes, tree.children_right) + n_nodes,
                np.where(leaf, leaf.cumsum() - 1, 0),
                nodes[:1] + n_nodes,
            )
        )
        n_nodes += tree.node_count
    return Trees(*map(np.concatenate, zip(*parts, strict=True)))


def _rounded_down(limits: np.ndarray) -> np.ndarray:
    """The largest float32 not above: cells are float32, and none changes its side."""
    near = limits.astype(np.float32)
    return np.where(near > limits, np.nextafter(near, np.float32(-np.inf)), near)
