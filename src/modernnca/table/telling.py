"""How telling each column is, by a forest: where learned scales begin.

A distance starts out with every column as loud as any other, and a few epochs on few
rows do not silence hundreds that say nothing. A forest of random splits sees in a
second which columns are of use, also those that are only together.
"""

import time

import numpy as np
from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor

from modernnca.table.encoder import EncodedTable

_N_TREES, _TREES_AT_ONCE = 100, 10  # between two looks at the clock
_LEAST_ROWS_IN_LEAF = 3  # or columns of many levels would tell single rows apart
_MOST_ROWS = 10_000  # more say the same, and take longer
_SOFTNESS = 0.5  # the power of a column's importance that its scale is
_LEAST, _MOST = 0.1, 3.0


def telling_scales(
    table: EncodedTable,
    values: np.ndarray,
    *,
    weights: np.ndarray | None = None,
    seed: int,
    deadline: float = np.inf,
) -> np.ndarray:
    """A scale for each column of numbers, plain ones and codes, in this order.

    About one on average; between 0.1 and 3. `values` (N, V) are one-hot classes, or
    numbers (N, 1). At the deadline, by `time.monotonic`, no more trees are grown.

    >>> x = np.random.RandomState(0).randn(500, 3).astype(np.float32)
    >>> table = EncodedTable(x, x[:, :0], np.zeros((500, 0), dtype=int))
    >>> telling_scales(table, np.eye(2)[(x[:, 1] > 0).astype(int)], seed=0).round(1)
    array([0.3, 1.6, 0.5])
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
    found = forest.feature_importances_.clip(min=0)  # rounded, nothing is below nothing
    if not found.any():  # no split was worth it: all columns are as good as none
        return np.ones_like(found)
    scales: np.ndarray = (found / found.mean()) ** _SOFTNESS
    return scales.clip(_LEAST, _MOST)
