"""Bar chart of the hero's wins, ties and losses against each method."""

from typing import TYPE_CHECKING, Any

import pandas as pd

from modernnca.lab.report.figures import (
    ACCENT,
    INK,
    LINE,
    MUTED,
    ON_ACCENT,
    Figure,
    draw,
    truncate,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

_COLORS = {"win": ACCENT, "tie": LINE, "lose": MUTED}


def outcome_bars(outcomes: pd.DataFrame, *, group: str, hero: str) -> Figure:
    """Draw the columns opponent, win, tie, lose and n, the first row on top."""
    rows = outcomes[outcomes["n"] > 0].to_dict("records")

    def paint(canvas: "Canvas") -> dict[str, str]:
        axes = canvas.add_axes((0.2, 0.1 / height, 0.77, 1 - 0.5 / height))
        titles = {}
        for y, row in enumerate(rows):
            start = 0.0
            for outcome, color in _COLORS.items():
                share = row[outcome] / row["n"]
                part = axes.barh([y], [share], left=start, color=color, height=0.72)[0]
                part.set_gid(f"{outcome}-{y}")
                titles[f"{outcome}-{y}"] = _describe(row, hero)
                if share > 0.05:
                    color = INK if outcome == "tie" else ON_ACCENT
                    style: dict[str, Any] = {"ha": "center", "va": "center"}
                    style |= {"size": 7.5, "color": color}
                    axes.text(start + share / 2, y, f"{share:.2f}", **style)
                start += share
        axes.set_xlim(0, 1)
        axes.set_ylim(len(rows) - 0.4, -0.6)
        axes.set_yticks(
            range(len(rows)), [truncate(row["opponent"], 24) for row in rows], color=INK
        )
        axes.xaxis.tick_top()
        axes.set_xticks([0, 0.5, 1], [f"{hero} wins", "ties", "loses"], color=MUTED)
        first, _, last = axes.get_xticklabels()
        first.set_horizontalalignment("left")
        last.set_horizontalalignment("right")
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
        return titles

    height = 0.6 + 0.235 * len(rows)
    text = "; ".join(_describe(row, hero) for row in rows)
    alt = f"Wins, ties and losses of {hero} by t-test, {group}. {text}."
    return draw(f"outcomes-{group}", alt, paint, width=9, height=height)


def _describe(row: dict, hero: str) -> str:
    win, tie, lose = (f"{row[name] / row['n']:.2f}" for name in _COLORS)
    return f"against {row['opponent']} {hero} wins {win}, ties {tie}, loses {lose}"
