"""Grids of colored cells: who beats whom, and how far each score is from the best."""

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from modernnca.lab.report.figures import ACCENT, INK, Figure, draw, short

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

# Steps of the distance to the best, in percent (of accuracy: points; of RMSE: parts).
_MOST_WRITTEN = 16  # methods, up to which numbers are written into a matrix
STEPS = (0.0, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0)


def gaps(scores: pd.DataFrame) -> pd.DataFrame:
    """Measure how far each score is from the best of its dataset, in percent.

    Of accuracy, in points below the best; of an error, in percent above the least.
    Datasets x methods; NaN where there is no score.
    """
    best = scores.groupby("dataset")["mean"]
    best = best.transform("max").where(scores["higher"], best.transform("min"))
    points = 100 * (best - scores["mean"])
    least = best.where(best > 0, np.finfo(float).tiny)
    parts = 100 * (scores["mean"] / least - 1)
    gap = points.where(scores["higher"], parts.where(scores["mean"] != best, 0.0))
    whole = scores.assign(gap=gap)
    return whole.pivot(index="dataset", columns="method", values="gap")


def step(gap: float) -> int | None:
    """Return which of the steps a gap is on: 0 is the best, the last beyond all.

    >>> step(0.0), step(0.3), step(50.0), step(float("nan"))
    (0, 1, 7, None)
    """
    return None if np.isnan(gap) else int(np.searchsorted(STEPS, gap))


def heat_map(gap: pd.DataFrame, *, hero: str) -> Figure:
    """Draw gaps, datasets x methods; darker is nearer to the best."""

    def paint(canvas: "Canvas") -> None:
        steps = np.searchsorted(STEPS, gap.to_numpy(dtype=float)).astype(float)
        steps[gap.isna().to_numpy()] = np.nan
        _paint(canvas, gap, len(STEPS) - steps, hero=hero, colors=_fading(), most=7)

    alt = (
        f"Heat map of {len(gap)} tables and {len(gap.columns)} methods: "
        "the darker, the nearer to the best score."
    )
    left, top = _margins(gap)
    width, height = left + 0.2 + 0.24 * gap.shape[1], top + 0.2 + 0.16 * gap.shape[0]
    return draw("heatmap", alt, paint, width=width, height=height)


def win_matrix(rates: pd.DataFrame, *, group: str, hero: str) -> Figure:
    """Draw the share of tables on which the row beats the column."""

    def paint(canvas: "Canvas") -> None:
        values = rates.to_numpy(dtype=float).copy()
        np.fill_diagonal(values, np.nan)
        few = len(rates) <= _MOST_WRITTEN
        _paint(canvas, rates, values, hero=hero, colors="PuOr", most=1, written=few)

    alt = f"Win rates, {group}: the share of tables on which the row beats the column."
    left, top = _margins(rates)
    cells = 0.2 + 0.34 * len(rates)
    return draw(f"winrates-{group}", alt, paint, width=left + cells, height=top + cells)


def _fading() -> Any:
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("fading", ["#f3f1ec", ACCENT])


def _paint(
    canvas: "Canvas",
    frame: pd.DataFrame,
    values: np.ndarray,
    *,
    hero: str,
    colors: Any,
    most: float,
    written: bool = False,
) -> None:
    width, height = canvas.get_size_inches()
    rows = [short(name, 34) for name in frame.index]
    columns = [short(name, 34) for name in frame.columns]
    left, top = _margins(frame)
    box = (left / width, 0.1 / height, 1 - (left + 0.1) / width)
    axes = canvas.add_axes((*box, 1 - (top + 0.2) / height))
    axes.imshow(values, cmap=colors, vmin=0, vmax=most, aspect="auto")
    axes.set_xticks(range(len(columns)), columns, rotation=90, fontsize=7)
    axes.set_yticks(range(len(rows)), rows, fontsize=7)
    axes.xaxis.tick_top()
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    ticks = [*zip(axes.get_xticklabels(), frame.columns, strict=True)]
    for text, name in [*ticks, *zip(axes.get_yticklabels(), frame.index, strict=True)]:
        text.set_color(ACCENT if name == hero else INK)
    if written:
        for (i, j), value in np.ndenumerate(values):
            if np.isfinite(value):
                color = "white" if abs(value - 0.5) > 0.33 else "black"
                at: dict[str, Any] = {"ha": "center", "va": "center", "size": 6}
                axes.text(j, i, f"{100 * value:.0f}", color=color, **at)


def _margins(frame: pd.DataFrame) -> tuple[float, float]:
    """Inches that the longest names take on the left and on top."""
    names = (frame.index, frame.columns)
    left, top = (
        max((len(short(name, 34)) for name in side), default=0) for side in names
    )
    return 0.3 + 0.065 * left, 0.3 + 0.065 * top
