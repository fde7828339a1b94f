"""The interactive page of a map: a canvas, a legend, and a row under the pointer."""

import hashlib
import json
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from modernnca.evidence.map_colors import MISSING, PALETTE, SCALE, levels_of
from modernnca.evidence.map_view import Map
from modernnca.evidence.pages import heading, paragraph, shown

MAX_SHOWN = 5000  # remembered rows, and as many new ones
MAP_STYLE = """
.mnca .map { position: relative; border: 1px solid var(--line); border-radius: 8px;
  background: var(--panel); overflow: hidden; touch-action: pan-y; }
.mnca canvas { display: block; width: 100%; height: min(70vh, 34rem); }
.mnca .tip { position: absolute; pointer-events: none; visibility: hidden; top: 0;
  left: 0; background: var(--paper); color: var(--ink); border: 1px solid var(--line);
  border-radius: 6px; padding: .4rem .6rem; font-size: .82rem; line-height: 1.35;
  max-width: 16rem; overflow-wrap: anywhere; white-space: pre-line; }
.mnca .legend { display: flex; flex-wrap: wrap; gap: .2rem 1rem; margin: .6rem 0;
  font-size: .88rem; align-items: center; }
.mnca .swatch { display: inline-block; width: .8em; height: .8em; border-radius: 50%;
  margin-right: .4em; background: var(--on-light); vertical-align: -1px; }
@media (prefers-color-scheme: dark) { .mnca .swatch { background: var(--on-dark); } }
.mnca .swatch.ring { background: none; border: 2px solid var(--ink); }
.mnca .scale { display: inline-block; width: 9rem; height: .8em; border-radius: 3px;
  background: var(--on-light); }
@media (prefers-color-scheme: dark) { .mnca .scale { background: var(--on-dark); } }
.mnca ol { padding-left: 1.8rem; font-size: .9rem; columns: 18rem; column-gap: 2.5rem;
  margin: .4rem 0; }
"""


def map_body(of: Map) -> str:
    """The page, without its frame and styles."""
    kept = _kept(of)
    data = _data(of, kept)
    text = json.dumps(data, ensure_ascii=True, separators=(",", ":"))
    text = text.replace("<", "\\u003c")  # no cell can end the script
    place = "map-" + hashlib.sha256(text.encode()).hexdigest()[:12]
    script = (Path(__file__).parent / "static" / "map.js").read_text()
    told = "Axes have no unit: rows are near each other that are alike to the model."
    if len(kept) < len(of.coordinates):
        told += f" Shown are {len(kept):,} of {len(of.coordinates):,} rows."
    label = f"{of!r}. {len(of.prototypes)} prototypes are listed below."
    return (
        heading(f"Map of {len(of.coordinates):,} rows", 1)
        + paragraph(f"By {of.method}. {told} Point at a row to see it.", muted=True)
        + _legend(of)
        + f'<div class="map" id="{place}"><canvas role="img" aria-label='
        f'"{escape(label)}"></canvas><div class="tip"></div></div>\n'
        + _prototypes(of)
        + f"<script>(function () {{\nconst data = {text};\n"
        f'const root = document.getElementById("{place}");\n{script}}})();</script>\n'
    )


def _kept(of: Map) -> np.ndarray:
    """The rows that are shown: all, or a sample and the prototypes."""
    n_rows = len(of.coordinates)
    if n_rows <= MAX_SHOWN:
        return np.arange(n_rows)
    some = np.random.RandomState(0).permutation(n_rows)[:MAX_SHOWN]
    return np.union1d(some, np.flatnonzero(np.isin(of.rows, of.prototypes)))


def _data(of: Map, kept: np.ndarray) -> dict[str, Any]:
    n_rows, n_new = len(of.coordinates), min(len(of.new), MAX_SHOWN)
    points = np.concatenate([of.coordinates[kept], of.new[:n_new]])
    low, high = points.min(0), points.max(0)
    points = (points - low) / np.where(high > low, high - low, 1)
    lines = np.concatenate([kept, n_rows + np.arange(n_new)])
    names = [f"row {row}" for row in of.rows[kept]]
    names += [f"new row {row}" for row in range(n_new)]
    place = {row: i for i, row in enumerate(of.rows[kept].tolist())}
    cells = {
        name: [_cell(value) for value in held[lines].tolist()]
        for name, held in of.cells.items()
    }
    return {
        "x": points[:, 0].round(4).tolist(),
        "y": points[:, 1].round(4).tolist(),
        "c": _codes(of, kept, n_new),
        "n": len(kept),
        "names": names,
        "cells": cells,
        "prototypes": [place[row] for row in of.prototypes.tolist()],
        "palette": SCALE if of.continuous else PALETTE,
        "ranged": of.continuous,
        "missing": MISSING,
    }


def _cell(value: Any) -> str:
    if value is None or value != value:
        return "missing"
    return str(value) if isinstance(value, bool) else shown(value)


def _codes(of: Map, kept: np.ndarray, n_new: int) -> list[float]:
    """The color of each point: a share of the scale, or a place in the palette."""
    colors = np.concatenate([of.colors[kept], of.new_colors[:n_new]])
    if of.continuous:
        low, high = _range(of)
        shares = ((colors - low) / (high - low or 1)).clip(0, 1).round(3)
        return [-1 if share != share else float(share) for share in shares]
    levels, _ = levels_of(of.colors)
    code = {level: place for place, level in enumerate(levels)}
    last = len(levels) - 1
    return [-1 if c is None else code.get(str(c), last) for c in colors.tolist()]


def _range(of: Map) -> tuple[float, float]:
    """From the first to the 99th percentile: a few extremes would hide the others."""
    finite = of.colors[np.isfinite(of.colors)]
    if not len(finite):
        return 0.0, 1.0
    low, high = np.quantile(finite, [0.01, 0.99])
    return float(low), float(high)


def _legend(of: Map) -> str:
    parts = [f"<strong>{escape(of.title)}</strong>"]
    if of.continuous:
        low, high = _range(of)
        low = low if abs(low) > 1e-3 * abs(high) else 0.0
        light, dark = (", ".join(pair[side] for pair in SCALE) for side in (0, 1))
        parts.append(
            f'<span>{escape(shown(low))} <span class="scale" style="--on-light: '
            f"linear-gradient(90deg, {light}); --on-dark: "
            f'linear-gradient(90deg, {dark})"></span> {escape(shown(high))}</span>'
        )
        gaps = bool((~np.isfinite(of.colors)).any())
    else:
        levels, codes = levels_of(of.colors)
        for place, level in enumerate(levels):
            parts.append(_swatch(PALETTE[place % len(PALETTE)], level))
        gaps = bool((codes < 0).any())
    if gaps:
        parts.append(_swatch(MISSING, "missing"))
    if len(of.new):
        parts.append('<span><span class="swatch ring"></span>new rows</span>')
    return f'<div class="legend">{"".join(parts)}</div>\n'


def _swatch(pair: tuple[str, str], text: str) -> str:
    light, dark = pair
    return (
        f'<span><span class="swatch" style="--on-light: {light}; --on-dark: {dark}">'
        f"</span>{escape(text)}</span>"
    )


def _prototypes(of: Map) -> str:
    each = "".join(
        f"<li>row {row}: {escape(name)}</li>"
        for row, name in zip(of.prototypes.tolist(), of.names, strict=True)
    )
    text = "The rows in the middle of each cluster, and what sets it apart."
    return f"{heading('Prototypes')}{paragraph(text, muted=True)}<ol>{each}</ol>\n"
