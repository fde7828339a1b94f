"""The critical-difference diagram: average ranks and groups without a difference.

Demsar (2006), Figure 1(b): methods hang from an axis of ranks, the best on the left; a
bar joins methods that do not differ significantly.
"""

from collections.abc import Sequence
from math import ceil, floor
from typing import TYPE_CHECKING

import pandas as pd

from modernnca.lab.report.figures import ACCENT, INK, MUTED, Figure, draw, truncate

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

_WIDTH, _ROW = 9.0, 0.235  # inches: width of the figure, height of a line of text


def stack_bars(spans: Sequence[tuple[float, float]], gap: float) -> list[int]:
    """Return the line of each bar, so that bars of one line do not touch.

    >>> stack_bars([(1, 3), (2, 4), (5, 6)], gap=0.1)
    [0, 1, 0]
    """
    ends: list[float] = []
    lines = []
    for low, high in spans:
        line = next((i for i, end in enumerate(ends) if end + gap < low), len(ends))
        ends[line : line + 1] = [high]
        lines.append(line)
    return lines


def critical_difference(
    ranks: pd.DataFrame, cliques: Sequence[Sequence[str]], *, group: str, hero: str
) -> Figure:
    """Draw average ranks (columns method, rank) and the cliques among them."""
    rank = dict(zip(ranks["method"], ranks["rank"], strict=True))
    order = sorted(rank, key=lambda method: (rank[method], method))
    low, high = floor(min(rank.values())), ceil(max(rank.values()))
    high = max(high, low + 1)
    bars = [sorted(rank[method] for method in clique) for clique in cliques]
    spans = sorted((bar[0], bar[-1]) for bar in bars if len(bar) > 1)
    lines = stack_bars(spans, gap=(high - low) / 60)
    n_left = ceil(len(order) / 2)
    top = 1.0 + 0.45 * (max(lines, default=-1) + 1)  # rows above the first name
    n_rows = top + n_left + 0.6

    names = {method: truncate(method, 30) for method in order}
    margin = max(1.6, 0.5 + 0.085 * max(map(len, names.values())))  # inches, for names
    padding = margin / (_WIDTH - 2 * margin) * (high - low)

    def paint(canvas: "Canvas") -> dict[str, str]:
        axes = canvas.add_axes((0, 0, 1, 1))
        axes.set_axis_off()
        axes.set_xlim(low - padding, high + padding)
        axes.set_ylim(n_rows, -1.4)
        axes.plot([low, high], [0, 0], color=INK, linewidth=1)
        for tick in range(low, high + 1, max(1, ceil((high - low) / 14))):
            axes.plot([tick, tick], [0, -0.22], color=INK, linewidth=1)
            axes.text(tick, -0.4, str(tick), ha="center", va="bottom", color=MUTED)
        titles = {}
        for index, method in enumerate(order):
            left, is_hero, value = index < n_left, method == hero, rank[method]
            row = top + (index if left else len(order) - 1 - index)
            edge = low if left else high
            axes.plot(
                *([value, value, edge], [0, row, row]),
                color=ACCENT if is_hero else MUTED,
                linewidth=1.6 if is_hero else 0.7,
                solid_joinstyle="miter",
            )
            parts = (names[method], f"{value:.2f}")
            text = axes.annotate(
                "  ".join(parts if left else reversed(parts)),
                (edge, row),
                xytext=(-4 if left else 4, 0),
                textcoords="offset points",
                ha="right" if left else "left",
                va="center",
                color=ACCENT if is_hero else INK,
                fontweight="bold" if is_hero else "normal",
            )
            text.set_gid(f"method-{index}")
            titles[f"method-{index}"] = f"{method}: average rank {value:.3f}"
        overhang = 0.004 * (high - low)
        for (start, end), line in zip(spans, lines, strict=True):
            axes.plot(
                *([start - overhang, end + overhang], [0.55 + 0.45 * line] * 2),
                color=INK,
                linewidth=3.4,
                solid_capstyle="butt",
            )
        return titles

    listed = ", ".join(f"{method} {rank[method]:.2f}" for method in order)
    alt = f"Critical-difference diagram, {group}. Average ranks, best first: {listed}."
    height = (n_rows + 1.4) * _ROW
    return draw(f"critical-{group}", alt, paint, width=_WIDTH, height=height)
