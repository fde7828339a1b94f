"""Plots of the variants' average ranks, with intervals and the paper's ranks."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

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
from modernnca.lab.report.study_evidence import Evidence

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

_WIDTH = 9.0
Paint = Callable[[Any, pd.DataFrame, str], dict[str, str]]


def rank_plot(evidence: Evidence) -> Figure:
    """Draw one line per variant: a dot with its interval, and the paper's ring."""
    n_rows = max(map(len, evidence.standings.values()))

    def paint(axes: Any, standing: pd.DataFrame, group: str) -> dict[str, str]:
        titles = {}
        for y, row in enumerate(standing.to_dict("records")):
            part = f"{group}-{y}"
            axes.plot([row["low"], row["high"]], [y, y], color=ACCENT, linewidth=1.4)
            dot = axes.scatter([row["rank"]], [y], color=ACCENT, s=30, zorder=3)
            dot.set_gid(part)
            titles[part] = _describe(row)
            if pd.notna(row["paper"]):
                point = ([row["paper"]], [y])
                ring = {"facecolor": "none", "edgecolor": INK, "zorder": 4}
                axes.scatter(*point, s=56, linewidth=1.3, **ring)
        axes.set_ylim(n_rows - 0.4, -0.6)
        names = [truncate(label, 26) for label in standing["method"]]
        axes.set_yticks(range(len(standing)), names, color=INK)
        axes.grid(axis="x", color=LINE, linewidth=0.6)
        axes.set_xlabel("average rank (left: better)")
        return titles

    return _side_by_side(evidence, "ranks", paint, height=0.95 + 0.27 * n_rows)


def rank_curve(evidence: Evidence) -> Figure:
    """Draw a curve over the variants with its interval; the paper's is dashed."""

    def paint(axes: Any, standing: pd.DataFrame, group: str) -> dict[str, str]:
        xs = list(range(len(standing)))
        ends = (standing["low"].astype(float), standing["high"].astype(float))
        axes.fill_between(xs, *ends, color=ACCENT, alpha=0.14, linewidth=0)
        axes.plot(xs, standing["rank"], color=ACCENT, linewidth=1.6)
        if standing["paper"].notna().any():
            dashes = {"linestyle": (0, (4, 3)), "marker": "o", "markersize": 6}
            ring = {"markerfacecolor": "none", "markeredgecolor": INK}
            axes.plot(xs, standing["paper"], color=INK, lw=1, **dashes, **ring)
        titles = {}
        for x, row in enumerate(standing.to_dict("records")):
            dot = axes.scatter([x], [row["rank"]], color=ACCENT, s=30, zorder=3)
            dot.set_gid(f"{group}-{x}")
            titles[f"{group}-{x}"] = _describe(row)
        axes.set_xticks(xs, list(standing["method"]), color=INK)
        axes.invert_yaxis()
        axes.grid(axis="y", color=LINE, linewidth=0.6)
        axes.set_ylabel("average rank (best on top)")
        return titles

    return _side_by_side(evidence, "curve", paint, height=3.4)


def _side_by_side(
    evidence: Evidence, kind: str, paint: Paint, *, height: float
) -> Figure:
    standings = evidence.standings
    longest = max(len(label) for label in evidence.study.labels)
    margin = 0.5 if kind == "curve" else 0.35 + 0.075 * min(longest, 26)  # inches

    def paint_all(canvas: "Canvas") -> dict[str, str]:
        titles: dict[str, str] = {}
        panel = _WIDTH / len(standings)
        for index, (group, standing) in enumerate(standings.items()):
            left, width = index * panel + margin + 0.1, panel - margin - 0.25
            axes = canvas.add_axes(
                (
                    left / _WIDTH,
                    0.5 / height,
                    width / _WIDTH,
                    (height - 0.85) / height,
                )
            )
            n_datasets = int(standing["n"].max())
            title = f"{group}, {n_datasets} dataset{'s' * (n_datasets != 1)}"
            axes.set_title(title, loc="left", color=MUTED, size=9)
            axes.tick_params(length=0)
            axes.set_axisbelow(True)
            for side in ("left", "bottom"):
                axes.spines[side].set_visible(False)
            titles |= paint(axes, standing, group)
        return titles

    text = ". ".join(
        f"{group.capitalize()}: "
        + "; ".join(map(_describe, standing.to_dict("records")))
        for group, standing in standings.items()
    )
    alt = f"Average ranks, {evidence.study.title}, {evidence.source}. {text}."
    return draw(f"{evidence.name}-{kind}", alt, paint_all, width=_WIDTH, height=height)


def _describe(row: dict[Any, Any]) -> str:
    text = f"{row['method']} {row['rank']:.2f} ({row['low']:.2f} to {row['high']:.2f})"
    if pd.notna(row["paper"]):
        text += f", in the paper {row['paper']:.2f}"
    return text
