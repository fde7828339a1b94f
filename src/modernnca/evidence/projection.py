"""Project an embedding to two dimensions, and place new rows on it.

By t-SNE of openTSNE, which keeps neighbors together and places new rows among theirs;
without it by the two principal components.

Shapes: M remembered rows, B new rows, D embedding.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from sklearn.decomposition import PCA

_MAX_FITTED = 5000  # rows that t-SNE arranges; others are placed among them
_MIN_ROWS = 12  # of t-SNE
_N_AXES = 50  # that t-SNE sees
_PERPLEXITY = 30.0


class Projection(NamedTuple):
    """Rows in two dimensions."""

    coordinates: np.ndarray  # (M, 2)
    place: Callable[[np.ndarray], np.ndarray]  # rows (B, D) to (B, 2)
    method: str  # t-SNE or PCA


def project(points: np.ndarray) -> Projection:
    """Arrange rows (M, D) in two dimensions."""
    try:
        import openTSNE  # noqa: F401  (an extra)
    except ImportError:
        return _by_components(points)
    enough = len(points) >= _MIN_ROWS and points.shape[1] > 2 and np.ptp(points) > 0
    return _by_tsne(points) if enough else _by_components(points)


def _by_components(points: np.ndarray) -> Projection:
    """The two principal components; of a single column, itself and zero.

    >>> _by_components(np.arange(6.0).reshape(3, 2)).coordinates.shape
    (3, 2)
    """
    if not np.ptp(points, axis=0).any():  # a constant has all rows at one point
        return Projection(
            np.zeros((len(points), 2)), lambda rows: np.zeros((len(rows), 2)), "PCA"
        )
    fitted = PCA(min(2, *points.shape), random_state=0).fit(points)

    def place(rows: np.ndarray) -> np.ndarray:
        found = fitted.transform(rows)
        wanting = np.zeros((len(rows), 2 - found.shape[1]))
        return np.column_stack([found, wanting])

    return Projection(place(points), place, "PCA")


def _by_tsne(points: np.ndarray) -> Projection:
    from openTSNE import TSNE

    n_axes = min(_N_AXES, *points.shape)
    components = PCA(n_axes, random_state=0).fit(points)
    some = np.random.RandomState(0).permutation(len(points))[:_MAX_FITTED]
    some.sort()
    perplexity = min(_PERPLEXITY, (len(some) - 1) / 3)
    tsne = TSNE(perplexity=perplexity, random_state=0, n_jobs=1)
    map_ = tsne.fit(components.transform(points[some]))

    def place(rows: np.ndarray) -> np.ndarray:
        if not len(rows):
            return np.zeros((0, 2))
        moved = map_.transform(components.transform(rows), perplexity=5)
        return np.asarray(moved, dtype=np.float64)

    coordinates = np.empty((len(points), 2))
    coordinates[some] = map_
    others = np.setdiff1d(np.arange(len(points)), some)
    coordinates[others] = place(points[others])
    return Projection(coordinates, place, "t-SNE")
