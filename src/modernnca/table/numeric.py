"""Numerical columns: any numbers, infinite or missing, to finite standardized ones.

Shapes: N rows, P columns, float64.
"""

from typing import Any, Self

import numpy as np

# Raw numbers beyond are clipped, so that a difference of two cannot overflow float64;
# those below become zero, so that a ratio of two differences cannot either.
_MAX_RAW = 1e300
_MIN_RAW = 1e-150
# Numbers beyond are clipped, so that sums of their squares fit float32; standardized
# ones earlier, where float32 distances no longer tell one training row from another.
# (Among fewer than 10^8 training rows, none is so many deviations from the mean.)
MAX_PLAIN, MAX_STANDARD = 1e15, 1e4
_LEARNED = ("low_", "high_", "mean_", "std_", "fill_")


def finite_range(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the least and the largest finite number of each column, or 0 if none.

    >>> finite_range(np.array([[1.0], [3.0], [np.inf], [np.nan]]))
    (array([1.]), array([3.]))
    """
    finite = np.isfinite(x)
    low = x.min(axis=0, where=finite, initial=np.inf)  # (P,)
    high = x.max(axis=0, where=finite, initial=-np.inf)  # (P,)
    some = finite.any(axis=0)
    return np.where(some, low, 0.0), np.where(some, high, 0.0)


def mean_and_std(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean and the population deviation of each column, 1 where it is 0.

    >>> mean_and_std(np.array([[1.0, 5.0], [3.0, 5.0], [np.nan, 5.0]]))
    (array([2., 5.]), array([1., 1.]))
    """
    largest = np.nanmax(np.abs(x), axis=0)
    unit = np.where(largest > 1e100, largest, 1.0)  # the squares of more overflow
    mean = unit * np.nanmean(x / unit, axis=0)
    std = unit * np.nanstd(x / unit, axis=0)
    # Not `std == 0`: equal numbers have a deviation of about 1e-17 by rounding.
    constant = (np.nanmax(x, axis=0) == np.nanmin(x, axis=0)) | (std == 0)
    return mean, np.where(constant, 1.0, std)


class NumericColumns:
    """Standardize columns; with standardize=False only clean them.

    An infinity becomes the largest (or least) finite number of its training column, a
    missing number the mean of the column.

    >>> x = np.array([[1.0], [3.0], [np.nan]])
    >>> columns = NumericColumns().fit(x)
    >>> columns.transform(np.array([[np.inf], [np.nan]])).ravel()
    array([1., 0.])
    """

    def __init__(self, *, standardize: bool = True) -> None:
        self.standardize = standardize

    def fit(self, x: np.ndarray) -> Self:
        """Learn from x (N, P)."""
        self.low_, self.high_ = finite_range(x)
        bounded = self._bound(x)
        bounded[:, np.isnan(bounded).all(axis=0)] = 0.0
        self.mean_, self.std_ = np.zeros(x.shape[1]), np.ones(x.shape[1])
        if self.standardize:
            self.mean_, self.std_ = mean_and_std(bounded)
        self.fill_ = np.nanmean(self._scale(bounded), axis=0)  # (P,)
        return self

    def transform(self, x: np.ndarray) -> np.ndarray:
        """Return x (N, P) bounded, standardized and without gaps."""
        scaled = self._scale(self._bound(x))
        np.copyto(scaled, self.fill_, where=np.isnan(scaled))
        return scaled

    def state(self) -> dict[str, Any]:
        """Return what was learned."""
        learned = {name: getattr(self, name) for name in _LEARNED}
        return {"standardize": self.standardize, **learned}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        """Rebuild the columns from what was learned."""
        new = cls(standardize=state["standardize"])
        for name in _LEARNED:
            setattr(new, name, state[name])
        return new

    def _bound(self, x: np.ndarray) -> np.ndarray:
        x = x.copy()  # one, however large the table
        np.copyto(x, self.high_, where=np.isposinf(x))
        np.copyto(x, self.low_, where=np.isneginf(x))
        x[(x < _MIN_RAW) & (x > -_MIN_RAW)] = 0.0
        return np.clip(x, -_MAX_RAW, _MAX_RAW, out=x)

    def _scale(self, x: np.ndarray) -> np.ndarray:
        """Scale in place what `_bound` gave."""
        with np.errstate(over="ignore"):  # what overflows is clipped right here
            x -= self.mean_
            x /= self.std_
            most = MAX_STANDARD if self.standardize else MAX_PLAIN
            return np.clip(x, -most, most, out=x)
