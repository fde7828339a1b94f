"""Pages: parts of self-contained HTML in light and dark, readable at phone width.

Every text is escaped. A part can stand in a notebook: its styles apply to itself alone.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from html import escape
from typing import Any

import numpy as np

STYLE = """
.mnca { --paper: #fbfaf7; --panel: #ffffff; --ink: #1c1e21; --muted: #5f636b;
  --line: #dcd9d3; --accent: #0e6a8c; --other: #b3541a; color-scheme: light;
  background: var(--paper); color: var(--ink); line-height: 1.5; text-align: left;
  font: 1rem/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif;
  font-variant-numeric: tabular-nums; padding: 1rem; border-radius: 8px; }
@media (prefers-color-scheme: dark) { .mnca { --paper: #15171a; --panel: #1c1f23;
  --ink: #e9e6df; --muted: #a3a7b0; --line: #3a3f47; --accent: #62bfe0;
  --other: #f0a163; color-scheme: dark; } }
.mnca *, .mnca { box-sizing: border-box; }
.mnca main { max-width: 64rem; margin: 0 auto; }
.mnca h1 { font-size: 1.7rem; line-height: 1.2; margin: .5rem 0 .3rem; }
.mnca h2 { font-size: 1.2rem; margin: 2.2rem 0 .4rem; }
.mnca p { max-width: 44rem; margin: .3rem 0 .7rem; overflow-wrap: anywhere; }
.mnca .muted, .mnca caption, .mnca figcaption { color: var(--muted); font-size: .9rem; }
.mnca .cards { display: grid; gap: 1px; margin: 1.2rem 0; border: 1px solid var(--line);
  grid-template-columns: repeat(auto-fit, minmax(8.5rem, 1fr));
  background: var(--panel); border-radius: 8px; overflow: hidden; }
.mnca .cards div { padding: .6rem .9rem; box-shadow: 0 0 0 1px var(--line); }
.mnca .cards dt { color: var(--muted); font-size: .85rem; }
.mnca .cards dd { margin: 0; font-size: 1.5rem; }
.mnca .scroll { overflow-x: auto; border: 1px solid var(--line); border-radius: 8px;
  background: var(--panel); max-height: 30rem; overflow-y: auto; }
.mnca table { border-collapse: collapse; width: 100%; font-size: .88rem; margin: 0; }
.mnca caption { text-align: left; padding: .4rem .7rem; }
.mnca th, .mnca td { padding: .3rem .7rem; text-align: left; vertical-align: top;
  border-top: 1px solid var(--line); background: var(--panel); color: var(--ink); }
.mnca td { max-width: 22rem; overflow-wrap: break-word; }
.mnca td.long { min-width: 12rem; }
.mnca th { position: sticky; top: 0; font-weight: 600; white-space: nowrap; }
.mnca .number { text-align: right; white-space: nowrap; }
.mnca figure { margin: .8rem 0; }
.mnca svg { display: block; width: 100%; height: auto; max-width: 32rem; }
.mnca svg text { fill: var(--muted); font: 12px system-ui, sans-serif; }
.mnca .bar { fill: var(--accent); } .mnca .hot { fill: var(--other); }
.mnca .axis { stroke: var(--line); stroke-width: 1; }
.mnca .key::before { content: ""; display: inline-block; width: .7em; height: .7em;
  margin-right: .3em; background: var(--accent); }
.mnca .key.hot::before { background: var(--other); }
"""
_N_BINS = 30
_LONG = 20  # letters in a cell that is given room


def page(title: str, body: str) -> str:
    """A whole page around a part."""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title>"
        "<style>body { margin: 0; background: #fbfaf7; } "
        "@media (prefers-color-scheme: dark) { body { background: #15171a; } }"
        f"</style></head>\n<body>\n{body}\n</body></html>\n"
    )


def part(body: str, *, style: str = "") -> str:
    """A part with its styles, for a page or a notebook."""
    return f'<style>{STYLE}{style}</style>\n<div class="mnca"><main>{body}</main></div>'


def heading(text: str, level: int = 2) -> str:
    """A heading."""
    return f"<h{level}>{escape(text)}</h{level}>\n"


def paragraph(text: str, *, muted: bool = False) -> str:
    """A paragraph."""
    return f"<p{' class=muted' if muted else ''}>{escape(text)}</p>\n"


def cards(facts: Iterable[tuple[str, str]]) -> str:
    """A few large figures."""
    each = (f"<div><dt>{escape(k)}</dt><dd>{escape(v)}</dd></div>" for k, v in facts)
    return f'<dl class="cards">{"".join(each)}</dl>\n'


def shown(value: Any) -> str:
    """A value as a person reads it.

    >>> shown(0.123456), shown(1234.5), shown(1234567), shown(float("nan"))
    ('0.123', '1,234', '1,234,567', '')
    """
    if isinstance(value, bool | np.bool_):
        return "yes" if value else ""
    if isinstance(value, int | np.integer):
        return f"{value:,}"
    if not isinstance(value, float | np.floating):
        return str(value)
    number = float(value)
    if math.isnan(number):
        return ""
    return f"{number:,.0f}" if 1e3 <= abs(number) < 1e12 else f"{number:.3g}"


def table(
    names: Sequence[str], lines: Sequence[Sequence[Any]], *, caption: str = ""
) -> str:
    """A table that scrolls by itself where it is wide or long."""

    def cell(value: Any) -> str:
        text = shown(value)
        long = " class=long" if len(text) > _LONG else ""
        kind = " class=number" if _is_number(value) else long
        return f"<td{kind}>{escape(text)}</td>"

    first = lines[0] if lines else [""] * len(names)
    head = "".join(
        f'<th scope="col"{" class=number" if _is_number(value) else ""}>'
        f"{escape(name)}</th>"
        for name, value in zip(names, first, strict=True)
    )
    body = "".join(f"<tr>{''.join(map(cell, line))}</tr>\n" for line in lines)
    told = f"<caption>{escape(caption)}</caption>" if caption else ""
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label='
        f'"{escape(caption or names[0])}"><table>{told}<thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>\n"
    )


def _is_number(value: Any) -> bool:
    number = isinstance(value, int | float | np.number)
    return number and not isinstance(value, bool | np.bool_)


def histogram(
    values: np.ndarray,
    hot: np.ndarray,
    *,
    unit: str,
    label: str,
    names: tuple[str, str],
    told: Callable[[float], str] = "{:.3g}".format,
) -> str:
    """How values are distributed, some of them in another color, as an SVG figure.

    Heights are square roots of counts, so that few rows are seen beside many.
    """
    width, height, base, left = 400, 170, 130, 4
    low, high = float(values.min()), float(values.max())
    high = high if high > low else low + 1.0
    edges = np.linspace(low, high, _N_BINS + 1)
    counts = np.histogram(values, edges)[0]
    hots = np.histogram(values[hot], edges)[0]
    tallest = max(1, counts.max()) ** 0.5
    step, bars = (width - 2 * left) / _N_BINS, []
    for place, (n, n_hot) in enumerate(zip(counts, hots, strict=True)):
        x, tip = (
            left + place * step,
            f"{told(edges[place])} to {told(edges[place + 1])}",
        )
        for count, kind in ((n, "bar"), (n_hot, "hot")):
            if count:
                tall = max(1.5, count**0.5 / tallest * (base - 20))
                bars.append(
                    f'<rect class="{kind}" x="{x:.1f}" y="{base - tall:.1f}" '
                    f'width="{step - 1:.1f}" height="{tall:.1f}">'
                    f"<title>{tip}: {count:,} rows</title></rect>"
                )
    ticks = "".join(
        f'<text x="{left + share * (width - 2 * left):.0f}" y="{base + 16}" '
        f'text-anchor="{anchor}">{told(low + share * (high - low))}</text>'
        for share, anchor in ((0, "start"), (0.5, "middle"), (1, "end"))
    )
    first, second = map(escape, names)
    return (
        f'<figure><svg role="img" aria-label="{escape(label)}" '
        f'viewBox="0 0 {width} {height}">{"".join(bars)}<line class="axis" x1="0" '
        f'x2="{width}" y1="{base}" y2="{base}"/>{ticks}'
        f'<text x="{width / 2}" y="{base + 34}" text-anchor="middle">{escape(unit)}'
        f'</text></svg><figcaption><span class="key">{first}</span> &ensp;'
        f'<span class="key hot">{second}</span> &ensp;Heights are square roots of '
        "counts.</figcaption></figure>\n"
    )


def bars(lines: Sequence[tuple[str, float, bool]], *, label: str, unit: str) -> str:
    """Values from 0 to 1, each beside its name, some of them in another color."""
    width, tall, start = 400, 22, 150
    parts = []
    for place, (name, value, hot) in enumerate(lines):
        y, long = place * tall, max(1.0, value * (width - start - 45))
        told = name if len(name) <= 22 else name[:21] + "…"
        kind = "hot" if hot else "bar"
        parts.append(
            f'<text x="{start - 8}" y="{y + 15}" text-anchor="end">{escape(told)}'
            f'<title>{escape(name)}</title></text><rect class="{kind}"'
            f' x="{start}" y="{y + 4}" width="{long:.1f}" height="{tall - 8}"/>'
            f'<text x="{start + long + 6:.1f}" y="{y + 15}">{value:.2f}</text>'
        )
    return (
        f'<figure><svg role="img" aria-label="{escape(label)}" viewBox="0 0 {width} '
        f'{len(lines) * tall + 4}">{"".join(parts)}</svg>'
        f"<figcaption>{escape(unit)}</figcaption></figure>\n"
    )
