"""Schema and treatments as one fitted object: a raw table to three arrays."""

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any, NamedTuple, Self

import numpy as np

from modernnca._named import named
from modernnca.table.categories import CategoryColumns, Levels
from modernnca.table.clock import read_times
from modernnca.table.dates import date_parts
from modernnca.table.numbers import NumberColumns, finite_range
from modernnca.table.read import RawTable, as_levels, missing_in
from modernnca.table.schema import Column, Names, Schema, conform, learn_schema
from modernnca.table.waves import Waves, learn_waves


class _TimeFeatures(NamedTuple):
    """What becomes of the time column."""

    as_column: bool  # what any column becomes
    waves: bool  # see waves.py
    trend: bool


TIME_FEATURES = {
    "column": _TimeFeatures(True, False, False),
    "fourier": _TimeFeatures(False, True, True),
    "seasons": _TimeFeatures(False, True, False),
    "both": _TimeFeatures(True, True, True),
    "none": _TimeFeatures(False, False, False),
}
_IN_WORDS = {
    "standard": "standardized",
    "quantile": "ranked to a normal distribution",
    "robust": "scaled by the middle half",
    "none": "as it is",
}


class EncodedTable(NamedTuple):
    """A table as arrays of N rows."""

    numbers: np.ndarray  # (N, P) float32, to go through the numerical encoding
    plain: np.ndarray  # (N, Q) float32, used as they are: few-valued, indicators, waves
    codes: np.ndarray  # (N, C) int64, see categories.py


