"""Draw a map with matplotlib."""

from typing import Any

import numpy as np

from modernnca.evidence.map_colors import MISSING, PALETTE, levels_of
from modernnca.evidence.map_view import Map


def draw(of: Map, ax: Any) -> Any:
    """Draw points, new rows and prototypes on matplotlib's axes."""
    size = float(np.clip(4000 / len(of.coordinates), 3, 25))
    if of.continuous:
        drawn = ax.scatter(
            *of.coordinates.T, c=of.colors, s=size, cmap="viridis", plotnonfinite=True
        )
        ax.figure.colorbar(drawn, ax=ax, label=of.title)
    else:
        levels, codes = levels_of(of.colors)
        for code, level in enumerate(levels):
            some = of.coordinates[codes == code]
            color = PALETTE[code % len(PALETTE)][0]
            ax.scatter(*some.T, s=size, color=color, label=level)
        rest = of.coordinates[codes < 0]
        if len(rest):
            ax.scatter(*rest.T, s=size, color=MISSING[0], label="missing")
    if len(of.new):
        ink = ax.title.get_color()  # black on white, white on black
        ax.scatter(*of.new.T, s=30, facecolor="none", edgecolor=ink, label="new rows")
    place = {row: i for i, row in enumerate(of.rows.tolist())}
    for number, row in enumerate(of.prototypes.tolist(), start=1):
        xy = of.coordinates[place[row]]
        ax.scatter(*xy, s=110, color="white", edgecolor="black", zorder=3)
        style = {"ha": "center", "va": "center", "fontsize": 7, "color": "black"}
        ax.annotate(str(number), xy, zorder=4, **style)
    if not of.continuous or len(of.new):
        ax.legend(title=None if of.continuous else of.title, fontsize=8)
    told = "\n".join(f"{number}  {name}" for number, name in enumerate(of.names, 1))
    ax.set(xticks=[], yticks=[], title=repr(of))
    ax.set_xlabel(told, fontsize=8, loc="left")
    return ax
