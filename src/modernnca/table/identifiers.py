"""Identifiers: columns that number the rows, or name each of them."""

import re

import numpy as np

from modernnca.table.read import missing_in

_MIN_ROWS = 50  # with fewer, values may well differ by chance
_MAX_SPACING = 4  # so many times as many numbers as rows may be in the range
_MAX_SPACED = 0.1  # of the cells of an identifier have a space in them
_NAME = re.compile(
    r"(^|[\W_])(id|ids|uuid|guid|key|index|idx|rowid)$|[a-z](ID|Id)$|^(ID|Id)\b",
)


def is_identifier(name: str, cells: np.ndarray) -> bool:
    """Return whether a column is different in every row, and not by measuring.

    Of texts without spaces, and of whole numbers that are as dense as row numbers or
    are called id, that is so. Measured numbers, dates, and texts of several words are
    no identifiers.

    >>> is_identifier("row", np.arange(100.0)), is_identifier("x", np.arange(100) / 3)
    (True, False)
    >>> is_identifier("who", np.array([f"k-{i}" for i in range(100)], dtype=object))
    True
    """
    if len(cells) < _MIN_ROWS or cells.dtype.kind == "M" or missing_in(cells).any():
        return False
    if cells.dtype.kind == "f":
        return _numbers_rows(name, cells)
    if not isinstance(cells[0], str) or len(set(cells)) < len(cells):
        return False
    n_spaced = sum(" " in cell.strip() for cell in cells)
    return n_spaced <= _MAX_SPACED * len(cells)


def _numbers_rows(name: str, cells: np.ndarray) -> bool:
    if not (np.isfinite(cells).all() and (cells == np.rint(cells)).all()):
        return False
    n_rows, extent = len(cells), np.ptp(cells)
    if extent < n_rows - 1:
        return False
    named = _NAME.search(name.strip()) is not None
    if not named and extent >= _MAX_SPACING * n_rows:
        return False
    return len(np.unique(cells)) == n_rows