class TableEncoder:
    """Learn to turn tables like one given in `fit` into arrays.

    Each row is encoded by itself, and nothing is learned outside of `fit`.

    Args:
        numbers: the treatment of numbers, a name of `NUMBERS`.
        categories: the treatment of categories, a name of `CATEGORIES`.
        few_values: numbers with at most so many distinct values become `plain`.
        indicators: add a 0/1 column for each column of numbers with gaps in fit.
        categorical_columns, numerical_columns: see `learn_schema`.
        unused: names of columns that are left out, though they must be there.
        time_column: the name of a column of dates or numbers that says when.
        time_features: what becomes of it, a name of `TIME_FEATURES`.

    >>> from modernnca.table.schema import read_table
    >>> table = read_table([[1, "a"], [3, "b"], [None, "a"], [2, "b"]])
    >>> encoded = TableEncoder().fit(table).transform(table)
    >>> encoded.numbers.ravel().round(2), encoded.plain.ravel(), encoded.codes.ravel()
    (array([-1.22,  1.22,  0.  ,  0.  ], dtype=float32), \
array([0., 0., 1., 0.], dtype=float32), array([0, 1, 0, 1]))
    """

    def __init__(
        self,
        *,
        numbers: str = "standard",
        categories: str = "grouped",
        few_values: int = 0,
        indicators: bool = True,
        categorical_columns: Names | None = None,
        numerical_columns: Names | None = None,
        unused: Sequence[str] = (),
        time_column: str | None = None,
        time_features: str = "column",
    ) -> None:
        self.numbers = numbers
        self.categories = categories
        self.few_values = few_values
        self.indicators = indicators
        self.categorical_columns = categorical_columns
        self.numerical_columns = numerical_columns
        self.unused = list(unused)
        self.time_column = time_column
        self.time_features = time_features

    def fit(self, table: RawTable) -> Self:
        """Learn the schema, and the treatment of each column."""
        self.schema_ = learn_schema(
            table,
            categorical_columns=self.categorical_columns,
            numerical_columns=self.numerical_columns,
        )
        if self.unused:
            self.schema_ = _without(self.schema_, set(self.unused))
        table = conform(table, self.schema_)
        self.waves_ = self._learn_waves(table)
        self.facts_ = {name: _facts(cells) for name, cells in table.columns.items()}
        self.starts_ = {
            name: np.fmin.reduce(table.columns[name])  # fmin passes over NaT
            for name in self._names("datetime")
        }
        self.gaps_ = [
            name
            for name in self._names("number", "datetime")
            if self.indicators and self.facts_[name]["share_missing"] > 0
        ]
        parts = self._parts(table)
        ranges = {part: finite_range(cells[:, None]) for part, cells in parts.items()}
        varied = [part for part, (low, high) in ranges.items() if low < high]
        few = {
            part
            for part in varied
            if self.few_values > 0 and _n_distinct(parts[part]) <= self.few_values
        }
        self.parts_ = sorted(varied, key=few.__contains__)  # those for `plain` last
        self.n_numbers = len(varied) - len(few)
        x = _stack([parts[part] for part in self.parts_], len(table), np.float64)
        self.numbers_ = NumberColumns(self.numbers).fit(x)
        self.categories_ = CategoryColumns(self.categories).fit(self._cells(table))
        return self

    @property
    def n_plain(self) -> int:
        """The number of plain columns, one if there is no other column at all."""
        n_plain = len(self.parts_) - self.n_numbers + len(self.gaps_)
        n_plain += 0 if self.waves_ is None else len(self.waves_.names)
        return n_plain if self.n_numbers + n_plain + self.n_codes else 1

    @property
    def n_codes(self) -> int:
        """The number of columns of codes."""
        return len(self.categories_.kept_)

    @property
    def n_levels(self) -> int:
        """The number of levels of all columns of codes together."""
        return self.categories_.n_levels

    def transform(self, table: RawTable) -> EncodedTable:
        """Encode a table of the columns of fit."""
        table = conform(table, self.schema_)
        parts = self._parts(table)
        x = _stack([parts[part] for part in self.parts_], len(table), np.float64)
        treated = self.numbers_.transform(x).astype(np.float32)
        plain = np.zeros((len(table), self.n_plain), dtype=np.float32)
        n_few = treated.shape[1] - self.n_numbers
        plain[:, :n_few] = treated[:, self.n_numbers :]
        for place, name in enumerate(self.gaps_, start=n_few):
            plain[:, place] = missing_in(table.columns[name])
        if self.waves_ is not None and self.time_column is not None:
            times = read_times(self.time_column, table.columns[self.time_column])
            first = n_few + len(self.gaps_)
            plain[:, first : first + len(self.waves_.names)] = self.waves_(times)
        codes = self.categories_.transform(self._cells(table))
        return EncodedTable(treated[:, : self.n_numbers], plain, codes)

    def owners(self) -> tuple[list[str], list[str]]:
        """Return whose the numbers and plain columns are, and whose the levels."""
        numbers = [name for name, _ in self.parts_] + self.gaps_
        if self.waves_ is not None and self.time_column is not None:
            numbers += [self.time_column] * len(self.waves_.names)
        levels = [
            name
            for name, own in zip(
                self._categorical(), self.categories_.levels_, strict=True
            )
            for _ in range(len(own) if len(own) > 1 else 0)
        ]
        return numbers, levels

    def describe(self) -> list[dict[str, Any]]:
        """Say of each column what it is and what becomes of it, one dict each.

        >>> from modernnca.table.schema import read_table
        >>> encoder = TableEncoder().fit(read_table([[1, 7], [2, 7], [None, 7]]))
        >>> for column in encoder.describe():
        ...     print(column["name"], column["kind"], "-", column["treatment"])
        x0 number - standardized, gaps marked
        x1 constant - dropped
        """
        levels = dict(zip(self._categorical(), self.categories_.levels_, strict=True))
        rows = []
        for column in self.schema_.columns:
            name, kind = column.name, column.kind
            if kind == "constant":
                treatment = "dropped"
            elif kind == "unused":
                treatment = "left out: others tell more"
            elif name in levels:
                treatment = _levels_in_words(levels[name])
            else:
                treatment = self._numbers_in_words(name)
            facts = self.facts_[name]
            rows.append({"name": name, "kind": kind, "treatment": treatment, **facts})
        return rows

    def without(self, names: Sequence[str]) -> "TableEncoder":
        """Return an encoder with the same settings that has no use for these columns.

        It must be fitted.
        """
        settings = self.state()["settings"]
        return TableEncoder(**{**settings, "unused": names})

    def state(self) -> dict[str, Any]:
        """Return settings and all that was learned: JSON-able values, and arrays."""
        return {
            "settings": {
                "numbers": self.numbers,
                "categories": self.categories,
                "few_values": self.few_values,
                "indicators": self.indicators,
                "categorical_columns": _plain_list(self.categorical_columns),
                "numerical_columns": _plain_list(self.numerical_columns),
                "unused": self.unused,
                "time_column": self.time_column,
                "time_features": self.time_features,
            },
            "schema": asdict(self.schema_),
            "facts": self.facts_,
            "starts": {name: str(start) for name, start in self.starts_.items()},
            "gaps": self.gaps_,
            "waves": None if self.waves_ is None else asdict(self.waves_),
            "parts": [list(part) for part in self.parts_],
            "n_numbers": self.n_numbers,
            "number_columns": self.numbers_.state(),
            "category_columns": self.categories_.state(),
        }

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        """Build the encoder that has learned this."""
        new = cls(**state["settings"])
        columns = tuple(Column(**column) for column in state["schema"]["columns"])
        new.schema_ = Schema(columns, state["schema"]["named"])
        new.facts_ = state["facts"]
        starts = state["starts"].items()
        new.starts_ = {name: np.datetime64(start, "us") for name, start in starts}
        new.gaps_ = state["gaps"]
        waves = state.get("waves")
        new.waves_ = None if waves is None else Waves(**waves)
        new.parts_ = [(name, part) for name, part in state["parts"]]
        new.n_numbers = state["n_numbers"]
        new.numbers_ = NumberColumns.from_state(state["number_columns"])
        new.categories_ = CategoryColumns.from_state(state["category_columns"])
        return new

    def _parts(self, table: RawTable) -> dict[tuple[str, str], np.ndarray]:
        """All that can be said in numbers: by column, and by part of a date."""
        parts = {(name, ""): table.columns[name] for name in self._names("number")}
        for name, start in self.starts_.items():
            for part, values in date_parts(table.columns[name], start).items():
                parts[name, part] = values
        return parts

    def _categorical(self) -> list[str]:
        return self._names("boolean", "category")

    def _names(self, *kinds: str) -> list[str]:
        """The columns of these kinds; without the time column, if it is none."""
        used = TIME_FEATURES[self.time_features].as_column
        left_out = None if used else self.time_column
        return [name for name in self.schema_.names(*kinds) if name != left_out]

    def _learn_waves(self, table: RawTable) -> Waves | None:
        """Learn the Fourier features of the time column, if they are asked for."""
        kind = "treatment of the time column"
        features = named(kind, self.time_features, TIME_FEATURES)
        if self.time_column is None:
            return None
        if self.time_column in self.schema_.names("category", "boolean"):
            raise ValueError(
                f"The time_column {self.time_column!r} is to be taken as categories; "
                "leave it out of categorical_columns."
            )
        cells = table.columns[self.time_column]
        if not features.waves or self.time_column in self.schema_.names("constant"):
            return None
        times = read_times(self.time_column, cells)
        dates = cells.dtype.kind == "M"
        return learn_waves(times, dates=dates, trend=features.trend)

    def _cells(self, table: RawTable) -> np.ndarray:
        cells = [as_levels(table.columns[name]) for name in self._categorical()]
        return _stack(cells, len(table), object)  # (N, C)

    def _numbers_in_words(self, name: str) -> str:
        found = [part for part in self.parts_ if part[0] == name]
        words = [part for _, part in found if part]  # of a date
        if found:
            words.append(_IN_WORDS[self.numbers])
        if set(found) & set(self.parts_[self.n_numbers :]):
            words.append("kept plain")
        if name == self.time_column and self.waves_ is not None:
            words.append(f"{len(self.waves_.names)} Fourier features")
        if name in self.gaps_:
            words.append("gaps marked")
        return ", ".join(words) or "dropped"


