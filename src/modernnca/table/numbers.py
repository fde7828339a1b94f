"""Treatments of numerical columns, by name: how raw numbers become comparable ones.

Shapes: N rows, P columns, float64. Treatments let NaN pass, in fit and transform;
`NumberColumns` adds what every treatment needs: no infinity in, nothing missing out.
"""

from typing import Any, Protocol, Self

import numpy as np
from scipy.special import ndtri

from modernnca._named import named

State = dict[str, Any]

# Raw numbers beyond are cut, so that a difference of two cannot overflow float64;
# those below are zero, so that a ratio of two differences cannot either.
_LARGEST_RAW = 1e300
_LEAST_RAW = 1e-150
# Treated numbers beyond are cut, so that sums of their squares fit into float32.
LARGEST = 1e15


class Treatment(Protocol):
    """What a treatment of numbers does; its state is plain arrays."""

    def fit(self, x: np.ndarray) -> Self:
        """Learn from the columns of x (N, P)."""
        ...

    def transform(self, x: np.ndarray) -> np.ndarray:
        """Treat the columns of x (N, P), each row by itself."""
        ...

    def state(self) -> dict[str, np.ndarray]:
        """Return what was learned."""
        ...

    @classmethod
    def from_state(cls, state: dict[str, np.ndarray]) -> Self:
        """Build the treatment that has learned this."""
        ...


