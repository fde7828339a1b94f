"""How surely each column of a table says something of the target, by itself.

Shapes: N rows, J numbers of an encoded row, V values of a target, P columns.
"""

from typing import NamedTuple

import numpy as np


class Spread(NamedTuple):
    """A table with nothing folded: each level has a number of its own, 0 or 1."""

    x: np.ndarray  # (N, J) the levels last
    owners: np.ndarray  # (J,) the column, from 0 to P - 1, that a number comes from
    n_levels: int

    def take(self, rows: np.ndarray) -> "Spread":
        """These rows alone."""
        return self._replace(x=self.x[rows])


def evidence(table: Spread, values: np.ndarray) -> np.ndarray:
    """What speaks for each column, (P,), as normal deviates.

    Squared correlations are summed up over the numbers of a column and the values of
    the target: one-hot classes, or numbers (N, 1). Between numbers and classes this is
    the F-test's share of variance, between levels and classes the chi-squared of their
    table. Times N it is about chi-squared where there is nothing to say, and becomes a
    normal deviate by the rule of Wilson and Hilferty (1931), so that columns of few
    and of many levels compare.

    >>> x = np.array([[0.0, 1.0], [0.1, 0.0], [1.0, 1.0], [0.9, 0.0]])
    >>> y = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])
    >>> evidence(Spread(x, np.arange(2), 0), y).round(1)
    array([ 1.7, -1.6])
    """
    shared = _standardized(table.x).T @ _standardized(values) / len(values)  # (J, V)
    # Of levels, and of classes, the last is told by the others: each counts 1 - p.
    weight = np.ones(table.x.shape[1])
    if table.n_levels:
        weight[-table.n_levels :] -= table.x[:, -table.n_levels :].mean(0)
    target = 1 - values.mean(0) if values.shape[1] > 1 else np.ones(1)
    squares = weight * (shared**2 @ target)
    n_free = np.maximum(np.bincount(table.owners, weight) * target.sum(), 1e-9)
    ratio = len(values) * np.bincount(table.owners, squares) / n_free
    spread = 2 / (9 * n_free)
    deviates: np.ndarray = (np.cbrt(ratio) - 1 + spread) / np.sqrt(spread)
    return deviates


def _standardized(x: np.ndarray) -> np.ndarray:
    centered = x - x.mean(0)
    deviation = centered.std(0)
    standardized: np.ndarray = centered / np.where(deviation > 0, deviation, 1)
    return standardized
