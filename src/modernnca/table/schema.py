"""The kind of each column: learned from the training table, checked in prediction."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from modernnca.errors import TableError
from modernnca.table.read import (
    RawTable,
    as_levels,
    column_type,
    missing_in,
    read_table,
)

__all__ = ["Column", "RawTable", "Schema", "conform", "learn_schema", "read_table"]

Names = Sequence[str | int]

_KINDS = {"text": "category", "nothing": "constant"}  # other types are kinds as well
_BLANKS: dict[str, tuple[Any, Any]] = {  # kind -> a missing cell, the dtype
    "number": (np.nan, np.float64),
    "boolean": (None, object),
    "category": (None, object),
    "datetime": ("NaT", "datetime64[us]"),
}
_WORDS = {
    "number": "numbers",
    "boolean": "booleans",
    "category": "categories",
    "text": "text",
    "datetime": "dates",
}
_ISO_DATE = re.compile(r"\d{4}-\d\d-\d\d([ T]\d\d:\d\d(:\d\d(\.\d{1,9})?)?Z?)?")


@dataclass(frozen=True)
class Column:
    """A column: its name, its kind, and what it held in the training table."""

    name: str
    kind: str  # number, boolean, category, datetime, constant or unused
    held: str  # number, boolean, text, datetime or nothing: see read.py


@dataclass(frozen=True)
class Schema:
    """The columns of the training table, in order."""

    columns: tuple[Column, ...]
    named: bool

    def names(self, *kinds: str) -> list[str]:
        """Return the names of the columns of these kinds."""
        return [column.name for column in self.columns if column.kind in kinds]


class _UnreadableError(ValueError):
    """A text is not a number, or not a date; the text is the argument."""


def read_number(text: str) -> float:
    """Read a number in text form."""
    try:
        return float(text)
    except ValueError:
        raise _UnreadableError(text) from None


def read_date(text: str) -> np.datetime64:
    """Read an ISO date, with or without a time.

    >>> read_date("2024-01-31 12:00:00Z")
    np.datetime64('2024-01-31T12:00:00.000000')
    """
    if _ISO_DATE.fullmatch(text) is None:
        raise _UnreadableError(text)
    try:
        return np.datetime64(text.rstrip("Z")[:26], "us")  # [:26] is microseconds
    except ValueError:
        raise _UnreadableError(text) from None


def learn_schema(
    table: RawTable,
    *,
    categorical_features: Names | None = None,
    numerical_features: Names | None = None,
) -> Schema:
    """Learn what each column of a table is.

    Columns can be listed, by name or position, as categories or as numbers, to override
    what the table holds: numbers that are codes, or numbers in text form. A column
    without variation, or without any value, is of the kind "constant".

    >>> table = read_table([[1, "a", 7], [2, "b", 7], [3, "a", 7]])
    >>> [column.kind for column in learn_schema(table).columns]
    ['number', 'category', 'constant']
    >>> learn_schema(table, categorical_features=[0]).columns[0].kind
    'category'
    """
    categories = listed(table, "categorical_features", categorical_features)
    numbers = listed(table, "numerical_features", numerical_features)
    both = next((name for name in categories if name in numbers), None)
    if both is not None:
        raise ValueError(
            f"The column {both!r} is in both categorical_features and "
            "numerical_features; keep it in one."
        )
    columns = []
    for name, cells in table.columns.items():
        kind = held = column_type(cells)
        if _is_constant(cells):
            kind = "constant"
        elif name in numbers:
            _check_numbers(name, cells)
            kind = "number"
        elif name in categories or name in table.categorical:
            kind = "category"
        elif held == "text" and parse_dates(cells) is not None:
            kind = "datetime"
        columns.append(Column(name, _KINDS.get(kind, kind), held))
    return Schema(tuple(columns), table.named)


def conform(table: RawTable, schema: Schema) -> RawTable:
    """Return the training columns, in their order and each of its kind, or raise.

    Columns are matched by name if both tables have names, else by position.

    >>> schema = learn_schema(read_table([[1, "a"], [2, "b"]]))
    >>> conform(read_table([["abc", "a"]]), schema)
    Traceback (most recent call last):
    ...
    modernnca.errors.TableError: The column 'x0' held numbers in fit, but now holds \
