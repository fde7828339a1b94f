"""Feature selection for wide tables: how many of the best columns to keep.

Where a table has many columns for its rows, most of them may be noise to a distance.
How many are kept is decided by cross-validation, in which two cheap predictors, k-NN
and ridge regression, see the 8, 16, 32, ... columns most associated with the target.
These are chosen again in each fold, so that no row validates columns that it chose.
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from modernnca.table.univariate import DesignMatrix, association

# What "wide" means: see docs/wide.md.
_MIN_COLUMNS = 256
_COLUMNS_PER_ROW = 0.25
MAX_ENCODED = 512  # columns that can be encoded in reasonable time
_MIN_KEPT, _MAX_KEPT = 8, 4096
_N_FOLDS = 5
_MAX_ROWS = 1500  # in the folds: ridge regression takes the cube of that
_N_NEIGHBORS = 5


def is_wide(n_columns: int, n_rows: int) -> bool:
    """Whether a table has many columns, and many for its rows.

    >>> is_wide(10_000, 200), is_wide(500, 2_000), is_wide(500, 50_000), is_wide(50, 9)
    (True, True, False, False)
    """
    return n_columns >= max(_MIN_COLUMNS, _COLUMNS_PER_ROW * n_rows)


@dataclass(frozen=True)
class FeatureSelection:
    """The outcome of a feature selection."""

    n_columns: int
    n_kept: int
    tried: tuple[int, ...]  # numbers of columns
    errors: tuple[float, ...]  # with each, of the better predictor, cross-validated
    kept: tuple[str, ...] | None  # names, the best first; None if all are kept

    def state(self) -> dict[str, Any]:
        """Return it as plain values."""
        return asdict(self)

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> "FeatureSelection":
        """Rebuild it from plain values."""
        lists = {key: tuple(v) for key, v in state.items() if isinstance(v, list)}
        return cls(**{**state, **lists})


def select_features(
    table: DesignMatrix, names: list[str], values: np.ndarray, *, seed: int
) -> FeatureSelection:
    """Choose columns, by the training rows.

    `names` are those of the P columns; `values` (N, V) are one-hot classes, or numbers
    (N, 1). The result keeps as many columns as possible without being worse than the
    best number of columns by two standard errors of the difference: up to 4,096, or up
    to 512 where these are not too few and the rows are many, so that encoding pays.

    >>> x = np.random.RandomState(0).randn(200, 300)
    >>> values = np.eye(2)[(x[:, 3] + x[:, 7] > 0).astype(int)]
    >>> table = DesignMatrix(x, np.arange(300), 0)
    >>> found = select_features(table, [f"x{i}" for i in range(300)], values, seed=0)
    >>> found.n_kept, sorted(found.kept[:2])
    (32, ['x3', 'x7'])
    """
    tried = _numbers_to_try(len(names))
    losses = _losses(table, values, tried, seed=seed)
    n_kept = _choose(tried, losses, len(values))
    kept = None
    if n_kept < len(names):
        kept = tuple(names[column] for column in _order(table, values)[:n_kept])
    errors = tuple(round(float(loss.mean()), 6) for loss in losses)
    return FeatureSelection(len(names), n_kept, tuple(tried), errors, kept)


def _order(table: DesignMatrix, values: np.ndarray) -> np.ndarray:
    """The columns, the most associated first."""
    return np.argsort(-association(table, values), kind="stable")


def _numbers_to_try(n_columns: int) -> list[int]:
    """Powers of two, and all columns unless they are too many.

    >>> _numbers_to_try(40)
    [8, 16, 32, 40]
    """
    most = min(n_columns, _MAX_KEPT)
    powers = (_MIN_KEPT << i for i in range(most.bit_length()))
    return [*(n for n in powers if n < most), most]


def _choose(tried: list[int], losses: np.ndarray, n_rows: int) -> int:
    """The number to keep, by the loss of each row with each number tried, (T, N)."""
    worse = losses - losses[losses.mean(1).argmin()]
    significant = worse.mean(1) > 2 * worse.std(1) / losses.shape[1] ** 0.5
    good = [n for n, bad in zip(tried, significant, strict=True) if not bad]
    few = [n for n in good if n <= MAX_ENCODED <= n_rows]
    return max(few or good)


def _losses(
    table: DesignMatrix, values: np.ndarray, tried: list[int], *, seed: int
) -> np.ndarray:
    """The loss of each row with each number of columns, by the better predictor."""
    rows = np.random.RandomState(seed).permutation(len(values))[:_MAX_ROWS]
    folds = []
    for held in np.array_split(rows, _N_FOLDS):
        known = np.setdiff1d(rows, held)
        predictions = _predict(table.take(known), values[known], table.x[held], tried)
        folds.append([[_loss(p, values[held]) for p in pair] for pair in predictions])
    both = np.concatenate([np.array(fold) for fold in folds], axis=2)  # (T, 2, N)
    better = both.mean(2).argmin(1)
    losses: np.ndarray = both[np.arange(len(tried)), better]
    return losses


def _loss(predictions: np.ndarray, values: np.ndarray) -> np.ndarray:
    """For each row 1 if the class is wrong, or the squared error."""
    if values.shape[1] > 1:
        return (predictions.argmax(1) != values.argmax(1)).astype(np.float64)
    return ((predictions - values) ** 2)[:, 0]


def _predict(
    table: DesignMatrix, values: np.ndarray, query: np.ndarray, tried: list[int]
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """The predictions of k-NN and of ridge regression, for each number of columns.

    Both need only inner products of rows, to which each step adds the new columns.
    """
    rank = np.argsort(_order(table, values))[table.columns]  # (J,) of each feature
    mean, center = table.x.mean(0), values.mean(0)
    gram, cross = 0.0, 0.0  # (M, M) of known rows, (B, M) of queries and known rows
    n_neighbors, last = min(_N_NEIGHBORS, len(values)), 0
    for n_columns in tried:
        new = (last <= rank) & (rank < n_columns)
        known, asked = table.x[:, new] - mean[new], query[:, new] - mean[new]
        gram, cross, last = gram + known @ known.T, cross + asked @ known.T, n_columns
        squares = np.diag(gram)
        distance = squares - 2 * cross  # less the square of the query, equal for all
        nearest = np.argpartition(distance, n_neighbors - 1, axis=1)[:, :n_neighbors]
        # The penalty is the mean squared norm of a row: no scale to choose.
        ridge = gram + np.eye(len(gram)) * max(squares.mean(), 1e-9)
        weights = np.linalg.solve(ridge, values - center)
        yield values[nearest].mean(1), cross @ weights + center
