"""The kind of each column: learned from the training table, checked in prediction."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Self

import numpy as np

from modernnca.errors import TableError
from modernnca.table.categorical import are_recurring_codes, loses_levels
from modernnca.table.identifiers import is_identifier
from modernnca.table.read import (
    RawTable,
    as_levels,
    column_type,
    missing_in,
    read_table,
)
from modernnca.table.text_reading import PLAIN_READINGS, Reading, find_reading

__all__ = ["Column", "RawTable", "Schema", "conform", "learn_schema", "read_table"]

Names = Sequence[str | int]

_KINDS = {"text": "category", "nothing": "constant"}  # other types are kinds as well
_BLANKS: dict[str, tuple[Any, Any]] = {  # kind -> a missing cell, the dtype
    "number": (np.nan, np.float64),
    "boolean": (None, object),
    "category": (None, object),
    "text": (None, object),
    "datetime": ("NaT", "datetime64[us]"),
}
_WORDS = {
    "number": "numbers",
    "boolean": "booleans",
    "category": "categories",
    "text": "text",
    "datetime": "dates",
}
_UNUSED = ("constant", "identifier", "unused")  # kinds that the model does not see
_N_NAMED = 10  # columns that an error names


@dataclass(frozen=True)
class Column:
    """A column: its name, its kind, and what it held in the training table."""

    name: str
    kind: str  # number, boolean, category, text, datetime, or one of _UNUSED
    held: str  # number, boolean, text, datetime or nothing: see read.py
    reading: Reading | None = None  # of a text that is read as numbers or dates


@dataclass(frozen=True)
class Schema:
    """The columns of the training table, in order."""

    columns: tuple[Column, ...]
    named: bool

    def names(self, *kinds: str) -> list[str]:
        """Return the names of the columns of these kinds."""
        return [column.name for column in self.columns if column.kind in kinds]

    def with_kind(self, names: set[str], kind: str) -> "Schema":
        """Return the schema in which the columns of these names are of this kind."""
        columns = tuple(
            replace(column, kind=kind) if column.name in names else column
            for column in self.columns
        )
        return replace(self, columns=columns)

    def state(self) -> dict[str, Any]:
        """Return the schema as plain values."""
        return asdict(self)

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        """Rebuild the schema from plain values."""
        columns = []
        for each in state["columns"]:
            reading = each.get("reading")
            reading = None if reading is None else Reading(**reading)
            columns.append(Column(**{**each, "reading": reading}))
        return cls(tuple(columns), state["named"])


def learn_schema(
    table: RawTable,
    *,
    categorical_features: Names | None = None,
    numerical_features: Names | None = None,
    keep: Names | None = None,
) -> Schema:
    """Learn what each column of a table is.

    Columns can be listed, by name or position, as categories or as numbers, to override
    what the table holds. A column without variation, or without any value, is of the
    kind "constant". One that numbers or names the rows is an "identifier", unless it is
    listed anywhere, or no other column is left.

    >>> table = read_table([[1, "a", 7], [2, "b", 7], [3, "a", 7]])
    >>> [column.kind for column in learn_schema(table).columns]
    ['number', 'category', 'constant']
    >>> learn_schema(table, categorical_features=[0]).columns[0].kind
    'category'
    >>> learn_schema(read_table([["1,5"], ["2"]])).columns[0].kind
    'number'
    """
    categories = listed(table, "categorical_features", categorical_features)
    numbers = listed(table, "numerical_features", numerical_features)
    kept = {*listed(table, "keep", keep), *categories, *numbers}
    both = next((name for name in categories if name in numbers), None)
    if both is not None:
        raise ValueError(
            f"The column {both!r} is in both categorical_features and "
            "numerical_features; keep it in one."
        )
    columns, identifiers = [], set()
    for name, cells in table.columns.items():
        if name in numbers:
            column = _listed_number(name, cells, table.readings.get(name))
        elif name in categories or name in table.categorical:
            held = column_type(cells)
            column = Column(name, "category" if held != "nothing" else "constant", held)
        else:
            column = _learn_column(name, cells, table.readings.get(name))
        if _is_constant(cells):
            column = replace(column, kind="constant", reading=None)
        elif name not in kept and _identifies(column, cells):
            identifiers.add(name)
        columns.append(column)
    schema = Schema(tuple(columns), table.named)
    if {each.name for each in columns if each.kind != "constant"} - identifiers:
        schema = schema.with_kind(identifiers, "identifier")
    return schema


def _learn_column(name: str, cells: np.ndarray, reading: Reading | None) -> Column:
    """Learn the kind of a column that is not listed or declared."""
    held = column_type(cells)
    if reading is not None:  # it was text, and has been read
        return Column(name, reading.kind, "text", reading)
    if held != "text":
        return Column(name, _KINDS.get(held, held), held)
    reading = find_reading(cells)
    if reading is not None:
        return Column(name, reading.kind, held, reading)
    is_text = loses_levels(cells) and not are_recurring_codes(cells)
    return Column(name, "text" if is_text else "category", held)


def _listed_number(name: str, cells: np.ndarray, reading: Reading | None) -> Column:
    start = f"The column {name!r} is listed in numerical_features, but holds"
    held = column_type(cells) if reading is None else "text"
    if held == "datetime" or (reading is not None and reading.kind == "datetime"):
        raise ValueError(f"{start} dates; leave it out, dates have their own encoding.")
    if held == "text" and reading is None:
        reading = find_reading(cells, kind="number")
        if reading is None:
            text = next(cell for cell in cells if cell is not None)
            raise ValueError(
                f"{start} {text!r} and no number at all; clean it or leave it out."
            )
    return Column(name, "number", held, reading)


def _identifies(column: Column, cells: np.ndarray) -> bool:
    """Whether a training column is an identifier, as it is read."""
    if column.reading is not None and cells.dtype.kind == "O":
        if len(set(cells)) < len(cells):
            return False
        cells, _ = column.reading.read(cells)
    return is_identifier(column.name, cells)


def conform(table: RawTable, schema: Schema) -> RawTable:
    """Return the training columns, in their order and each of its kind, or raise.

    Columns are matched by name if both tables have names, else by position. Further
    columns are ignored, and identifiers may be absent. A cell of a text column that
    cannot be read as in `fit` is missing; `readings` counts such cells.

    >>> schema = learn_schema(read_table([[1, "a"], [2, "b"]]))
    >>> conform(read_table([["abc", "a"]]), schema)
    Traceback (most recent call last):
    ...
    modernnca.errors.TableError: The column 'x0' held numbers in fit, but now holds \