text, such as 'abc'; convert it first.
    """
    names = [column.name for column in schema.columns]
    if table.named and schema.named:
        _check_names(list(table.columns), names)
        cells = [table.columns[name] for name in names]
    else:
        cells = list(table.columns.values())
        if len(cells) != len(names):
            raise TableError(
                f"X has {len(cells)} features, but {len(names)} were there in fit."
            )
    columns = map(_convert, schema.columns, cells)
    return RawTable(dict(zip(names, columns, strict=True)), schema.named)


def listed(table: RawTable, argument: str, listed: Names | None) -> list[str]:
    """The names of listed columns; raise if one does not exist."""
    names = list(table.columns)
    found = []
    for item in [] if listed is None else listed:
        if isinstance(item, str) and item in names:
            found.append(item)
        elif not isinstance(item, str) and 0 <= item < len(names):
            found.append(names[item])
        else:
            raise ValueError(
                f"Unknown column {item!r} in {argument}; "
                f"the columns are: {', '.join(names)}."
            )
    return found


def _is_constant(cells: np.ndarray) -> bool:
    missing = missing_in(cells)
    if missing.any():
        return bool(missing.all())
    return bool((cells == cells[0]).all())


def parse_dates(cells: np.ndarray) -> np.ndarray | None:
    """Read text as dates; None if some of it is not a date."""
    try:
        return _parse(cells, read_date, "datetime")
    except _UnreadableError:
        return None


def _check_numbers(name: str, cells: np.ndarray) -> None:
    start = f"The column {name!r} is listed in numerical_features, but holds"
    found = column_type(cells)
    if found == "datetime":
        raise ValueError(f"{start} dates; leave it out, dates have their own encoding.")
    if found == "text":
        try:
            _parse(cells, read_number, "number")
        except _UnreadableError as error:
            text = error.args[0]
            raise ValueError(
                f"{start} {text!r}, which is not a number; clean it or leave it out."
            ) from None


def _check_names(found: list[str], wanted: list[str]) -> None:
    gone = _absent(wanted, found)
    if gone:
        plural, were = ("", "was") if len(gone) == 1 else ("s", "were")
        raise TableError(
            f"The table lacks the column{plural} {', '.join(gone)}, "
            f"which {were} there in fit."
        )
    new = _absent(found, wanted)
    if new:
        plural, were = ("", "was") if len(new) == 1 else ("s", "were")
        raise TableError(
            f"The table has the column{plural} {', '.join(new)}, which {were} "
            f"not there in fit; drop {'it' if len(new) == 1 else 'them'} first."
        )


def _absent(names: list[str], others: list[str]) -> list[str]:
    there = set(others)
    return [repr(name) for name in names if name not in there]


def _convert(column: Column, cells: np.ndarray) -> np.ndarray:
    now = column_type(cells)
    if column.kind in (now, "constant", "unused"):
        return cells
    if now == "nothing":
        blank, dtype = _BLANKS[column.kind]
        return np.full(len(cells), blank, dtype=dtype)
    way = (column.kind, now)
    convert = _CONVERSIONS.get(way)
    example = next(cell for cell in cells[~missing_in(cells)])
    if convert is not None and (way not in _ONLY_AS_IN_FIT or now == column.held):
        try:
            return convert(cells)
        except _UnreadableError as error:
            example = error.args[0]
    shown = repr(example) if isinstance(example, str) else str(example)
    raise TableError(
        f"The column {column.name!r} held {_WORDS[column.kind]} in fit, but now holds "
        f"{_WORDS[now]}, such as {shown}; convert it first."
    )


def _parse(cells: np.ndarray, read: Callable[[str], Any], kind: str) -> np.ndarray:
    blank, dtype = _BLANKS[kind]
    known = {None: np.array(blank, dtype=dtype)[()]}
    for text in dict.fromkeys(cells):
        if text is not None:
            known[text] = read(text)
    return np.array([known[text] for text in cells], dtype=dtype)


_CONVERSIONS: dict[tuple[str, str], Callable[[np.ndarray], np.ndarray]] = {
    ("number", "boolean"): lambda cells: _parse(cells, float, "number"),
    ("number", "text"): lambda cells: _parse(cells, read_number, "number"),
    ("category", "text"): lambda cells: cells,
    ("category", "number"): as_levels,
    ("category", "boolean"): as_levels,
    ("category", "datetime"): as_levels,
    ("datetime", "text"): lambda cells: _parse(cells, read_date, "datetime"),
}
_ONLY_AS_IN_FIT = {("number", "text"), ("category", "datetime")}
