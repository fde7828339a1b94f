"""Distances that follow from inner products, for the kernels that compute many."""

from typing import NamedTuple

from torch import Tensor

from modernnca.core.distances import (
    Distance,
    cosine,
    dot,
    euclidean,
    squared_euclidean,
    unit,
)


class Geometry(NamedTuple):
    """How a distance follows from inner products of prepared points.

    With `norms` it is |q|^2 + |k|^2 - 2qk (and with `root` the square root of that),
    else -qk. Points are prepared first: centered at the mean of the keys, where few
    digits are lost, or scaled to length one.
    """

    norms: bool = False
    root: bool = False
    to_unit: bool = False

    def center(self, keys: Tensor) -> Tensor | None:
        """The new origin (D,); distances with `norms` do not depend on it."""
        return keys.detach().mean(0) if self.norms else None

    def prepare(self, points: Tensor, center: Tensor | None) -> Tensor:
        """Center or normalize points (N, D), with a gradient."""
        if self.to_unit:
            return unit(points)
        return points if center is None else points - center


GEOMETRIES: dict[Distance, Geometry] = {
    euclidean: Geometry(norms=True, root=True),
    squared_euclidean: Geometry(norms=True),
    cosine: Geometry(to_unit=True),
    dot: Geometry(),
}
