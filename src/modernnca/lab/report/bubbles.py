"""The bubble chart: average rank against fit time, with memory as the radius."""

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from modernnca.lab.report import formats
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

_MIN_RADIUS, _MAX_RADIUS = 4.0, 26.0  # points
_TICKS = {0.01: "10 ms", 0.1: "0.1 s", 1: "1 s", 10: "10 s", 60: "1 min"} | {
    600: "10 min",
    3600: "1 h",
    36000: "10 h",
}


def radii(memory: pd.Series) -> np.ndarray:
    """Return radii in points, proportional to memory; the smallest if unknown.

    >>> radii(pd.Series([26.0, 13.0, float("nan")]))
    array([26., 13.,  4.])
    """
    most = memory.max()
    share = memory.to_numpy(dtype=float) / (most if most > 0 else 1.0)
    return np.clip(np.nan_to_num(share) * _MAX_RADIUS, _MIN_RADIUS, _MAX_RADIUS)


def bubble_chart(frame: pd.DataFrame, *, group: str, hero: str) -> Figure:
    """Draw the columns method, rank, fit_seconds, peak_bytes and front (Pareto)."""
    frame = frame.assign(radius=radii(frame["peak_bytes"]))
    frame = frame.sort_values(["radius", "method"], ascending=[False, True])

    def paint(canvas: "Canvas") -> dict[str, str]:
        axes = canvas.add_axes((0.07, 0.1, 0.91, 0.88))
        axes.set_xscale("log")
        axes.set_xlim(frame["fit_seconds"].min() / 2.2, frame["fit_seconds"].max() * 3)
        span = max(float(np.ptp(frame["rank"])), 1.0)
        worst, best = frame["rank"].max(), frame["rank"].min()
        axes.set_ylim(worst + 0.14 * span, best - 0.14 * span)
        low, high = axes.get_xlim()
        ticks = [tick for tick in _TICKS if low <= tick <= high]
        axes.set_xticks(ticks, [_TICKS[tick] for tick in ticks])
        axes.minorticks_off()
        axes.tick_params(length=0)
        axes.grid(color=LINE, linewidth=0.6)
        axes.set_axisbelow(True)
        axes.set_xlabel("mean fit time (log scale)")
        axes.set_ylabel("average rank (best on top)")
        front = frame[frame["front"]].sort_values("fit_seconds")
        axes.plot(
            *(front["fit_seconds"], front["rank"]),
            color=ACCENT,
            linewidth=1,
            linestyle=(0, (4, 3)),
        )
        titles = {}
        for index, row in enumerate(frame.to_dict("records")):
            color = ACCENT if row["method"] == hero else MUTED
            bubble = axes.scatter(
                *([row["fit_seconds"]], [row["rank"]]),
                s=(2 * row["radius"]) ** 2,
                color=color,
                alpha=0.32,
                edgecolor=ACCENT if row["front"] else color,
                linewidth=1.8 if row["front"] else 0.8,
            )
            bubble.set_gid(f"bubble-{index}")
            titles[f"bubble-{index}"] = _describe(row)
        if frame["peak_bytes"].notna().any():
            most = formats.size(frame["peak_bytes"].max())
            style: dict[str, Any] = {"ha": "right", "va": "bottom", "size": 8}
            style |= {"color": MUTED, "transform": axes.transAxes}
            axes.text(0.995, 0.015, f"largest radius: {most}", **style)
        _write_names(canvas, axes, frame, hero)
        return titles

    fastest_first = frame.sort_values("fit_seconds").to_dict("records")
    text = "; ".join(map(_describe, fastest_first))
    alt = f"Average rank against fit time, {group}. {text}."
    return draw(f"bubbles-{group}", alt, paint, width=9, height=5)


def _describe(row: dict[str, Any]) -> str:
    memory = row["peak_bytes"]
    return (
        f"{row['method']}: rank {row['rank']:.2f}, "
        f"fit {formats.seconds(row['fit_seconds'])}, "
        f"memory {'unknown' if pd.isna(memory) else formats.size(memory)}"
        f"{', on the Pareto front' if row['front'] else ''}"
    )


def _write_names(canvas: Any, axes: Any, frame: pd.DataFrame, hero: str) -> None:
    """Write each name next to its bubble, on the first side without an overlap."""
    renderer = canvas.canvas.get_renderer()
    taken: list[Any] = []
    for row in frame.sort_values(["rank", "method"]).to_dict("records"):
        offset = row["radius"] + 3
        sides = [
            *((offset, 0, "left", "center"), (-offset, 0, "right", "center")),
            *((0, offset, "center", "bottom"), (0, -offset, "center", "top")),
            *((offset, offset, "left", "bottom"), (offset, -offset, "left", "top")),
        ]
        for x, y, horizontal, vertical in sides:
            name = axes.annotate(
                truncate(row["method"], 30),
                (row["fit_seconds"], row["rank"]),
                xytext=(x, y),
                textcoords="offset points",
                ha=horizontal,
                va=vertical,
                color=ACCENT if row["method"] == hero else INK,
                fontweight="bold" if row["method"] == hero else "normal",
            )
            box = name.get_window_extent(renderer)
            if not any(box.overlaps(other) for other in taken):
                break
            if (x, y, horizontal, vertical) != sides[-1]:
                name.remove()
        taken.append(box)