text, such as 'abc'; convert it first.
    """
    names = [column.name for column in schema.columns]
    if table.named and schema.named:
        _check_names(table, schema)
        nothing = np.full(len(table), None, dtype=object)
        cells = [table.columns.get(name, nothing) for name in names]
    else:
        cells = list(table.columns.values())
        if len(cells) != len(names):
            raise TableError(
                f"X has {len(cells)} features, but {len(names)} were there in fit."
            )
    columns, readings = {}, dict(table.readings)
    for column, found in zip(schema.columns, cells, strict=True):
        columns[column.name], reading = _convert(column, found)
        if reading is not None:
            readings[column.name] = reading
    categorical = frozenset(schema.names("category"))
    return RawTable(columns, schema.named, categorical, readings)


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


def _check_names(table: RawTable, schema: Schema) -> None:
    """Raise if a column is absent; identifiers may be."""
    needed = [each.name for each in schema.columns if each.kind != "identifier"]
    gone = [name for name in needed if name not in table.columns]
    if not gone:
        return
    plural, were = ("", "was") if len(gone) == 1 else ("s", "were")
    known = {column.name for column in schema.columns}
    new = [name for name in (*table.columns, *table.ignored) if name not in known]
    others = f" It has {_in_short(new)}, not there in fit." if new else ""
    raise TableError(
        f"The table lacks the column{plural} {_in_short(gone)}, "
        f"which {were} there in fit.{others}"
    )


def _in_short(names: Sequence[str]) -> str:
    shown = ", ".join(map(repr, names[:_N_NAMED]))
    more = len(names) - _N_NAMED
    return f"{shown} and {more:,} more" if more > 0 else shown


def _convert(column: Column, cells: np.ndarray) -> tuple[np.ndarray, Reading | None]:
    """The cells as the kind of the column, and how, if they were text."""
    now = column_type(cells)
    if column.kind in (now, *_UNUSED):
        return cells, None
    if now == "nothing":
        blank, dtype = _BLANKS[column.kind]
        return np.full(len(cells), blank, dtype=dtype), None
    way = (column.kind, now)
    example = next(cell for cell in cells[~missing_in(cells)])
    if now == "text" and column.kind in PLAIN_READINGS:
        reading = column.reading or PLAIN_READINGS[column.kind]
        values, reading = reading.read(cells)
        if column.held == "text" or not reading.n_unread:
            return values, reading if column.held == "text" else None
        example = reading.example
    elif way in _CONVERSIONS and (way not in _ONLY_AS_IN_FIT or now == column.held):
        converted = _CONVERSIONS[way](cells)
        if converted is not None:
            return converted, None
    shown = repr(example) if isinstance(example, str) else str(example)
    raise TableError(
        f"The column {column.name!r} held {_WORDS[column.kind]} in fit, but now holds "
        f"{_WORDS[now]}, such as {shown}; convert it first."
    )


def _as_booleans(cells: np.ndarray) -> np.ndarray | None:
    """Texts such as "True" as booleans; None if there are others."""
    known = {None: None, "true": True, "false": False}
    words = [None if cell is None else cell.strip().lower() for cell in cells]
    if not set(words) <= set(known):
        return None
    return np.array([known[word] for word in words], dtype=object)


def _flags_as_numbers(cells: np.ndarray) -> np.ndarray:
    flags = [np.nan if cell is None else float(cell) for cell in cells]
    return np.array(flags, dtype=np.float64)


_CONVERSIONS: dict[tuple[str, str], Callable[[np.ndarray], np.ndarray | None]] = {
    ("number", "boolean"): _flags_as_numbers,
    ("boolean", "text"): _as_booleans,
    **{
        (kind, now): as_levels
        for kind in ("category", "text")
        for now in ("text", "number", "boolean", "datetime")
    },
}
_ONLY_AS_IN_FIT = {("category", "datetime"), ("text", "datetime")}
