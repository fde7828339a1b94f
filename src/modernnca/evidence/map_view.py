"""Maps: the embedding in two dimensions, as arrays, a plot and an interactive page."""

import os
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from modernnca._files import written_whole
from modernnca.errors import MissingExtraError
from modernnca.evidence.pages import page, part


@dataclass(frozen=True, repr=False)
class Map:
    """The remembered rows in two dimensions, in the order of the table given to `fit`.

    Shapes: M remembered rows, B new ones, R prototypes.
    """

    coordinates: np.ndarray  # (M, 2)
    new: np.ndarray  # (B, 2) the new rows, where they were given
    rows: np.ndarray  # (M,) row numbers of the table given to `fit`
    colors: np.ndarray  # (M,) what the color shows: numbers, or levels as text
    new_colors: np.ndarray  # (B,) the same of the new rows; None or NaN if not known
    title: str  # what the color shows, in words
    prototypes: np.ndarray  # (R,) row numbers: the rows in the middle of each cluster
    names: tuple[str, ...]  # (R,) of the prototypes: what sets their cluster apart
    method: str  # t-SNE or PCA
    cells: dict[str, np.ndarray] = field(default_factory=dict)  # (M + B,) to hover over

    def __repr__(self) -> str:
        new = f", {len(self.new):,} new" if len(self.new) else ""
        return (
            f"Map of {len(self.coordinates):,} rows{new} by {self.method}, colored by "
            f"{self.title}"
        )

    @property
    def continuous(self) -> bool:
        """Whether the color shows numbers."""
        return self.colors.dtype.kind == "f"

    def _repr_html_(self) -> str:
        from modernnca.evidence.map_page import MAP_STYLE, map_body

        return part(map_body(self), style=MAP_STYLE)

    def to_html(self, path: str | os.PathLike) -> None:
        """Write one self-contained page; hover over a point to see its row."""
        with written_whole(path) as file:
            file.write(page(repr(self), self._repr_html_()).encode())

    def plot(self, ax: Any = None) -> Any:
        """Draw the map with matplotlib, on these axes or new ones; returns the axes."""
        try:
            import matplotlib.pyplot as plt
        except ImportError as error:
            raise MissingExtraError(
                "plot needs matplotlib; pip install matplotlib, or use to_html."
            ) from error
        from modernnca.evidence.map_plot import draw

        if ax is None:
            _, ax = plt.subplots(figsize=(8, 6), layout="constrained")
        return draw(self, ax)
