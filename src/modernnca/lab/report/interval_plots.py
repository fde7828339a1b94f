"""Dot plots with confidence intervals."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import pandas as pd

from modernnca.lab.report.figures import (
    ACCENT,
    INK,
    LINE,
    MUTED,
    Figure,
    draw,
    truncate,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas


def interval_plot(
    frame: pd.DataFrame,
    *,
    name: str,
    alt: str,
    label: str,
    show: Callable[[float], str],
    hero: str,
    tick: Callable[[float], str] | None = None,
    zero: float | None = None,
) -> Figure:
    """Draw the columns method, value, low and high, the first row on top."""
    rows = frame.to_dict("records")

    def paint(canvas: "Canvas") -> dict[str, str]:
        axes = canvas.add_axes((0.2, 0.52 / height, 0.77, 1 - 0.56 / height))
        if zero is not None:
            axes.axvline(zero, color=MUTED, linewidth=0.8, linestyle=(0, (2, 2)))
        titles = {}
        for y, row in enumerate(rows):
            color = ACCENT if row["method"] == hero else INK
            axes.plot([row["low"], row["high"]], [y, y], color=color, linewidth=1.4)
            dot = axes.scatter([row["value"]], [y], color=color, s=24, zorder=3)
            dot.set_gid(f"dot-{y}")
            titles[f"dot-{y}"] = f"{row['method']}: {_describe(row, show)}"
        axes.set_ylim(len(rows) - 0.4, -0.6)
        axes.set_yticks(range(len(rows)), [truncate(row["method"], 24) for row in rows])
        for text, row in zip(axes.get_yticklabels(), rows, strict=True):
            text.set_color(ACCENT if row["method"] == hero else INK)
            text.set_fontweight("bold" if row["method"] == hero else "normal")
        axes.tick_params(length=0)
        axes.grid(axis="x", color=LINE, linewidth=0.6)
        axes.set_axisbelow(True)
        axes.xaxis.set_major_formatter(lambda value, _: (tick or show)(value))
        axes.set_xlabel(label)
        for side in ("left", "bottom"):
            axes.spines[side].set_visible(False)
        return titles

    height = 0.7 + 0.225 * len(rows)
    text = "; ".join(f"{row['method']} {_describe(row, show)}" for row in rows)
    return draw(name, f"{alt} {text}.", paint, width=9, height=height)


def _describe(row: dict, show: Callable[[float], str]) -> str:
    return f"{show(row['value'])} ({show(row['low'])} to {show(row['high'])})"
