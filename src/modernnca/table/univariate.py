"""The univariate association of each column with the target.

Shapes: N rows, J features of an encoded row, V values of a target, P columns.
"""

from typing import NamedTuple

import numpy as np


class DesignMatrix(NamedTuple):
    """A table as a matrix of features, with its categories one-hot."""

    x: np.ndarray  # (N, J) the one-hot levels last
    columns: np.ndarray  # (J,) the column, from 0 to P - 1, that a feature comes from
    n_levels: int

    def take(self, rows: np.ndarray) -> "DesignMatrix":
        """These rows alone."""
        return self._replace(x=self.x[rows])


def association(table: DesignMatrix, values: np.ndarray) -> np.ndarray:
    """The association of each column with the target, (P,), as normal deviates.

    Squared correlations are summed over the features of a column and the values of the
    target: one-hot classes, or numbers (N, 1). Between numbers and classes this is the
    F-test's share of variance, between levels and classes the chi-squared of their
    table. Times N it is about chi-squared without an association, and becomes a normal
    deviate by the rule of Wilson and Hilferty (1931), so that columns of few and of
    many levels are comparable.

    >>> x = np.array([[0.0, 1.0], [0.1, 0.0], [1.0, 1.0], [0.9, 0.0]])
    >>> y = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])
    >>> association(DesignMatrix(x, np.arange(2), 0), y).round(1)
    array([ 1.7, -1.6])
    """
    shared = _standardized(table.x).T @ _standardized(values) / len(values)  # (J, V)
    # The last level, or class, follows from the others: each counts 1 - p.
    weight = np.ones(table.x.shape[1])
    if table.n_levels:
        weight[-table.n_levels :] -= table.x[:, -table.n_levels :].mean(0)
    target = 1 - values.mean(0) if values.shape[1] > 1 else np.ones(1)
    squares = weight * (shared**2 @ target)
    n_free = np.maximum(np.bincount(table.columns, weight) * target.sum(), 1e-9)
    ratio = len(values) * np.bincount(table.columns, squares) / n_free
    variance = 2 / (9 * n_free)
    deviates: np.ndarray = (np.cbrt(ratio) - 1 + variance) / np.sqrt(variance)
    return deviates


def _standardized(x: np.ndarray) -> np.ndarray:
    centered = x - x.mean(0)
    deviation = centered.std(0)
    standardized: np.ndarray = centered / np.where(deviation > 0, deviation, 1)
    return standardized
