"""Wide tables: how many of the most telling columns to keep.

Where a table has many columns for its rows, most of them may be noise to a distance.
How many are kept is decided in folds of the rows, where two cheap predictors, k-NN and
ridge regression, see the 8, 16, 32, ... most telling columns. Which these are is
learned anew in each fold, or rows would judge columns that were chosen by them.
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from modernnca.table.evidence import Spread, evidence

ENOUGH = 512  # columns that can still be encoded in reasonable time
_LEAST_KEPT, _MOST_KEPT = 8, 4096
_N_FOLDS = 5
_MOST_ROWS = 1500  # in the folds: ridge regression takes the cube of that
_N_NEIGHBORS = 5


@dataclass(frozen=True)
class Screened:
    """What became of a wide table."""

    n_columns: int
    n_kept: int
    tried: tuple[int, ...]  # numbers of columns
    errors: tuple[float, ...]  # with each, of the better predictor, in the folds
    kept: tuple[str, ...] | None  # names, the most telling first; None if all are

    def state(self) -> dict[str, Any]:
        """Return it as plain values."""
        return asdict(self)

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> "Screened":
        """Build it from these."""
        lists = {key: tuple(v) for key, v in state.items() if isinstance(v, list)}
        return cls(**{**state, **lists})


def screen(
    table: Spread, names: list[str], values: np.ndarray, *, seed: int
) -> Screened:
    """Choose columns, by the rows that the nets learn from.

    `names` are those of the P columns; `values` (N, V) are one-hot classes, or numbers
    (N, 1). Kept are as many columns as can be without being worse in the folds than the
    best number of them, by two standard errors of the difference: up to 4,096, or up to
    512 where these are not too few and the rows are many, for whom an encoding pays.

    >>> x = np.random.RandomState(0).randn(200, 300)
    >>> values = np.eye(2)[(x[:, 3] + x[:, 7] > 0).astype(int)]
    >>> table, names = Spread(x, np.arange(300), 0), [f"x{i}" for i in range(300)]
    >>> found = screen(table, names, values, seed=0)
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
    return Screened(len(names), n_kept, tuple(tried), errors, kept)


def _order(table: Spread, values: np.ndarray) -> np.ndarray:
    """The columns, the most telling first."""
    return np.argsort(-evidence(table, values), kind="stable")


def _numbers_to_try(n_columns: int) -> list[int]:
    """Powers of two, and all columns unless they are too many.

    >>> _numbers_to_try(40)
    [8, 16, 32, 40]
    """
    most = min(n_columns, _MOST_KEPT)
    powers = (_LEAST_KEPT << i for i in range(most.bit_length()))
    return [*(n for n in powers if n < most), most]


def _choose(tried: list[int], losses: np.ndarray, n_rows: int) -> int:
    """The number to keep, by what each row lost with each number tried, (T, N)."""
    worse = losses - losses[losses.mean(1).argmin()]
    surely = worse.mean(1) > 2 * worse.std(1) / losses.shape[1] ** 0.5
    good = [n for n, bad in zip(tried, surely, strict=True) if not bad]
    few = [n for n in good if n <= ENOUGH <= n_rows]
    return max(few or good)


def _losses(
    table: Spread, values: np.ndarray, tried: list[int], *, seed: int
) -> np.ndarray:
    """What each row loses with each number of columns, by the better predictor."""
    rows = np.random.RandomState(seed).permutation(len(values))[:_MOST_ROWS]
    folds = []
    for held in np.array_split(rows, _N_FOLDS):
        known = np.setdiff1d(rows, held)
        answers = _answers(table.take(known), values[known], table.x[held], tried)
        folds.append([[_loss(a, values[held]) for a in pair] for pair in answers])
    both = np.concatenate([np.array(fold) for fold in folds], axis=2)  # (T, 2, N)
    better = both.mean(2).argmin(1)
    losses: np.ndarray = both[np.arange(len(tried)), better]
    return losses


def _loss(answers: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Of each row: 1 for a wrong class, or the squared error."""
    if values.shape[1] > 1:
        return (answers.argmax(1) != values.argmax(1)).astype(np.float64)
    return ((answers - values) ** 2)[:, 0]


def _answers(
    table: Spread, values: np.ndarray, asked: np.ndarray, tried: list[int]
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """What k-NN and ridge regression answer to `asked`, for each number of columns.

    Both need inner products of rows only, to which each step adds those of the columns
    that are new.
    """
    rank = np.argsort(_order(table, values))[table.owners]  # (J,) of each number
    mean, center = table.x.mean(0), values.mean(0)
    among, across = 0.0, 0.0  # (M, M) of known rows, (B, M) of asked and known ones
    n_neighbors, last = min(_N_NEIGHBORS, len(values)), 0
    for n_columns in tried:
        new = (last <= rank) & (rank < n_columns)
        known, query = table.x[:, new] - mean[new], asked[:, new] - mean[new]
        among, across, last = (
            among + known @ known.T,
            across + query @ known.T,
            n_columns,
        )
        squares = np.diag(among)
        far = squares - 2 * across  # and the square of the asking row, alike for all
        nearest = np.argpartition(far, n_neighbors - 1, axis=1)[:, :n_neighbors]
        # As much weight on small weights as on the mean row: no scale to choose.
        ridge = among + np.eye(len(among)) * max(squares.mean(), 1e-9)
        weights = np.linalg.solve(ridge, values - center)
        yield values[nearest].mean(1), across @ weights + center