def finite_range(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the least and the largest finite number of each column, or 0 if none.

    >>> finite_range(np.array([[1.0], [3.0], [np.inf], [np.nan]]))
    (array([1.]), array([3.]))
    """
    finite = np.isfinite(x)
    low = np.where(finite, x, np.inf).min(axis=0)  # (P,)
    high = np.where(finite, x, -np.inf).max(axis=0)  # (P,)
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
    alike = (np.nanmax(x, axis=0) == np.nanmin(x, axis=0)) | (std == 0)
    return mean, np.where(alike, 1.0, std)


def _percentiles(x: np.ndarray, percents: np.ndarray) -> np.ndarray:
    if x.shape[1] == 0:  # of nothing, numpy gives nothing, of another shape
        return np.empty((len(percents), 0))
    return np.nanpercentile(x, percents, axis=0)


class Standard:
    """Subtract the mean, divide by the standard deviation.

    >>> Standard().fit(np.array([[1.0], [3.0]])).transform(np.array([[5.0]]))
    array([[3.]])
    """

    def fit(self, x: np.ndarray) -> Self:
        """Learn the means and deviations."""
        self.mean_, self.std_ = mean_and_std(x)
        return self

    def transform(self, x: np.ndarray) -> np.ndarray:
        """Standardize x (N, P)."""
        return (x - self.mean_) / self.std_

    def state(self) -> dict[str, np.ndarray]:
        """Return the means and deviations."""
        return {"mean": self.mean_, "std": self.std_}

    @classmethod
    def from_state(cls, state: dict[str, np.ndarray]) -> Self:
        """Build from the means and deviations."""
        new = cls()
        new.mean_, new.std_ = state["mean"], state["std"]
        return new


class Quantile:
    """Give each column a normal distribution, by the rank of each number.

    The same as scikit-learn's QuantileTransformer, without noise or sampling, and
    also right for columns of tiny numbers, which that one would make all alike.

    >>> x = np.arange(11.0)[:, None]
    >>> Quantile().fit(x).transform(x)[[0, 5, 10], 0].round(2)
    array([-5.2,  0. ,  5.2])
    """

    _MARGIN = 1e-7 - np.spacing(1)  # the least share that is not cut

    def fit(self, x: np.ndarray) -> Self:
        """Learn up to 1,000 quantiles of each column."""
        n_quantiles = min(max(min(len(x) // 30, 1000), 10), len(x))
        percents = np.linspace(0, 1, n_quantiles) * 100
        self.quantiles_ = _percentiles(x, percents)  # (n_quantiles, P)
        return self

    def transform(self, x: np.ndarray) -> np.ndarray:
        """Give x (N, P) the place of its rank in a normal distribution."""
        ranks = np.linspace(0, 1, len(self.quantiles_))
        out = np.empty_like(x)
        for place, quantiles in enumerate(self.quantiles_.T):
            column = x[:, place]
            # From both sides: where quantiles repeat, each side gives one end.
            up = np.interp(column, quantiles, ranks)
            down = -np.interp(-column, -quantiles[::-1], -ranks[::-1])
            share = 0.5 * (up + down)
            share[column >= quantiles[-1]] = 1.0
            share[column <= quantiles[0]] = 0.0
            out[:, place] = share
        return ndtri(np.clip(out, self._MARGIN, 1 - self._MARGIN))

    def state(self) -> dict[str, np.ndarray]:
        """Return the quantiles."""
        return {"quantiles": self.quantiles_}

    @classmethod
    def from_state(cls, state: dict[str, np.ndarray]) -> Self:
        """Build from the quantiles."""
        new = cls()
        new.quantiles_ = state["quantiles"]
        return new


class Robust:
    """Scale by the middle half of the numbers, then bend the far ones toward 3.

    From RealMLP (Holzmüller et al., 2024): a robust scale with a smooth clip.

    >>> x = np.array([[0.0], [1.0], [2.0], [3.0], [1e9]])
    >>> Robust().fit(x).transform(x).round(2).ravel()
    array([-0.95, -0.49,  0.  ,  0.49,  3.  ])
    """

    def fit(self, x: np.ndarray) -> Self:
        """Learn the medians and scales."""
        quarters = np.array([0, 25, 50, 75, 100])
        low, lower, self.median_, upper, high = _percentiles(x, quarters)
        width = np.where(upper > lower, upper - lower, (high - low) / 2)
        self.scale_ = np.where(width > 0, 1 / np.where(width > 0, width, 1.0), 0.0)
        return self

    def transform(self, x: np.ndarray) -> np.ndarray:
        """Scale and bend x (N, P)."""
        scaled = np.clip((x - self.median_) * self.scale_, -LARGEST, LARGEST)
        return scaled / np.sqrt(1 + (scaled / 3) ** 2)

    def state(self) -> dict[str, np.ndarray]:
        """Return the medians and scales."""
        return {"median": self.median_, "scale": self.scale_}

    @classmethod
    def from_state(cls, state: dict[str, np.ndarray]) -> Self:
        """Build from the medians and scales."""
        new = cls()
        new.median_, new.scale_ = state["median"], state["scale"]
        return new


class Untreated:
    """Leave the numbers as they are."""

    def fit(self, x: np.ndarray) -> Self:
        """Learn nothing."""
        return self

    def transform(self, x: np.ndarray) -> np.ndarray:
        """Return x (N, P)."""
        return x

    def state(self) -> dict[str, np.ndarray]:
        """Return nothing."""
        return {}

    @classmethod
    def from_state(cls, state: dict[str, np.ndarray]) -> Self:
        """Build from nothing."""
        return cls()


NUMBERS: dict[str, type[Treatment]] = {
    "standard": Standard,
    "quantile": Quantile,
    "robust": Robust,
    "none": Untreated,
}


class NumberColumns:
    """Numbers of any size, infinite or missing, to finite and treated ones.

    An infinity becomes the largest (or least) finite number of its column in fit;
    a missing number becomes the mean of the treated ones.

    >>> x = np.array([[1.0], [3.0], [np.nan]])
    >>> columns = NumberColumns("standard").fit(x)
    >>> columns.transform(np.array([[np.inf], [np.nan]])).ravel()
    array([1., 0.])
    """

    def __init__(self, treatment: str) -> None:
        self.treatment = treatment

    def fit(self, x: np.ndarray) -> Self:
        """Learn from x (N, P)."""
        treatment = named("treatment of numbers", self.treatment, NUMBERS)
        self.low_, self.high_ = finite_range(x)
        bounded = self._bound(x)
        bounded[:, np.isnan(bounded).all(axis=0)] = 0.0
        self.treatment_ = treatment().fit(bounded)
        self.blank_ = np.nanmean(self._treat(bounded), axis=0)  # (P,)
        return self

    def transform(self, x: np.ndarray) -> np.ndarray:
        """Return x (N, P) bounded, treated and without gaps."""
        treated = self._treat(self._bound(x))
        return np.where(np.isnan(treated), self.blank_, treated)

    def state(self) -> State:
        """Return what was learned."""
        return {
            "treatment": self.treatment,
            "low": self.low_,
            "high": self.high_,
            "blank": self.blank_,
            "learned": self.treatment_.state(),
        }

    @classmethod
    def from_state(cls, state: State) -> Self:
        """Build the columns that have learned this."""
        new = cls(state["treatment"])
        new.low_, new.high_, new.blank_ = state["low"], state["high"], state["blank"]
        treatment = named("treatment of numbers", new.treatment, NUMBERS)
        new.treatment_ = treatment.from_state(state["learned"])
        return new

    def _bound(self, x: np.ndarray) -> np.ndarray:
        x = np.where(np.isposinf(x), self.high_, x)
        x = np.where(np.isneginf(x), self.low_, x)
        x = np.where(np.abs(x) < _LEAST_RAW, 0.0, x)
        return np.clip(x, -_LARGEST_RAW, _LARGEST_RAW)

    def _treat(self, x: np.ndarray) -> np.ndarray:
        with np.errstate(over="ignore"):  # the overflow is cut right here
            return np.clip(self.treatment_.transform(x), -LARGEST, LARGEST)