def _without(schema: Schema, names: set[str]) -> Schema:
    """The schema in which the columns of these names have no use."""
    columns = tuple(
        replace(column, kind="unused") if column.name in names else column
        for column in schema.columns
    )
    return replace(schema, columns=columns)


def _n_distinct(cells: np.ndarray) -> int:
    present = cells[~missing_in(cells)]
    return len(set(present) if cells.dtype.kind == "O" else np.unique(present))


def _levels_in_words(levels: Levels) -> str:
    if len(levels) < 2:
        return "dropped: no two levels are left"
    rare = f", {len(levels.rare)} rare ones grouped" if levels.rare else ""
    return f"{len(levels)} levels{rare}"


def _facts(cells: np.ndarray) -> dict[str, Any]:
    share = float(missing_in(cells).mean())
    return {"n_distinct": _n_distinct(cells), "share_missing": share}


def _plain_list(names: Names | None) -> list[str | int] | None:
    if names is None:
        return None
    return [name if isinstance(name, str) else int(name) for name in names]


def _stack(columns: list[np.ndarray], n_rows: int, dtype: Any) -> np.ndarray:
    stacked = np.empty((n_rows, len(columns)), dtype=dtype)
    for place, cells in enumerate(columns):
        stacked[:, place] = cells
    return stacked
