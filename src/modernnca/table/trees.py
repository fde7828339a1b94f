"""A forest of extremely randomized trees: its feature importances, and its nodes."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from sklearn.ensemble import BaseEnsemble, ExtraTreesClassifier, ExtraTreesRegressor

from modernnca.table.preprocessor import EncodedTable

_N_TREES, _TREES_AT_ONCE = 100, 10  # between two checks of the budget
_MIN_ROWS_IN_LEAF = 3  # or columns of many levels would separate single rows
_MAX_ROWS = 10_000  # more change little and take longer
# The scale of a column is a power of its importance, within limits.
_POWER, _MIN_SCALE, _MAX_SCALE = 0.5, 0.1, 3.0


class Trees(NamedTuple):
    """T trees as arrays of all their S nodes, numbered consecutively."""

    columns: np.ndarray  # (S,) the column that a node tests
    thresholds: np.ndarray  # (S,) float32; a row whose cell is at most this goes left
    left: np.ndarray  # (S,) the left child; of a leaf, the leaf itself
    right: np.ndarray  # (S,)
    leaves: np.ndarray  # (S,) the number of a leaf in its tree; 0 for other nodes
    roots: np.ndarray  # (T,)


def grow_forest(
    table: EncodedTable,
    values: np.ndarray,
    *,
    weights: np.ndarray | None = None,
    seed: int,
    stop: Callable[[], object] = lambda: False,
    n_jobs: int = 1,
) -> BaseEnsemble:
    """Grow a forest that predicts `values` (N, V): one-hot classes, or numbers (N, 1).

    It sees columns of numbers, plain ones and codes, in this order, of at most 10,000
    rows. Once `stop` is true no more trees are grown.
    """
    x = np.hstack([table.numbers, table.plain, table.codes.astype(np.float32)])
    rows = np.random.RandomState(seed).permutation(len(x))[:_MAX_ROWS]
    classes = values.shape[1] > 1
    kind = ExtraTreesClassifier if classes else ExtraTreesRegressor
    forest = kind(
        warm_start=True,
        min_samples_leaf=_MIN_ROWS_IN_LEAF,
        max_features="sqrt" if classes else 1 / 3,
        random_state=seed,
        n_jobs=n_jobs,
    )
    y = values[rows].argmax(1) if classes else values[rows, 0]
    weights = None if weights is None else weights[rows]
    for n_trees in range(_TREES_AT_ONCE, _N_TREES + 1, _TREES_AT_ONCE):
        forest.set_params(n_estimators=n_trees).fit(x[rows], y, weights)
        if stop():
            break
    return forest


def as_trees(forest: BaseEnsemble) -> Trees:
    """The nodes of a forest as plain arrays; rows reach the same leaves.

    >>> x = np.arange(8, dtype=np.float32)[:, None]
    >>> table = EncodedTable(x, x[:, :0], np.zeros((8, 0), dtype=int))
    >>> trees = as_trees(grow_forest(table, np.eye(2)[[0] * 4 + [1] * 4], seed=0))
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


def _rounded_down(thresholds: np.ndarray) -> np.ndarray:
    """The largest float32 not above: cells are float32, and none changes sides."""
    near = thresholds.astype(np.float32)
    return np.where(near > thresholds, np.nextafter(near, np.float32(-np.inf)), near)


def importance_scales(forest: BaseEnsemble) -> np.ndarray:
    """A scale for each column of the forest, about one on average; from 0.1 to 3.

    A distance starts out with all columns equal, and a few epochs on few rows do not
    turn down hundreds that are irrelevant. A forest finds the relevant ones in a
    second, also those that only matter together.

    >>> x = np.random.RandomState(0).randn(500, 3).astype(np.float32)
    >>> table = EncodedTable(x, x[:, :0], np.zeros((500, 0), dtype=int))
    >>> forest = grow_forest(table, np.eye(2)[(x[:, 1] > 0).astype(int)], seed=0)
    >>> importance_scales(forest).round(1)
    array([0.3, 1.6, 0.5])
    """
    with np.errstate(invalid="ignore"):  # without any gain, zero is divided by zero
        importances = np.nan_to_num(forest.feature_importances_).clip(min=0)
    if not importances.any():
        return np.ones_like(importances)
    scales: np.ndarray = (importances / importances.mean()) ** _POWER
    return scales.clip(_MIN_SCALE, _MAX_SCALE)
