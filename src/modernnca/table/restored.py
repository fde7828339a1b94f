"""What a file says about columns, checked before any row goes through it.

Each check is of a part against the others: what is learned about a column is of a
column that exists, and arrays are as long as there are columns.
"""

from typing import Any

import numpy as np

from modernnca._declared import array, finite, flag, real, text, texts, whole
from modernnca.table.categorical import CATEGORICAL_ENCODINGS
from modernnca.table.dates import date_parts
from modernnca.table.read import RawTable

_MAX_PERIODS = 100
_EXTREME = 1e300


def check_preprocessor(table: Any) -> None:
    """Raise a ValueError unless a rebuilt preprocessor is one that was fitted."""
    table.config.check()
    names = texts([column.name for column in table.schema_.columns], "columns")
    for column in table.schema_.columns:
        text(column.kind, f"the kind of {column.name!r}")
        text(column.held, f"the type of {column.name!r}")
    flag(table.schema_.named, "named")
    _check_facts(table.facts_, names)
    dates = table._names("datetime")
    _same(table.starts_, dates, "the first dates")
    if any(np.isnat(start) for start in table.starts_.values()):
        raise ValueError("a first date is missing.")
    numeric = table._names("number", "datetime")
    if not {*texts(table.indicators_, "indicators")} <= {*numeric}:
        raise ValueError("an indicator is of no numerical column.")
    _check_numbers(table, dates)
    _check_fourier(table, names)
    _check_levels(table)
    _check_selection(table.selection_, names)


def _same(found: Any, expected: list[str], what: str) -> None:
    if not isinstance(found, dict) or [*found] != expected:
        raise ValueError(f"{what} are not those of the columns.")


def _check_facts(facts: Any, names: list[str]) -> None:
    if not isinstance(facts, dict) or {*facts} != {*names}:
        raise ValueError("the facts are not those of the columns.")
    for fact in facts.values():
        whole(fact["n_distinct"], "n_distinct")
        real(fact["share_missing"], "share_missing", 0, 1)


def _check_numbers(table: Any, dates: list[str]) -> None:
    some = np.array(["2000-01-01"], dtype="datetime64[us]")
    parts = {(name, "") for name in table._names("number")}
    parts |= {(name, part) for name in dates for part in date_parts(some, some[0])}
    for name, features in table.texts_.items():
        places = range(features.projection_.shape[1])
        parts |= {(name, f"text {place}") for place in places}
    if len({*table.parts_}) < len(table.parts_) or not {*table.parts_} <= parts:
        raise ValueError("the numbers are not those of the columns.")
    whole(table.n_numbers, "n_numbers", 0, len(table.parts_))
    numeric = table.numeric_
    flag(numeric.standardize, "standardize")
    for name in ("low_", "high_", "mean_", "std_", "fill_"):
        array(getattr(numeric, name), name, (len(table.parts_),), ["float64"])
    if not (numeric.std_ > 0).all() or not (numeric.low_ <= numeric.high_).all():
        raise ValueError("a range or a deviation of numbers is negative.")


def _check_fourier(table: Any, names: list[str]) -> None:
    time, fourier = table.config.time_column, table.fourier_
    if time is not None:
        text(time, "time_column", names)
    if fourier is None:
        return
    text(time, "time_column", names)
    finite(fourier.mean, "mean")
    flag(fourier.trend, "trend")
    periods = [fourier.deviation, *fourier.periods.values()]
    texts([*fourier.periods], "periods")
    whole(len(periods), "the number of periods", 1, _MAX_PERIODS)
    if not all(finite(period, "period") > 0 for period in periods):
        raise ValueError("a period is not above 0.")


def _check_levels(table: Any) -> None:
    columns = table.categorical_
    text(columns.encoding, "encoding", CATEGORICAL_ENCODINGS)
    whole(len(columns.levels_), "columns of levels", *[len(table._categories())] * 2)
    for levels in columns.levels_:
        known = [*levels.own, *levels.rare]
        if len({*known}) < len(known) or None in levels.rare:
            raise ValueError("a level occurs twice.")
        texts([level for level in known if level is not None], "levels")


def _check_selection(selection: Any, names: list[str]) -> None:
    if selection is None:
        return
    whole(selection.n_columns, "n_columns", 0, len(names))
    whole(selection.n_kept, "n_kept", 0, selection.n_columns)
    for n_columns, error in zip(selection.tried, selection.errors, strict=True):
        whole(n_columns, "tried", 0, selection.n_columns)
        finite(error, "error")
    if selection.kept is not None and not {*selection.kept} <= {*names}:
        raise ValueError("a selected column does not exist.")


def probe_table(schema: Any) -> RawTable:
    """Three rows that every fitted model answers: without any value, and extreme."""
    columns = {column.name: _probes(column) for column in schema.columns}
    return RawTable(columns, schema.named)


def _probes(column: Any) -> np.ndarray:
    """A missing cell and two extreme ones, if the column takes them as they are."""
    if column.held == column.kind == "number":
        return np.array([np.nan, _EXTREME, -_EXTREME])
    if column.held == column.kind == "boolean":
        return np.array([None, True, False], dtype=object)
    if column.held == "text" and column.kind == "category":
        return np.array([None, "", "?"], dtype=object)
    return np.array([None] * 3, dtype=object)
