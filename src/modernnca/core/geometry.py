"""Distances that follow from inner products, for the paths that count many at once."""

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
    """How a distance follows from inner products of placed points.

    With `norms` it is |q|^2 + |k|^2 - 2qk (and with `root` the square root of that),
    else -qk. Points are placed first: shifted to the middle of the keys, where few
    digits are lost, or brought to length one.
    """

    norms: bool = False
    root: bool = False
    to_unit: bool = False

    def middle(self, keys: Tensor) -> Tensor | None:
        """Where to put the origin (D,); distances with `norms` do not mind."""
        return keys.detach().mean(0) if self.norms else None

    def place(self, points: Tensor, middle: Tensor | None) -> Tensor:
        """Place points (N, D), with a gradient."""
        if self.to_unit:
            return unit(points)
        return points if middle is None else points - middle


GEOMETRIES: dict[Distance, Geometry] = {
    euclidean: Geometry(norms=True, root=True),
    squared_euclidean: Geometry(norms=True),
    cosine: Geometry(to_unit=True),
    dot: Geometry(),
}
