"""How telling each column is, by a forest: where learned scales begin.

A distance starts out with every column as loud as any other, and a few epochs on few
rows do not silence hundreds that say nothing. A forest of random splits sees in a
second which columns are of use, also those that are only together.
"""

import numpy as np
from sklearn.ensemble import BaseEnsemble

_SOFTNESS = 0.5  # the power of a column's importance that its scale is
_LEAST, _MOST = 0.1, 3.0


def telling_scales(forest: BaseEnsemble) -> np.ndarray:
    """A scale for each column that the forest has seen.

    About one on average; between 0.1 and 3.

    >>> from modernnca.table.encoder import EncodedTable
    >>> from modernnca.table.forest import grow
    >>> x = np.random.RandomState(0).randn(500, 3).astype(np.float32)
    >>> table = EncodedTable(x, x[:, :0], np.zeros((500, 0), dtype=int))
    >>> forest = grow(table, np.eye(2)[(x[:, 1] > 0).astype(int)], seed=0)
    >>> telling_scales(forest).round(1)
    array([0.3, 1.6, 0.5])
    """
    found = forest.feature_importances_.clip(min=0)  # rounded, nothing is below nothing
    if not found.any():  # no split was worth it: all columns are as good as none
        return np.ones_like(found)
    scales: np.ndarray = (found / found.mean()) ** _SOFTNESS
    return scales.clip(_LEAST, _MOST)
