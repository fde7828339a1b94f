"""What a learned space looks like: rows of test on a map, and two numbers about it."""

from typing import Any

import numpy as np
from sklearn.manifold import TSNE, trustworthiness
from sklearn.neighbors import NearestNeighbors

from modernnca.table.preprocessor import PreprocessingConfig, Preprocessor
from modernnca.table.schema import read_table

N_NEIGHBORS = 10
MAX_ROWS = 1000  # on a map


class RawColumns:
    """The columns as they are, standardized and one-hot, as a space to compare with."""

    def fit(self, X: Any, y: Any, *, eval_set: Any = None) -> "RawColumns":
        """Learn the scales and the levels."""
        config = PreprocessingConfig.defaults().updated({"max_plain_values": 0})
        self.table_ = Preprocessor(config).fit(read_table(X))
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Lay out numbers and one-hot levels side by side, (N, D)."""
        numbers, plain, codes = self.table_.transform(read_table(X))
        n_levels = self.table_.n_levels
        levels = np.zeros((len(codes), n_levels + 1), dtype=np.float32)
        np.put_along_axis(levels, codes, 1.0, axis=1)
        return np.concatenate([numbers, plain, levels[:, :n_levels]], axis=1)


def some_rows(rows: np.ndarray, seed: int) -> np.ndarray:
    """At most MAX_ROWS of the rows, the same for every method, in their order."""
    if len(rows) <= MAX_ROWS:
        return rows
    rng = np.random.RandomState(seed)
    return np.sort(rng.choice(rows, MAX_ROWS, replace=False))


def draw_map(space: np.ndarray, *, seed: int) -> np.ndarray:
    """Lay a space (N, D) out in two dimensions by t-SNE, (N, 2)."""
    tsne = TSNE(perplexity=min(30.0, (len(space) - 1) / 3), random_state=seed)
    return tsne.fit_transform(_finite(space))


def purity(space: np.ndarray, y: np.ndarray, *, classes: bool) -> float:
    """How alike the targets of near rows are; 1 is the best.

    For classes, the share of a row's 10 nearest that have its class. For numbers, the
    share of the variance that the mean of the 10 nearest explains (R2).

    >>> space = np.repeat([[0.0], [9.0]], 20, axis=0)
    >>> purity(space, np.repeat(["a", "b"], 20), classes=True)
    1.0
    """
    n = min(N_NEIGHBORS, len(space) - 1)
    near = NearestNeighbors(n_neighbors=n).fit(_finite(space))
    said = y[near.kneighbors(return_distance=False)]  # (N, n); never the row itself
    if classes:
        return float((said == y[:, None]).mean())
    rest = ((said.astype(float).mean(1) - y) ** 2).mean()
    return float(1 - rest / max(float(np.var(y.astype(float))), 1e-12))


def look(
    space: np.ndarray, y: np.ndarray, *, classes: bool, seed: int
) -> tuple[np.ndarray, dict[str, float]]:
    """The map (N, 2) of a space, and what can be said of both in numbers."""
    drawn = draw_map(space, seed=seed)
    n = min(N_NEIGHBORS, (len(space) - 1) // 2)
    return drawn, {
        "purity": purity(space, y, classes=classes),
        "trustworthiness": float(trustworthiness(_finite(space), drawn, n_neighbors=n)),
    }


def _finite(space: np.ndarray) -> np.ndarray:
    return np.nan_to_num(np.asarray(space, dtype=np.float64))
