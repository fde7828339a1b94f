"""Heat maps: win rates, and the gap of each score to the best."""

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from modernnca.lab.report.figures import ACCENT, INK, Figure, draw, truncate

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

_MAX_METHODS_WITH_TEXT = 16  # in a larger matrix, cells have no numbers
# Steps of the gap to the best: points of accuracy, or percent of RMSE.
STEPS = (0.0, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0)


def gaps_to_best(scores: pd.DataFrame) -> pd.DataFrame:
    """Return the gap of each score to the best of its dataset: datasets x methods.

    Accuracy: points below the best. Errors: percent above the smallest. NaN where there
    is no score.
    """
    best = scores.groupby("dataset")["mean"]
    best = best.transform("max").where(scores["higher"], best.transform("min"))
    points = 100 * (best - scores["mean"])
    smallest = best.where(best > 0, np.finfo(float).tiny)
    percent = 100 * (scores["mean"] / smallest - 1)
    gap = points.where(scores["higher"], percent.where(scores["mean"] != best, 0.0))
    return scores.assign(gap=gap).pivot(index="dataset", columns="method", values="gap")


def gap_step(gap: float) -> int | None:
    """Return the step that a gap falls on: 0 is the best, 7 is above all steps.

    >>> gap_step(0.0), gap_step(0.3), gap_step(50.0), gap_step(float("nan"))
    (0, 1, 7, None)
    """
    return None if np.isnan(gap) else int(np.searchsorted(STEPS, gap))


def heat_map(gap: pd.DataFrame, *, hero: str) -> Figure:
    """Draw gaps, datasets x methods; darker is closer to the best."""

    def paint(canvas: "Canvas") -> None:
        steps = np.searchsorted(STEPS, gap.to_numpy(dtype=float)).astype(float)
        steps[gap.isna().to_numpy()] = np.nan
        _paint(canvas, gap, len(STEPS) - steps, hero=hero, cmap=_accent_map(), vmax=7)

    alt = (
        f"Heat map of {len(gap)} datasets and {len(gap.columns)} methods: "
        "darker is closer to the best score."
    )
    left, top = _margins(gap)
    width, height = left + 0.2 + 0.24 * gap.shape[1], top + 0.2 + 0.16 * gap.shape[0]
    return draw("heatmap", alt, paint, width=width, height=height)


def win_matrix(rates: pd.DataFrame, *, group: str, hero: str) -> Figure:
    """Draw the share of datasets on which the row beats the column."""

    def paint(canvas: "Canvas") -> None:
        values = rates.to_numpy(dtype=float).copy()
        np.fill_diagonal(values, np.nan)
        text = len(rates) <= _MAX_METHODS_WITH_TEXT
        _paint(canvas, rates, values, hero=hero, cmap="PuOr", vmax=1, text=text)

    alt = f"Win rates, {group}: share of datasets on which the row beats the column."
    left, top = _margins(rates)
    cells = 0.2 + 0.34 * len(rates)
    return draw(f"winrates-{group}", alt, paint, width=left + cells, height=top + cells)


def _accent_map() -> Any:
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("accent", ["#f3f1ec", ACCENT])


def _paint(
    canvas: "Canvas",
    frame: pd.DataFrame,
    values: np.ndarray,
    *,
    hero: str,
    cmap: Any,
    vmax: float,
    text: bool = False,
) -> None:
    width, height = canvas.get_size_inches()
    rows = [truncate(name, 34) for name in frame.index]
    columns = [truncate(name, 34) for name in frame.columns]
    left, top = _margins(frame)
    box = (left / width, 0.1 / height, 1 - (left + 0.1) / width)
    axes = canvas.add_axes((*box, 1 - (top + 0.2) / height))
    axes.imshow(values, cmap=cmap, vmin=0, vmax=vmax, aspect="auto")
    axes.set_xticks(range(len(columns)), columns, rotation=90, fontsize=7)
    axes.set_yticks(range(len(rows)), rows, fontsize=7)
    axes.xaxis.tick_top()
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    ticks = [*zip(axes.get_xticklabels(), frame.columns, strict=True)]
    for label, name in [*ticks, *zip(axes.get_yticklabels(), frame.index, strict=True)]:
        label.set_color(ACCENT if name == hero else INK)
    if text:
        for (i, j), value in np.ndenumerate(values):
            if np.isfinite(value):
                color = "white" if abs(value - 0.5) > 0.33 else "black"
                style: dict[str, Any] = {"ha": "center", "va": "center", "size": 6}
                axes.text(j, i, f"{100 * value:.0f}", color=color, **style)


def _margins(frame: pd.DataFrame) -> tuple[float, float]:
    """Return the inches that the longest names need on the left and on top."""
    names = (frame.index, frame.columns)
    left, top = (
        max((len(truncate(name, 34)) for name in side), default=0) for side in names
    )
    return 0.3 + 0.065 * left, 0.3 + 0.065 * top
