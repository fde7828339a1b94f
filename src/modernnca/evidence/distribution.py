"""The distribution of the target: the neighbors' targets, weighted by their shares.

Its mean is the prediction. Nothing of size (queries x remembered rows) is kept: each
question is answered some queries at a time, from exact shares.
"""

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from modernnca.core.rows import Rows
from modernnca.core.softnn import chunks
from modernnca.ensemble.ensemble import Ensemble
from modernnca.ensemble.run import random_state as as_generator
from modernnca.table.targets import RegressionTarget

_N_PAIRS = 2**22  # (query, row) pairs that are held at a time
_TINY = 1e-12  # shares and widths below are rounding
_SILVERMAN = 0.9


class PredictiveDistribution:
    """The distribution of a number, for each of B queries.

    It puts the share of each remembered row on that row's target, so it is discrete;
    `pdf` smooths it.

    Args:
        ensemble: what votes.
        queries: B encoded rows.
        target: the units of the targets.
    """

    def __init__(
        self, ensemble: Ensemble, queries: Rows, target: RegressionTarget
    ) -> None:
        self._ensemble, self._queries = ensemble, queries
        values = ensemble.remembered.values[:, 0].double()
        ordered, self._order = values.cpu().sort(stable=True)
        self._targets = torch.from_numpy(target.decode(ordered.numpy()))  # (M,)

    def __len__(self) -> int:
        return self._queries.n_rows

    def __repr__(self) -> str:
        return f"PredictiveDistribution({len(self):,} queries)"

    @cached_property
    def mean(self) -> np.ndarray:
        """The mean (B,): the prediction."""
        return self._each(lambda shares, some: shares @ self._targets)

    @cached_property
    def std(self) -> np.ndarray:
        """The standard deviation (B,)."""
        return self._each(lambda shares, some: self._spread(shares))

    @cached_property
    def n_effective(self) -> np.ndarray:
        """How many rows of equal shares would vary as much (B,): 1 / sum of squares."""
        return self._each(lambda shares, some: 1 / shares.square().sum(1))

    def cdf(self, y: Any) -> np.ndarray:
        """The probability of at most `y`: a number, one (B,) or several (B, K) each."""
        points = self._points(y)

        def below(shares: Tensor, some: slice) -> Tensor:
            places = torch.searchsorted(self._targets, points[some], right=True)
            return _up_to(shares).gather(1, places)

        return self._shaped(self._each(below), y)

    def pdf(self, y: Any) -> np.ndarray:
        """The density at `y`, as `cdf` takes it, with a Gaussian for each row.

        Their width is Silverman's, by the effective number of neighbors.
        """
        points = self._points(y)

        def density(shares: Tensor, some: slice) -> Tensor:
            widths = self._widths(shares)  # (b,)
            columns = []
            for column in points[some].unbind(1):
                z = (column[:, None] - self._targets) / widths[:, None]
                columns.append((shares * (-0.5 * z.square()).exp()).sum(1) / widths)
            return torch.stack(columns, 1) / np.sqrt(2 * np.pi)

        return self._shaped(self._each(density), y)

    def quantile(self, q: Any) -> np.ndarray:
        """The least target that the probability `q` is at or below.

        For a number (B,), for K of them (B, K).
        """
        levels = check_levels(q)
        each = torch.from_numpy(np.atleast_1d(levels)).expand(len(self), -1)
        found = self._each(lambda shares, some: self._inverse(shares, each[some]))
        return found[:, 0] if levels.ndim == 0 else found

    def sample(self, n: int, random_state: Any = None) -> np.ndarray:
        """Draw `n` targets for each query, (B, n)."""
        if not isinstance(n, int | np.integer) or n < 1:
            raise ValueError(f"n must be a whole number of at least 1; got {n!r}.")
        uniform = as_generator(random_state).random_sample((len(self), n))
        levels = torch.from_numpy(1 - uniform)  # above 0, up to 1
        return self._each(lambda shares, some: self._inverse(shares, levels[some]))

    def crps(self, y: Any) -> np.ndarray:
        """The continuous ranked probability score at the true `y`; lower is better.

        It is the integral of the squared difference between the distribution and the
        step at `y`, in units of the target; of a single number, its absolute error.
        """
        points = self._points(y)
        if points.shape[1] != 1:
            raise ValueError(
                f"crps takes one number for each query; got the shape {np.shape(y)}."
            )

        def integral(shares: Tensor, some: slice) -> Tensor:
            truth = points[some]  # (b, 1)
            below = _up_to(shares)[:, 1:-1].contiguous()  # (b, M - 1) between targets
            left, right = self._targets[:-1], self._targets[1:]
            cut = torch.maximum(torch.minimum(truth, right), left)  # (b, M - 1)
            inner = below.square() * (cut - left) + (1 - below).square() * (right - cut)
            outer = (self._targets[0] - truth).clamp_min(0)
            outer += (truth - self._targets[-1]).clamp_min(0)
            return inner.sum(1) + outer.squeeze(1)

        return self._each(integral)

    def _each(self, of_chunk: Callable[[Tensor, slice], Tensor]) -> np.ndarray:
        """What `of_chunk` finds from the shares (b, M) of some queries, for all."""
        parts = [of_chunk(shares, some) for some, shares in self._shares()]
        return torch.cat(parts).numpy()

    def _shares(self) -> Iterator[tuple[slice, Tensor]]:
        """Some queries at a time: their shares (b, M), in the order of the targets."""
        n_pairs = _N_PAIRS
        for some in chunks(len(self), len(self._targets), n_pairs):
            with torch.inference_mode():
                shares = self._ensemble.shares(self._queries.take(some))
            shares = shares.cpu().double()[:, self._order]
            yield some, shares / shares.sum(1, keepdim=True)

    def _inverse(self, shares: Tensor, levels: Tensor) -> Tensor:
        """The targets (b, K) at these levels (b, K)."""
        below = _up_to(shares)[:, 1:].contiguous()  # (b, M)
        reached = torch.minimum(levels - _TINY, below[:, -1:]).contiguous()
        return self._targets[torch.searchsorted(below, reached.clamp_min(_TINY))]

    def _spread(self, shares: Tensor) -> Tensor:
        center = shares @ self._targets
        squared = (self._targets - center[:, None]).square()  # (b, M)
        return (shares * squared).sum(1).sqrt()

    def _widths(self, shares: Tensor) -> Tensor:
        """The width of a Gaussian for each row, (b,)."""
        quartiles = self._inverse(
            shares, torch.tensor([[0.25, 0.75]]).expand(len(shares), 2).double()
        )
        spread, between = self._spread(shares), quartiles[:, 1] - quartiles[:, 0]
        robust = torch.where(between > 0, torch.minimum(spread, between / 1.34), spread)
        n_effective = 1 / shares.square().sum(1)
        least = 1e-6 * (self._targets.std(correction=0) + _TINY)
        return (_SILVERMAN * robust * n_effective**-0.2).clamp_min(float(least))

    def _points(self, y: Any) -> Tensor:
        """Numbers (B, K) of one for all, one each, or several each."""
        points = np.asarray(y, dtype=np.float64)
        shaped = points.ndim == 0 or (points.ndim < 3 and len(points) == len(self))
        if not shaped or np.isnan(points).any():
            raise ValueError(
                f"y must be a number, or one or more for each of the {len(self)} "
                f"queries, without gaps; got the shape {points.shape}."
            )
        if points.ndim < 2:
            points = np.broadcast_to(points[..., None], (len(self), 1))
        return torch.from_numpy(np.array(points, order="C"))

    @staticmethod
    def _shaped(found: np.ndarray, y: Any) -> np.ndarray:
        return found if np.ndim(y) == 2 else found[:, 0]


def check_levels(q: Any) -> np.ndarray:
    """Quantile levels as an array; raise unless they are between 0 and 1."""
    levels = np.asarray(q, dtype=np.float64)
    if levels.ndim > 1 or not ((levels >= 0) & (levels <= 1)).all() or not levels.size:
        raise ValueError(
            f"q must be a number between 0 and 1, or a list of such; got {q!r}."
        )
    return levels


def _up_to(shares: Tensor) -> Tensor:
    """Cumulative shares (b, M + 1), from 0 to 1."""
    zero = shares.new_zeros(len(shares), 1)
    return torch.cat([zero, shares.cumsum(1).clamp_max(1)], 1)
