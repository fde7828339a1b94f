"""Maps of learned embeddings: test rows in two dimensions, and two quality measures."""

from typing import Any

import numpy as np
from sklearn.manifold import TSNE, trustworthiness
from sklearn.neighbors import NearestNeighbors

from modernnca.table.preprocessor import PreprocessingConfig, Preprocessor
from modernnca.table.schema import read_table

N_NEIGHBORS = 10
MAX_ROWS = 1000  # on a map


class RawColumns:
    """The raw columns, standardized and one-hot, as an embedding to compare with."""

    def fit(self, X: Any, y: Any, *, eval_set: Any = None) -> "RawColumns":
        """Learn the scales and the levels."""
        config = PreprocessingConfig.defaults().updated({"max_plain_values": 0})
        self.table_ = Preprocessor(config).fit(read_table(X))
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Return the standardized and one-hot columns, (N, D)."""
        numbers, plain, codes = self.table_.transform(read_table(X))
        n_levels = self.table_.n_levels
        levels = np.zeros((len(codes), n_levels + 1), dtype=np.float32)
        np.put_along_axis(levels, codes, 1.0, axis=1)
        return np.concatenate([numbers, plain, levels[:, :n_levels]], axis=1)


def sample_rows(rows: np.ndarray, seed: int) -> np.ndarray:
    """Sample at most MAX_ROWS rows in order, the same for every method."""
    if len(rows) <= MAX_ROWS:
        return rows
    rng = np.random.RandomState(seed)
    return np.sort(rng.choice(rows, MAX_ROWS, replace=False))


def tsne_map(embedding: np.ndarray, *, seed: int) -> np.ndarray:
    """Project an embedding (N, D) to two dimensions (N, 2) by t-SNE."""
    tsne = TSNE(perplexity=min(30.0, (len(embedding) - 1) / 3), random_state=seed)
    return tsne.fit_transform(_finite(embedding))


def purity(embedding: np.ndarray, y: np.ndarray, *, classification: bool) -> float:
    """Return how similar the targets of neighboring rows are; 1 is best.

    In classification, the share of a row's 10 nearest neighbors with its class. In
    regression, the share of the variance that the mean of the 10 nearest neighbors
    explains (R2).

    >>> embedding = np.repeat([[0.0], [9.0]], 20, axis=0)
    >>> purity(embedding, np.repeat(["a", "b"], 20), classification=True)
    1.0
    """
    n = min(N_NEIGHBORS, len(embedding) - 1)
    index = NearestNeighbors(n_neighbors=n).fit(_finite(embedding))
    neighbors = y[index.kneighbors(return_distance=False)]  # (N, n), without the row
    if classification:
        return float((neighbors == y[:, None]).mean())
    error = ((neighbors.astype(float).mean(1) - y) ** 2).mean()
    return float(1 - error / max(float(np.var(y.astype(float))), 1e-12))


def map_embedding(
    embedding: np.ndarray, y: np.ndarray, *, classification: bool, seed: int
) -> tuple[np.ndarray, dict[str, float]]:
    """Return the map (N, 2) of an embedding, and the quality of both."""
    points = tsne_map(embedding, seed=seed)
    n = min(N_NEIGHBORS, (len(embedding) - 1) // 2)
    trust = trustworthiness(_finite(embedding), points, n_neighbors=n)
    return points, {
        "purity": purity(embedding, y, classification=classification),
        "trustworthiness": float(trust),
    }


def _finite(embedding: np.ndarray) -> np.ndarray:
    return np.nan_to_num(np.asarray(embedding, dtype=np.float64))
