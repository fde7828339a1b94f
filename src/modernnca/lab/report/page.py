"""The page: contents to one HTML file that needs nothing else."""

from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

import numpy as np
import pandas as pd

from modernnca.errors import MissingExtraError
from modernnca.lab.report.contents import Contents, column_order
from modernnca.lab.report.formats import significant
from modernnca.lab.report.grids import STEPS, gaps, step
from modernnca.lab.report.score_tables import Properties

GROUP_NAMES = {
    "all": "All tables",
    "classification": "Classification",
    "regression": "Regression",
}


def render(contents: Contents) -> str:
    """The page of a benchmark."""
    methods = column_order(contents.scores, contents.parts)
    grid = lay_out(contents.scores, methods, contents.properties)
    return fill("page.html", contents, grid=grid)


def fill(template: str, contents: Any, **more: Any) -> str:
    """Fill a template; all text from data is escaped there."""
    try:
        from jinja2 import DictLoader, Environment, StrictUndefined
    except ImportError as error:
        raise MissingExtraError(
            'The page needs jinja2; install it with: pip install "modernnca[bench]"'
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
    environment.filters |= {"number": _number, "facts": _fact, "steps": _rate_step}
    return environment.get_template(template).render(
        contents=contents,
        style=texts["page.css"],
        script=texts["page.js"],
        group_names=GROUP_NAMES,
        legend=_legend(),
        **more,
    )


def _number(value: Any) -> str:
    """Write a number for the script to sort by; nothing where there is none."""
    return "" if pd.isna(value) else f"{float(value):.9g}"


def _rate_step(rate: float) -> int:
    """Return the tenth that a share falls into, 0 to 10."""
    return round(10 * rate)


def _fact(value: Any) -> str:
    if isinstance(value, Mapping):
        return "\n".join(f"{name}: {_fact(inner)}" for name, inner in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(_fact(inner) for inner in value)
    return str(value)


def _short(value: float, higher: bool) -> str:
    """Write a score into a small cell: accuracy in percent, others in three digits."""
    if higher:
        return f"{100 * value:.1f}"
    for unit, size in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if 1e12 > abs(value) >= size:
            return f"{value / size:#.3g}".rstrip(".") + unit
    if 0 < abs(value) < 1e-3:
        return f"{value:.0e}".replace("e-0", "e-")
    return f"{value:#.3g}".rstrip(".")


def lay_out(
    scores: pd.DataFrame, methods: Sequence[str], properties: Properties
) -> dict[str, Any]:
    """Lay the scores out as cells of a heat map: datasets x methods."""
    if not scores["mean"].notna().any():
        return {"methods": [], "rows": []}
    gap = gaps(scores)
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
    spread = f" ± {significant(row['std'])}" if not pd.isna(row["std"]) else ""
    unit = "points" if row["higher"] else "%"
    behind = "the best" if gap <= 0 else f"{gap:.3g} {unit} from the best"
    title = f"{method}: {significant(row['mean'])}{spread}, {behind}"
    text = _short(row["mean"], bool(row["higher"]))
    return {"kind": f"g{step(gap)}", "text": text, "title": title, "value": gap}


def _legend() -> list[tuple[str, str]]:
    words = ["best", *(f"≤ {limit:g}" for limit in STEPS[1:]), f"> {STEPS[-1]:g}"]
    return [(f"g{place}", word) for place, word in enumerate(words)]
