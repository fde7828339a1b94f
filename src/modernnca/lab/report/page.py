"""Render the contents as one self-contained HTML page."""

from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

import numpy as np
import pandas as pd

from modernnca.errors import MissingExtraError
from modernnca.lab.report.contents import Contents, column_order
from modernnca.lab.report.formats import significant
from modernnca.lab.report.heat_maps import STEPS, gap_step, gaps_to_best
from modernnca.lab.report.score_tables import Properties

GROUP_NAMES = {
    "all": "All datasets",
    "classification": "Classification",
    "regression": "Regression",
}


def render(contents: Contents) -> str:
    """Render the page of a benchmark."""
    methods = column_order(contents.scores, contents.parts)
    grid = heat_map_cells(contents.scores, methods, contents.properties)
    return render_template("page.html", contents, grid=grid)


def render_template(template: str, contents: Any, **more: Any) -> str:
    """Render a template, which escapes all text from data."""
    try:
        from jinja2 import DictLoader, Environment, StrictUndefined
    except ImportError as error:
        raise MissingExtraError(
            'The page needs jinja2: pip install "modernnca[bench]"'
        ) from error
    static = files("modernnca.lab.report") / "static"
    names = ("page.html", "studies.html", "parts.html", "page.css", "page.js")
    texts = {name: (static / name).read_text(encoding="utf-8") for name in names}
    environment = Environment(
        loader=DictLoader(texts),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "number": _sort_value,
        "facts": _format_fact,
        "steps": _rate_step,
    }
    return environment.get_template(template).render(
        contents=contents,
        style=texts["page.css"],
        script=texts["page.js"],
        group_names=GROUP_NAMES,
        legend=_legend(),
        **more,
    )


def _sort_value(value: Any) -> str:
    """Format a number for the script to sort by; empty if missing."""
    return "" if pd.isna(value) else f"{float(value):.9g}"


def _rate_step(rate: float) -> int:
    """Round a share to tenths, 0 to 10."""
    return round(10 * rate)


def _format_fact(value: Any) -> str:
    if isinstance(value, Mapping):
        return "\n".join(f"{name}: {_format_fact(v)}" for name, v in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(_format_fact(inner) for inner in value)
    return str(value)


def _format_score(value: float, higher: bool) -> str:
    """Format a score for a small cell: accuracy in percent, others in three digits."""
    if higher:
        return f"{100 * value:.1f}"
    for unit, size in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if 1e12 > abs(value) >= size:
            return f"{value / size:#.3g}".rstrip(".") + unit
    if 0 < abs(value) < 1e-3:
        return f"{value:.0e}".replace("e-0", "e-")
    return f"{value:#.3g}".rstrip(".")


def heat_map_cells(
    scores: pd.DataFrame, methods: Sequence[str], properties: Properties
) -> dict[str, Any]:
    """Return the scores as cells of a heat map: datasets x methods."""
    if not scores["mean"].notna().any():
        return {"methods": [], "rows": []}
    gap = gaps_to_best(scores)
    score = {(row["dataset"], row["method"]): row for row in scores.to_dict("records")}
    rows = [
        {
            "dataset": dataset,
            **properties[dataset],
            "cells": [
                _cell(method, score.get((dataset, method)), gap.at[dataset, method])
                for method in methods
            ],
        }
        for dataset in gap.index
    ]
    return {"methods": methods, "rows": rows}


def _cell(method: str, row: dict[str, Any] | None, gap: float) -> dict[str, Any]:
    if row is None:
        return {
            "kind": "none",
            "text": "",
            "title": f"{method}: not run",
            "value": None,
        }
    if np.isnan(gap):
        title = f"{method}: no score"
        return {"kind": "fail", "text": "\u00d7", "title": title, "value": np.nan}
    std = f" ± {significant(row['std'])}" if not pd.isna(row["std"]) else ""
    unit = "points" if row["higher"] else "%"
    distance = "the best" if gap <= 0 else f"{gap:.3g} {unit} from the best"
    title = f"{method}: {significant(row['mean'])}{std}, {distance}"
    text = _format_score(row["mean"], bool(row["higher"]))
    return {"kind": f"g{gap_step(gap)}", "text": text, "title": title, "value": gap}


def _legend() -> list[tuple[str, str]]:
    labels = ["best", *(f"≤ {limit:g}" for limit in STEPS[1:]), f"> {STEPS[-1]:g}"]
    return [(f"g{step}", label) for step, label in enumerate(labels)]
