"""An explanation as HTML: self-contained, light and dark, readable on a phone."""

from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np

from modernnca.evidence.cell_texts import shorten, show_cell
from modernnca.evidence.explanation import Explanation

_N_COLUMNS = 6  # that are shown of a query or a neighbor
_ROUNDING = 1e-4  # of the largest distance: a part below it is shown as zero
_STYLE = """
.mnca{--ink:#1d2430;--soft:#5a6576;--line:#d9dee6;--card:#fff;--bar:#2f6fb3;
--track:#e8ecf2;--other:#b3541e;color:var(--ink);font:15px/1.45 system-ui,sans-serif;
max-width:46rem}
@media(prefers-color-scheme:dark){.mnca{--ink:#e6e9ef;--soft:#a3adbb;--line:#39424f;
--card:#1b2028;--bar:#6cabe8;--track:#2b323d;--other:#eb9a63}}
.mnca section{background:var(--card);border:1px solid var(--line);border-radius:10px;
padding:.8rem 1rem;margin:0 0 1rem}
.mnca h2{font-size:1.1rem;margin:0 0 .2rem;overflow-wrap:anywhere}
.mnca h3{font-size:.95rem;margin:1rem 0 .3rem}
.mnca p{margin:.2rem 0;color:var(--soft)}
.mnca details{border-top:1px solid var(--line)}
.mnca summary{padding:.35rem 0;cursor:pointer}
.mnca .row{display:inline-grid;width:calc(100% - 1.2rem);vertical-align:middle;
grid-template-columns:minmax(4.5rem,2fr) 3.4rem minmax(4rem,2fr) minmax(5rem,1.2fr);
gap:.2rem .6rem;align-items:center}
.mnca .row.head{margin-left:1.15rem}
.mnca .cell{display:grid;gap:.6rem;align-items:center;padding:.12rem 0;
grid-template-columns:minmax(6rem,2fr) minmax(5rem,2fr) 3.4rem}
.mnca .track{background:var(--track);border-radius:4px;height:.6rem;overflow:hidden}
.mnca .fill{background:var(--bar);height:100%;border-radius:4px}
.mnca .other .fill{background:var(--other)}
.mnca .fill.less{background:var(--soft)}
.mnca .head{color:var(--soft);font-size:.85rem}
.mnca .num{text-align:right;font-variant-numeric:tabular-nums}
.mnca .text{overflow-wrap:anywhere}
.mnca .inner{padding:.2rem 0 .6rem 1rem}
.mnca .value{color:var(--soft);font-size:.9rem}
.mnca .other summary{color:var(--other)}
"""
_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width,initial-scale=1">
<meta name="color-scheme" content="light dark"><title>Why these predictions</title>
<style>body{margin:0;padding:.8rem;background:Canvas}.mnca{margin:auto}</style></head>
<body>%s</body></html>
"""


def page_of(
    explanation: Explanation, n_queries: int, rows: Sequence[int] | None = None
) -> str:
    """A page of its own; `rows` are the numbers of the queries in their table."""
    return _PAGE % section_of(explanation, n_queries=n_queries, rows=rows)


def section_of(
    explanation: Explanation, *, n_queries: int, rows: Sequence[int] | None = None
) -> str:
    """The first queries, as a part of a page."""
    n_shown = min(n_queries, len(explanation))
    names = range(n_shown) if rows is None else rows
    parts = [_query(explanation, number, names[number]) for number in range(n_shown)]
    left = len(explanation) - n_shown
    more = f"<p>{left:,} more queries: see to_frame().</p>" if left else ""
    return f'<div class="mnca"><style>{_STYLE}</style>{"".join(parts)}{more}</div>'


def _query(explanation: Explanation, number: int, row: int) -> str:
    shares, rest = explanation.shares[number], explanation.rest[number]
    n_neighbors, effective = len(shares), explanation.n_effective[number]
    predicted = escape(show_cell(explanation.prediction[number]))
    return (
        f"<section><h2>Row {row} of the table: {predicted}</h2>"
        f"<p>The {n_neighbors:,} remembered rows below have {1 - rest:.0%} of the "
        f"vote. It is as concentrated as a vote of {effective:,.1f} equal rows.</p>"
        f"{_importances(explanation, number)}{_neighbors(explanation, number)}"
        f"{_counterfactuals(explanation, number)}</section>"
    )


def _importances(explanation: Explanation, number: int) -> str:
    if not explanation.has_rows:
        return (
            "<p>The model was saved without its rows, so columns and raw values are "
            "not shown.</p>"
        )
    importances = explanation.importances[number]
    lines = [
        _cell(
            explanation.column_names[place],
            show_cell(explanation.queries[explanation.column_names[place]][number]),
            f"{importances[place]:.0%}",
            importances[place] / max(importances.max(), 1e-300),
        )
        for place in _largest(importances)
        if importances[place] > 0
    ]
    if not lines:
        return "<h3>Columns</h3><p>No column tells the rows apart.</p>"
    head = (
        '<div class="cell head"><span>column and value</span>'
        '<span>makes its neighbors near</span><span class="num">part</span></div>'
    )
    return f"<h3>Columns</h3>{head}{''.join(lines)}"


def _neighbors(explanation: Explanation, number: int) -> str:
    head = (
        '<div class="row head"><span>share of the vote</span><span></span>'
        '<span>target</span><span class="num">distance</span></div>'
    )
    lines: list[str] = []
    largest = max(float(explanation.shares[number].max()), 1e-300)
    for place, share in enumerate(explanation.shares[number]):
        distance = explanation.distances[number, place]
        if not np.isfinite(distance):
            continue
        summary = (
            f'{_track(share / largest)}<span class="num">{share:.1%}</span>'
            f'<span class="text">{_text(explanation.targets[number, place])}</span>'
            f'<span class="num">{distance:.3g}</span>'
        )
        inner = _pair(
            explanation,
            number,
            explanation.indices[number, place],
            explanation.columns[number, place] if explanation.has_rows else None,
        )
        lines.append(
            f"<details{' open' if not lines else ''}><summary>"
            f'<span class="row">{summary}</span></summary>{inner}</details>'
        )
    return f"<h3>Neighbors</h3>{head}{''.join(lines)}"


def _counterfactuals(explanation: Explanation, number: int) -> str:
    if not explanation.has_rows:
        return ""
    found = explanation.counterfactuals
    lines: list[str] = []
    for place, index in enumerate(found.indices[number]):
        if index < 0:
            continue
        parts = found.columns[number, place]
        differs = np.flatnonzero(found.differs[number, place])
        names = [
            explanation.column_names[j] for j in differs[np.argsort(-parts[differs])]
        ]
        shown = ", ".join(map(shorten, names[:3])) + (", ..." if len(names) > 3 else "")
        target, distance = found.targets[number, place], found.distances[number, place]
        lines.append(
            f'<details class="other"><summary>{_text(target)}, at the distance '
            f"{distance:.3g}; differs in {escape(shown)}</summary>"
            f"{_pair(explanation, number, index, parts)}</details>"
        )
    if not lines:
        return "<h3>Nearest rows that disagree</h3><p>None does.</p>"
    return f"<h3>Nearest rows that disagree</h3>{''.join(lines)}"


def _pair(
    explanation: Explanation, number: int, index: Any, parts: np.ndarray | None
) -> str:
    """A remembered row beside the query, by column."""
    title = f'<p class="value">row {index} of the training table</p>'
    if parts is None:
        return f'<div class="inner">{title}</div>'
    cells = explanation.values(np.array([index]))
    lines: list[str] = []
    known = np.abs(explanation.distances[number])
    rounding = _ROUNDING * float(np.max(known, where=np.isfinite(known), initial=0.0))
    largest = max(float(np.abs(parts).max()), rounding, 1e-300)
    parts = np.where(np.abs(parts) > rounding, parts, 0.0)
    shown = _largest(np.abs(parts))
    for place in shown:
        name = explanation.column_names[place]
        own, other = explanation.queries[name][number], cells[name][0]
        own, other = show_cell(own), show_cell(other)
        values = own if own == other else f"{own} \N{RIGHTWARDS ARROW} {other}"
        part = parts[place]
        lines.append(_cell(name, values, f"{part:.2g}", part / largest))
    head = (
        '<div class="cell head"><span>column</span><span>this row '
        '\N{RIGHTWARDS ARROW} that row</span><span class="num">distance</span></div>'
    )
    less = "<p>In gray: columns that move the two rows toward each other.</p>"
    note = less if (parts[shown] < 0).any() else ""
    return f'<div class="inner">{title}{head}{"".join(lines)}{note}</div>'


def _cell(name: str, value: str, number: str, share: float) -> str:
    return (
        f'<div class="cell"><span class="text">{escape(shorten(name))}</span>'
        f'<span><span class="value text">{escape(value)}</span>{_track(share)}</span>'
        f'<span class="num">{number}</span></div>'
    )


def _track(share: float) -> str:
    """A bar as long as a share; in gray if it is below zero."""
    width = 100 * min(abs(float(share)), 1.0)
    less = " less" if share < 0 else ""
    return (
        '<div class="track" aria-hidden="true">'
        f'<div class="fill{less}" style="width:{width:.0f}%"></div></div>'
    )


def _text(cell: Any) -> str:
    return escape(show_cell(cell))


def _largest(values: np.ndarray) -> Sequence[int]:
    order: list[int] = np.argsort(-values, kind="stable")[:_N_COLUMNS].tolist()
    return order
