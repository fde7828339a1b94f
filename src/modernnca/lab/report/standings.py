"""Where variants stand: average ranks here, with intervals, beside the paper's."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pandas as pd

from modernnca.lab.report.figures import ACCENT, INK, LINE, MUTED, Figure, draw, short
from modernnca.lab.report.study_evidence import Evidence

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

_WIDTH = 9.0
Paint = Callable[[Any, pd.DataFrame, str], dict[str, str]]


def rank_plot(evidence: Evidence) -> Figure:
    """One line for each variant: a dot and its interval here, a ring in the paper."""
    n_rows = max(map(len, evidence.standings.values()))

    def paint(axes: Any, standing: pd.DataFrame, group: str) -> dict[str, str]:
        titles = {}
        for y, row in enumerate(standing.to_dict("records")):
            part = f"{group}-{y}"
            axes.plot([row["low"], row["high"]], [y, y], color=ACCENT, linewidth=1.4)
            dot = axes.scatter([row["rank"]], [y], color=ACCENT, s=30, zorder=3)
            dot.set_gid(part)
            titles[part] = _in_words(row)
            if row["paper"] == row["paper"]:
                at = ([row["paper"]], [y])
                ring = {"facecolor": "none", "edgecolor": INK, "zorder": 4}
                axes.scatter(*at, s=56, linewidth=1.3, **ring)
        axes.set_ylim(n_rows - 0.4, -0.6)
        names = [short(label, 26) for label in standing["method"]]
        axes.set_yticks(range(len(standing)), names, color=INK)
        axes.grid(axis="x", color=LINE, linewidth=0.6)
        axes.set_xlabel("average rank (left: better)")
        return titles

    return _side_by_side(evidence, "ranks", paint, height=0.95 + 0.27 * n_rows)


def rank_curve(evidence: Evidence) -> Figure:
    """A curve over the variants in their order, with a band; dashed, the paper's."""

    def paint(axes: Any, standing: pd.DataFrame, group: str) -> dict[str, str]:
        places = list(range(len(standing)))
        ends = (standing["low"].astype(float), standing["high"].astype(float))
        axes.fill_between(places, *ends, color=ACCENT, alpha=0.14, linewidth=0)
        axes.plot(places, standing["rank"], color=ACCENT, linewidth=1.6)
        if standing["paper"].notna().any():
            dashes = {"linestyle": (0, (4, 3)), "marker": "o", "markersize": 6}
            ring = {"markerfacecolor": "none", "markeredgecolor": INK}
            axes.plot(places, standing["paper"], color=INK, lw=1, **dashes, **ring)
        titles = {}
        for x, row in enumerate(standing.to_dict("records")):
            dot = axes.scatter([x], [row["rank"]], color=ACCENT, s=30, zorder=3)
            dot.set_gid(f"{group}-{x}")
            titles[f"{group}-{x}"] = _in_words(row)
        axes.set_xticks(places, list(standing["method"]), color=INK)
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
    names = 0.5 if kind == "curve" else 0.35 + 0.075 * min(longest, 26)  # inches

    def paint_all(canvas: "Canvas") -> dict[str, str]:
        titles: dict[str, str] = {}
        each = _WIDTH / len(standings)
        for place, (group, standing) in enumerate(standings.items()):
            left, width = place * each + names + 0.1, each - names - 0.25
            axes = canvas.add_axes(
                (
                    left / _WIDTH,
                    0.5 / height,
                    width / _WIDTH,
                    (height - 0.85) / height,
                )
            )
            n_tables = int(standing["n"].max())
            title = f"{group}, {n_tables} table{'s' * (n_tables != 1)}"
            axes.set_title(title, loc="left", color=MUTED, size=9)
            axes.tick_params(length=0)
            axes.set_axisbelow(True)
            for side in ("left", "bottom"):
                axes.spines[side].set_visible(False)
            titles |= paint(axes, standing, group)
        return titles

    said = ". ".join(
        f"{group.capitalize()}: "
        + "; ".join(map(_in_words, standing.to_dict("records")))
        for group, standing in standings.items()
    )
    alt = f"Average ranks, {evidence.study.title}, {evidence.source}. {said}."
    return draw(f"{evidence.name}-{kind}", alt, paint_all, width=_WIDTH, height=height)


def _in_words(row: dict[Any, Any]) -> str:
    said = f"{row['method']} {row['rank']:.2f} ({row['low']:.2f} to {row['high']:.2f})"
    return said + (
        f", in the paper {row['paper']:.2f}" if row["paper"] == row["paper"] else ""
    )
