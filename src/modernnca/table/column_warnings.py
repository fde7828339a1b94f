"""What is lost when columns are read, in sentences that name the way out."""

from collections.abc import Collection, Sequence

import numpy as np

from modernnca.table.categorical import Levels, loses_levels
from modernnca.table.schema import Column, RawTable
from modernnca.table.text_reading import Reading

_MIN_ROWS = 10  # with fewer, a column that is dropped is not told
_ORDERS = {"day-first": "day", "month-first": "month"}


def column_warnings(column: Column, n_rows: int) -> list[str]:
    """Tell of an identifier, of cells that were not read, of an ambiguous order."""
    name, reading = repr(column.name), column.reading
    if column.kind == "identifier":
        return [
            f"The column {name} is different in each of the {n_rows:,} rows, as an "
            f"identifier is, and is left out; keep=[{name}] uses it."
        ]
    texts = []
    if reading is not None and reading.n_unread:
        texts.append(
            f"{unread_warning(column.name, reading, n_rows)} List it in "
            "categorical_features to take all its values as categories."
        )
    if reading is not None and reading.ambiguous:
        order = _ORDERS[reading.form]
        texts.append(
            f"The column {name} holds dates that can be read with the day or the month "
            f"first; the {order} was taken first. Convert it to dates if that is wrong."
        )
    return texts


def query_warnings(ignored: Sequence[str], table: RawTable) -> list[str]:
    """Tell of columns that are not used, and of cells that were not read."""
    texts = []
    if ignored:
        names = in_short(ignored)
        texts.append(f"Ignored columns that the model does not use: {names}.")
    for name, reading in table.readings.items():
        if reading.n_unread:
            texts.append(unread_warning(name, reading, len(table)))
    return texts


def in_short(names: Collection[str], *, n: int = 10) -> str:
    """The first `n` names, and how many more there are.

    >>> in_short(["a", "b", "c", "d"], n=2)
    'a, b and 2 more'
    """
    more = f" and {len(names) - n:,} more" if len(names) > n else ""
    return ", ".join([*names][:n]) + more


def unread_warning(name: str, reading: Reading, n_rows: int) -> str:
    """Tell how many cells could not be read.

    >>> unread_warning("a", Reading("number", "point", n_unread=2, example="?!"), 9)
    "The column 'a' holds numbers in text, but 2 of 9 cells cannot be read so (such as \
'?!') and are taken as missing."
    """
    be = "is" if reading.n_unread == 1 else "are"
    return (
        f"The column {name!r} holds {reading}, but {reading.n_unread:,} of {n_rows:,} "
        f"cells cannot be read so (such as {reading.example!r}) and {be} taken as "
        "missing."
    )


def level_warnings(name: str, levels: Levels, cells: np.ndarray) -> list[str]:
    """Tell that levels of a categorical column share one code, if much is lost so.

    >>> cells = np.array([f"k{i}" for i in range(40)], dtype=object)
    >>> level_warnings("a", Levels((), tuple(cells)), cells)
    ["The column 'a' has 40 levels, of which 40 are rare and share one code, so it is \
dropped; config={'categorical_encoding': 'onehot'} gives each its own code."]
    """
    dropped = len(levels) < 2 and len(cells) >= _MIN_ROWS
    if not levels.rare or not (dropped or loses_levels(cells)):
        return []
    outcome = ", so it is dropped" if len(levels) < 2 else ""
    n_levels, n_rare = len(levels.own) + len(levels.rare), len(levels.rare)
    return [
        f"The column {name!r} has {n_levels:,} levels, of which {n_rare:,} are rare "
        f"and share one code{outcome}; config={{'categorical_encoding': 'onehot'}} "
        "gives each its own code."
    ]
