"""Draw figures in one style, each as SVG and PNG.

Matplotlib is imported when a figure is drawn. Colors are those of the light page; on a
page they follow its theme (see `Figure.inline`).
"""

import html
import io
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from modernnca.errors import MissingExtraError

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

INK, MUTED, LINE = "#1c1e21", "#6a6e76", "#dcd9d3"
ACCENT, ON_ACCENT = "#0e6a8c", "#fefefe"
_THEME = {INK: "--ink", MUTED: "--muted", LINE: "--line"} | {
    ACCENT: "--accent",
    ON_ACCENT: "--on-accent",
}


@dataclass(frozen=True)
class Figure:
    """A figure: its file name, alternative text, SVG, PNG and hover texts."""

    name: str
    alt: str
    svg: str
    png: bytes
    titles: dict[str, str] = field(default_factory=dict)

    def inline(self) -> str:
        """Return the SVG for a page: in its colors, with hover texts."""
        svg = self.svg[self.svg.index("<svg") :]
        svg = re.sub(r"<metadata>.*?</metadata>|<style.*?</style>", "", svg, flags=re.S)
        for part, title in self.titles.items():
            head = f'<g id="{part}">'
            svg = svg.replace(head, f"{head}<title>{html.escape(title)}</title>")
        for color, variable in _THEME.items():
            svg = svg.replace(color, f"var({variable})")
        # Make the IDs unique, since several figures share a page.
        svg = re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>{self.name}-", svg)
        label = html.escape(self.alt, quote=True)
        return svg.replace("<svg", f'<svg role="img" aria-label="{label}"', 1)


def truncate(name: str, max_length: int) -> str:
    """Shorten a name to `max_length` characters.

    >>> truncate("a very long name", 8)
    'a very …'
    """
    return name if len(name) <= max_length else f"{name[: max_length - 1]}…"


def draw(
    name: str,
    alt: str,
    paint: Callable[["Canvas"], dict[str, str] | None],
    *,
    width: float,
    height: float,
) -> Figure:
    """Call `paint` on a canvas of width x height inches, and return the figure.

    `paint` may return hover texts by the gid of their part.
    """
    try:
        import matplotlib
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure as Canvas
    except ImportError as error:
        raise MissingExtraError(
            'Figures need matplotlib: pip install "modernnca[bench]"'
        ) from error
    style: dict[Any, Any] = {
        "font.size": 9,
        "font.family": "sans-serif",
        "text.color": INK,
        "text.parse_math": False,  # a method may be named $x$
        "axes.facecolor": "none",
        "axes.edgecolor": LINE,
        "axes.labelcolor": MUTED,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "xtick.color": MUTED,
        "ytick.color": MUTED,
        "savefig.facecolor": "none",
        "svg.fonttype": "none",
        "svg.hashsalt": name,  # the same figure gives the same bytes
    }
    with matplotlib.rc_context(style), warnings.catch_warnings():
        # The font lacks the script of a name; the SVG shows it anyway.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        canvas = Canvas(figsize=(width, height))
        FigureCanvasAgg(canvas)  # measures text with any backend of the user
        titles = paint(canvas) or {}
        svg, png = io.StringIO(), io.BytesIO()
        canvas.savefig(svg, format="svg", metadata={"Date": None, "Creator": None})
        canvas.savefig(
            png, format="png", dpi=144, facecolor="white", metadata={"Software": None}
        )
    return Figure(name, alt, svg.getvalue(), png.getvalue(), titles)
