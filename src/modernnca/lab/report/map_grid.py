"""Maps of embeddings: datasets in rows, methods in columns, colored by the target."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from modernnca.lab.bench.job import Record
from modernnca.lab.report.figures import INK, LINE, MUTED, Figure, draw, truncate

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

_CELL = 2.1  # inches


def map_grid(
    name: str, title: str, labels: Sequence[str], maps: Sequence[Record]
) -> Figure:
    """Draw the first map of each dataset and variant; `labels` name the maps."""
    columns = list(dict.fromkeys(labels))
    cells: dict[tuple[str, str], Record] = {}
    for label, record in zip(labels, maps, strict=True):
        if record.prediction is not None:
            cells.setdefault((record.job.dataset, label), record)
    rows = sorted({dataset for dataset, _ in cells})
    width, height = 0.3 + _CELL * len(columns), 0.35 + (_CELL + 0.3) * len(rows)

    def paint(canvas: "Canvas") -> dict[str, str]:
        titles = {}
        for (dataset, label), record in cells.items():
            x, y = columns.index(label), rows.index(dataset)
            axes = canvas.add_axes(
                (
                    (0.3 + _CELL * x) / width,
                    1 - (0.25 + (_CELL + 0.3) * y + _CELL) / height,
                    (_CELL - 0.1) / width,
                    (_CELL - 0.1) / height,
                )
            )
            axes.set_xticks([])
            axes.set_yticks([])
            axes.spines[:].set_visible(True)
            axes.spines[:].set_color(LINE)
            _scatter(axes, record)
            part = f"map-{y}-{x}"
            text = f"purity {record.scores['purity']:.2f}".replace("-", "\u2212")
            axes.set_xlabel(text, color=MUTED, size=8, labelpad=3).set_gid(part)
            titles[part] = _describe(label, record)
            if y == 0:
                axes.set_title(label, color=INK, size=9)
            if x == 0:
                axes.set_ylabel(
                    truncate(dataset.removeprefix("builtin:"), 24), color=MUTED
                )
        return titles

    text = "; ".join(_describe(label, record) for (_, label), record in cells.items())
    alt = f"{title}: t-SNE maps, colored by the target. {text}."
    return draw(name, alt, paint, width=width, height=height)


def _scatter(axes: Any, record: Record) -> None:
    """Draw the points as a raster image, which keeps the SVG small."""
    points, y = record.prediction, record.truth
    assert points is not None
    assert y is not None
    if record.classes is None:  # by rank, without the darkest colors, for dark pages
        ranks = np.argsort(np.argsort(y))
        colors, palette, vmax = 0.25 + 0.75 * ranks / max(len(y) - 1, 1), "viridis", 1
    else:
        colors, palette, vmax = y % 10, "tab10", 9
    dots = {"s": 7, "alpha": 0.75, "linewidth": 0, "rasterized": True}
    axes.scatter(
        points[:, 0], points[:, 1], c=colors, cmap=palette, vmin=0, vmax=vmax, **dots
    )


def _describe(label: str, record: Record) -> str:
    scores = record.scores
    return (
        f"{label} on {record.job.dataset}: k-NN purity {scores['purity']:.3f}, "
        f"trustworthiness of the map {scores['trustworthiness']:.3f}"
    )
