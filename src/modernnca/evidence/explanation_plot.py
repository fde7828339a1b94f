"""An explanation as a plot: the shares of the neighbors, and what made them near."""

from typing import Any

import numpy as np

from modernnca.errors import MissingExtraError
from modernnca.evidence.cell_texts import shorten, show_cell
from modernnca.evidence.explanation import Explanation

_N_COLUMNS = 6


def plot_query(explanation: Explanation, query: int, *, ax: Any = None) -> Any:
    """Bars of the shares of one query's neighbors, cut by the parts of the distance.

    A bar is as long as the share of the vote; its parts are those of the columns in the
    distance, so that a color that fills a bar tells in which column the two rows differ
    most. Returns the axes.
    """
    try:
        from matplotlib import pyplot as plt
    except ImportError as error:
        raise MissingExtraError(
            "plot() needs matplotlib; pip install 'modernnca[bench]'."
        ) from error
    if not 0 <= query < len(explanation):
        raise ValueError(
            f"query must be between 0 and {len(explanation) - 1}, the rows explained; "
            f"got {query!r}."
        )
    shown = np.flatnonzero(np.isfinite(explanation.distances[query]))
    shares = explanation.shares[query, shown]
    if ax is None:
        _, ax = plt.subplots(
            figsize=(6.4, 1.4 + 0.32 * len(shown)), layout="constrained"
        )
    labels = [
        f"row {index}: {show_cell(target)}"
        for index, target in zip(
            explanation.indices[query, shown],
            explanation.targets[query, shown],
            strict=True,
        )
    ]
    places = np.arange(len(shown))
    parts, names = _parts(explanation, query, shown)
    left = np.zeros(len(shown))
    for place, name in enumerate(names):
        width = shares * parts[:, place]
        color = "0.7" if name == "other columns" else f"C{place}"
        ax.barh(places, width, left=left, label=shorten(name, 24), color=color)
        left += width
    ax.set_yticks(places, labels)
    ax.invert_yaxis()
    ax.set_xlabel("share of the vote, cut by column of the distance")
    ax.set_title(f"Why {show_cell(explanation.prediction[query])}", loc="left")
    if names != [""]:
        ax.legend(frameon=False, fontsize="small")
    return ax


def _parts(
    explanation: Explanation, query: int, shown: np.ndarray
) -> tuple[np.ndarray, list[str]]:
    """The share of each column in each distance, and their names."""
    if not explanation.has_rows:
        return np.ones((len(shown), 1)), [""]
    sizes = np.abs(explanation.columns[query, shown])
    total = sizes.sum(1, keepdims=True)
    some = total > 1e-4 * total.max(initial=0.0)  # else there is only rounding
    sizes = np.where(some, sizes / np.where(some, total, 1.0), 0.0)
    order = np.argsort(-sizes.mean(0), kind="stable")
    first, others = order[:_N_COLUMNS], order[_N_COLUMNS:]
    names = [explanation.column_names[place] for place in first]
    # A row at no distance is all of one color.
    rest = 1 - sizes[:, first].sum(1, keepdims=True)
    if len(others) or (rest > 1e-6).any():
        return np.concatenate([sizes[:, first], rest], 1), [*names, "other columns"]
    return sizes[:, first], names
