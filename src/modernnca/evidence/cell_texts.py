"""Cells of a table as short texts, for pages, plots and the shell."""

from typing import Any

import numpy as np

_MAX = 40


def shorten(text: str, most: int = _MAX) -> str:
    """At most so many characters.

    >>> shorten("abcdef", 4)
    'abc…'
    """
    return text if len(text) <= most else text[: most - 1] + "\N{HORIZONTAL ELLIPSIS}"


def show_cell(cell: Any) -> str:
    """A cell as text: numbers to four digits or a whole one, days without a time.

    >>> show_cell(1.25678), show_cell(175300.4), show_cell(np.datetime64("2024-05-01"))
    ('1.257', '175300', '2024-05-01')
    >>> show_cell(None), show_cell(float("nan"))
    ('missing', 'missing')
    """
    if cell is None or cell != cell:  # NaN and NaT
        return "missing"
    if isinstance(cell, np.datetime64):
        return str(cell.astype("datetime64[s]")).removesuffix("T00:00:00")
    if isinstance(cell, float | np.floating):
        number = float(cell)
        whole = number.is_integer() or abs(number) >= 1e4
        whole = whole and abs(number) < 1e15
        return f"{number:.0f}" if whole else f"{number:.4g}"
    return shorten(str(cell))
