"""The preprocessor: from a raw table to arrays, learned from the training rows."""

from dataclasses import asdict, dataclass
from typing import Any, NamedTuple, Self

import numpy as np

from modernnca._config import FLAG, Config, Number, OneOf, Satisfies, option
from modernnca.table.categorical import (
    CATEGORICAL_ENCODINGS,
    CategoricalColumns,
    Levels,
)
from modernnca.table.column_warnings import column_warnings, level_warnings
from modernnca.table.dates import date_parts
from modernnca.table.feature_selection import (
    MAX_ENCODED,
    FeatureSelection,
    is_wide,
    select_features,
)
from modernnca.table.fourier import FourierFeatures, learn_fourier
from modernnca.table.numeric import NumericColumns, finite_range
from modernnca.table.read import RawTable, as_levels, missing_in
from modernnca.table.restored import check_preprocessor
from modernnca.table.schema import Column, Schema, conform, learn_schema
from modernnca.table.text_features import TextFeatures
from modernnca.table.time_column import read_times
from modernnca.table.univariate import DesignMatrix


class _TimeFeatures(NamedTuple):
    """What becomes of the time column."""

    as_column: bool  # what any column becomes
    fourier: bool  # see fourier.py
    trend: bool


TIME_FEATURES = {
    "column": _TimeFeatures(True, False, False),
    "fourier": _TimeFeatures(False, True, True),
    "seasons": _TimeFeatures(False, True, False),
    "both": _TimeFeatures(True, True, True),
    "none": _TimeFeatures(False, False, False),
}


_DROPPED = {
    "constant": "dropped",
    "identifier": "dropped: it identifies the rows",
    "unused": "dropped by feature selection",
}


def _is_list(value: Any) -> bool:
    return isinstance(value, list | tuple | np.ndarray)


_COLUMNS = Satisfies(_is_list, "a list of column names or positions")


@dataclass(frozen=True, kw_only=True)
class PreprocessingConfig(Config):
    """How columns are read and prepared."""

    categorical_features: Any = option(
        None, _COLUMNS, "Columns to take as categories, by name or position."
    )
    numerical_features: Any = option(
        None, _COLUMNS, "Columns to take as numbers, by name or position."
    )
    keep: Any = option(
        None,
        _COLUMNS,
        "Columns to use even if they number or name the rows, by name or position.",
    )
    time_column: str | int | None = option(
        None,
        Satisfies(lambda v: isinstance(v, str | int | np.integer), "a column"),
        "The column, of dates or numbers, that tells when a row happened.",
    )
    standardize: bool = option(True, FLAG, "Standardize numbers.")
    categorical_encoding: str = option(
        "grouped",
        OneOf(CATEGORICAL_ENCODINGS),
        "grouped: rare levels share a code; onehot: each level has its own.",
    )
    n_text_features: int = option(
        16,
        Number(0, integer=True),
        "Numbers that a column of free text becomes, by the character n-grams that its "
        "texts share; 0 leaves only the levels that recur.",
    )
    missing_indicators: bool = option(
        True, FLAG, "Add a column that tells where a number was missing."
    )
    max_plain_values: int = option(
        2,
        Number(0, integer=True),
        "Numbers with at most so many distinct values skip the encoding.",
    )
    time_features: str = option(
        "seasons",
        OneOf(TIME_FEATURES),
        "What the time column becomes: seasons (sines and cosines of year, week and "
        "day; of a numerical column, of parts of its range), fourier (these and a "
        "trend), column (as any column), both, none.",
    )
    feature_selection: bool = option(
        True,
        FLAG,
        "In tables with many columns for their rows, keep only the most relevant.",
    )
    max_encoded_features: float = option(
        MAX_ENCODED,
        Number(0, integer=True, also=(float("inf"),)),
        "Tables with many columns for their rows that keep more numerical columns than "
        'this leave them unencoded, as encoding="none" does.',
    )


class EncodedTable(NamedTuple):
    """A table as arrays of N rows."""

    numbers: np.ndarray  # (N, P) float32, to go through the numerical encoding
    plain: np.ndarray  # (N, Q) float32, used as is: few-valued, indicators, Fourier
    codes: np.ndarray  # (N, C) int64, see categorical.py


class Preprocessor:
    """Learn to turn tables like the training table into arrays.

    Each row is encoded by itself, and nothing is learned outside of `fit`. A
    `time_column` must be given by name.

    >>> from modernnca.table.schema import read_table
    >>> table = read_table([[1, "a"], [3, "b"], [None, "a"], [2, "b"]])
    >>> preprocessor = Preprocessor(PreprocessingConfig.defaults()).fit(table)
    >>> encoded = preprocessor.transform(table)
    >>> encoded.numbers.ravel().round(2), encoded.plain.ravel(), encoded.codes.ravel()
    (array([-1.22,  1.22,  0.  ,  0.  ], dtype=float32), \
array([0., 0., 1., 0.], dtype=float32), array([0, 1, 0, 1]))
    """

    def __init__(self, config: PreprocessingConfig) -> None:
        self.config = config

    def fit(
        self, table: RawTable, values: np.ndarray | None = None, *, seed: int = 0
    ) -> Self:
        """Learn the schema and each column; with targets `values`, select features.

        Args:
            values: (N, V) one-hot classes, or numbers.
            seed: of the folds in which features are selected.
        """
        self.selection_: FeatureSelection | None = None
        self._fit(table, unused=set())
        if values is None or not self.config.feature_selection:
            return self
        per_number, per_level = self._sources()
        names = list(dict.fromkeys(per_number + per_level))
        if not is_wide(len(names), len(values)):
            return self
        design = self._design_matrix(table, per_number + per_level, names)
        self.selection_ = select_features(design, names, values, seed=seed)
        if self.selection_.kept is not None:
            kept = {*self.selection_.kept, self.config.time_column}
            self._fit(table, unused=set(names) - kept)
        return self

    def _fit(self, table: RawTable, unused: set[str]) -> None:
        config = self.config
        schema = learn_schema(
            table,
            categorical_features=config.categorical_features,
            numerical_features=config.numerical_features,
            keep=self._kept(),
        )
        self.schema_ = schema.with_kind(unused, "unused")
        table = conform(table, self.schema_)
        self.fourier_ = self._learn_fourier(table)
        self.facts_ = {name: _facts(cells) for name, cells in table.columns.items()}
        self.starts_ = {
            name: np.fmin.reduce(table.columns[name])  # fmin skips NaT
            for name in self._names("datetime")
        }
        self.texts_ = {
            name: TextFeatures(config.n_text_features).fit(table.columns[name])
            for name in self._names("text")
            if config.n_text_features
        }
        self.indicators_ = [
            name
            for name in self._names("number", "datetime")
            if config.missing_indicators and self.facts_[name]["share_missing"] > 0
        ]
        parts = self._parts(table)
        ranges = {part: finite_range(cells[:, None]) for part, cells in parts.items()}
        varied = [part for part, (low, high) in ranges.items() if low < high]
        most = config.max_plain_values
        few = {part for part in varied if most and _n_distinct(parts[part]) <= most}
        self.parts_ = sorted(varied, key=few.__contains__)  # those for `plain` last
        self.n_numbers = len(varied) - len(few)
        x = _stack([parts[part] for part in self.parts_], len(table), np.float64)
        self.numeric_ = NumericColumns(standardize=config.standardize).fit(x)
        self.categorical_ = CategoricalColumns(config.categorical_encoding)
        self.categorical_.fit(self._cells(table))
        self.warnings_ = self._warnings(table)

    @property
    def n_plain(self) -> int:
        """The number of plain columns, one if there is no other column at all."""
        n_plain = len(self.parts_) - self.n_numbers + len(self.indicators_)
        n_plain += 0 if self.fourier_ is None else len(self.fourier_.names)
        return n_plain if self.n_numbers + n_plain + self.n_codes else 1

    @property
    def n_codes(self) -> int:
        """The number of columns of codes."""
        return len(self.categorical_.kept_)

    @property
    def n_levels(self) -> int:
        """The number of levels of all columns of codes together."""
        return self.categorical_.n_levels

    @property
    def encodes_numbers(self) -> bool:
        """Whether the numbers are few enough to be encoded."""
        few = self.n_numbers <= self.config.max_encoded_features
        return self.selection_ is None or few

    def transform(self, table: RawTable) -> EncodedTable:
        """Encode a table with the columns of the training table."""
        table = conform(table, self.schema_)
        parts = self._parts(table)
        x = _stack([parts[part] for part in self.parts_], len(table), np.float64)
        numbers = self.numeric_.transform(x).astype(np.float32)
        plain = np.zeros((len(table), self.n_plain), dtype=np.float32)
        n_few = numbers.shape[1] - self.n_numbers
        plain[:, :n_few] = numbers[:, self.n_numbers :]
        for place, name in enumerate(self.indicators_, start=n_few):
            plain[:, place] = missing_in(table.columns[name])
        if self.fourier_ is not None:
            time = str(self.config.time_column)
            times = read_times(time, table.columns[time])
            first = n_few + len(self.indicators_)
            plain[:, first : first + len(self.fourier_.names)] = self.fourier_(times)
        codes = self.categorical_.transform(self._cells(table))
        return EncodedTable(numbers[:, : self.n_numbers], plain, codes)

    def describe(self) -> list[dict[str, Any]]:
        """Describe each column and what becomes of it, one dict each.

        >>> from modernnca.table.schema import read_table
        >>> preprocessor = Preprocessor(PreprocessingConfig.defaults())
        >>> table = read_table([[1, 7], [2, 7], [3, 7], [None, 7]])
        >>> for column in preprocessor.fit(table).describe():
        ...     print(column["name"], column["kind"], "-", column["treatment"])
        x0 number - standardized, missing indicator
        x1 constant - dropped
        """
        rows = []
        for column in self.schema_.columns:
            facts = self.facts_[column.name]
            treatment = self._describe_treatment(column)
            if column.reading is not None and column.kind not in _DROPPED:
                treatment = f"{column.reading}: {treatment}"
            row = {"name": column.name, "kind": column.kind, "treatment": treatment}
            rows.append({**row, **facts})
        return rows

    def state(self) -> dict[str, Any]:
        """Return the config and all that was learned: JSON-able values, and arrays."""
        config = {}
        for name in PreprocessingConfig.names():
            value = getattr(self.config, name)
            config[name] = _plain_columns(value) if _is_list(value) else value
        return {
            "config": config,
            "schema": self.schema_.state(),
            "selection": None if self.selection_ is None else self.selection_.state(),
            "facts": self.facts_,
            "warnings": self.warnings_,
            "texts": {name: text.state() for name, text in self.texts_.items()},
            "starts": {name: str(start) for name, start in self.starts_.items()},
            "indicators": self.indicators_,
            "fourier": None if self.fourier_ is None else asdict(self.fourier_),
            "parts": [list(part) for part in self.parts_],
            "n_numbers": self.n_numbers,
            "numeric": self.numeric_.state(),
            "categorical": self.categorical_.state(),
        }

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        """Rebuild the preprocessor from what was learned."""
        new = cls(PreprocessingConfig(**state["config"]))
        new.schema_ = Schema.from_state(state["schema"])
        selection, fourier = state["selection"], state["fourier"]
        new.selection_ = selection and FeatureSelection.from_state(selection)
        new.facts_, new.warnings_ = state["facts"], state.get("warnings", [])
        starts = state["starts"].items()
        new.starts_ = {name: np.datetime64(start, "us") for name, start in starts}
        texts = state.get("texts", {}).items()
        new.texts_ = {name: TextFeatures.from_state(text) for name, text in texts}
        new.indicators_ = state["indicators"]
        new.fourier_ = fourier and FourierFeatures(**fourier)
        new.parts_ = [(name, part) for name, part in state["parts"]]
        new.n_numbers = state["n_numbers"]
        new.numeric_ = NumericColumns.from_state(state["numeric"])
        new.categorical_ = CategoricalColumns.from_state(state["categorical"])
        check_preprocessor(new)
        return new

    def _kept(self) -> list[str | int]:
        """The columns that are used though they may look like identifiers."""
        time = self.config.time_column
        kept = [] if self.config.keep is None else [*self.config.keep]
        return kept if time is None else [*kept, time]

    def _parts(self, table: RawTable) -> dict[tuple[str, str], np.ndarray]:
        """All numerical cells, by column and by part of a date or a text."""
        parts = {(name, ""): table.columns[name] for name in self._names("number")}
        for name, start in self.starts_.items():
            for part, values in date_parts(table.columns[name], start).items():
                parts[name, part] = values
        for name, text in self.texts_.items():
            for place, values in enumerate(text.transform(table.columns[name]).T):
                parts[name, f"text {place}"] = values
        return parts

    def _categories(self) -> list[str]:
        return self._names("boolean", "category", "text")

    def _names(self, *kinds: str) -> list[str]:
        """The columns of these kinds; without the time column, if it is not used so."""
        used = TIME_FEATURES[self.config.time_features].as_column
        excluded = None if used else self.config.time_column
        return [name for name in self.schema_.names(*kinds) if name != excluded]

    def _learn_fourier(self, table: RawTable) -> FourierFeatures | None:
        """Learn the Fourier features of the time column, if there are any."""
        name, features = self.config.time_column, TIME_FEATURES
        if name is None:
            return None
        if name in self.schema_.names("category", "boolean"):
            raise ValueError(
                f"The time_column {name!r} is also listed in categorical_features; "
                "remove it from one of them."
            )
        wanted = features[self.config.time_features]
        if not wanted.fourier or name in self.schema_.names("constant"):
            return None
        cells = table.columns[str(name)]
        times = read_times(str(name), cells)
        return learn_fourier(times, dates=cells.dtype.kind == "M", trend=wanted.trend)

    def _cells(self, table: RawTable) -> np.ndarray:
        cells = [as_levels(table.columns[name]) for name in self._categories()]
        return _stack(cells, len(table), object)  # (N, C)

    def _sources(self) -> tuple[list[str], list[str]]:
        """The column of each number and plain feature, and the column of each level."""
        numbers = [name for name, _ in self.parts_] + self.indicators_
        if self.fourier_ is not None:
            numbers += [str(self.config.time_column)] * len(self.fourier_.names)
        levels = [
            name
            for name, own in zip(
                self._categories(), self.categorical_.levels_, strict=True
            )
            for _ in range(len(own) if len(own) > 1 else 0)
        ]
        return numbers, levels

    def cell_sources(self) -> list[str | None]:
        """The column that each number, plain column and code of a row comes from."""
        numbers, _ = self._sources()
        categories = self._categories()
        codes = [categories[place] for place in self.categorical_.kept_]
        # A table without any feature has a plain column of zeros.
        empty = [None] * (self.n_numbers + self.n_plain - len(numbers))
        return [*numbers, *empty, *codes]

    def _design_matrix(
        self, table: RawTable, sources: list[str], names: list[str]
    ) -> DesignMatrix:
        """The encoded table as one matrix; feature j comes from column `sources[j]`."""
        numbers, plain, codes = self.transform(table)
        levels = np.zeros((len(numbers), self.n_levels + 1), dtype=np.float32)
        np.put_along_axis(levels, codes, 1.0, axis=1)  # the last is the unknown level
        place = {name: i for i, name in enumerate(names)}
        return DesignMatrix(
            np.concatenate([numbers, plain, levels[:, :-1]], axis=1),
            np.array([place[name] for name in sources]),
            self.n_levels,
        )

    def _warnings(self, table: RawTable) -> list[str]:
        """What was lost in reading the training table, and the way out."""
        texts = []
        for column in self.schema_.columns:
            texts += column_warnings(column, len(table))
        levels = dict(zip(self._categories(), self.categorical_.levels_, strict=True))
        for name in self.schema_.names("category", "text"):
            if name in levels and name not in self.texts_:
                texts += level_warnings(name, levels[name], table.columns[name])
        return texts

    def _describe_treatment(self, column: Column) -> str:
        name, kind = column.name, column.kind
        if kind in _DROPPED:
            return _DROPPED[kind]
        if name not in self._categories():
            return self._describe_number(name)
        levels = dict(zip(self._categories(), self.categorical_.levels_, strict=True))
        text = _describe_levels(levels[name])
        if name in self.texts_:
            n_features = sum(source == name for source, _ in self.parts_)
            recurring = f", {text}" if len(levels[name]) > 1 else ""
            text = f"{n_features} text features{recurring}"
        return text

    def _describe_number(self, name: str) -> str:
        found = [part for part in self.parts_ if part[0] == name]
        words = [part for _, part in found if part]  # of a date
        if found:
            words.append("standardized" if self.config.standardize else "as it is")
        if set(found) & set(self.parts_[self.n_numbers :]):
            words.append("not encoded")
        if name == self.config.time_column and self.fourier_ is not None:
            words.append(f"{len(self.fourier_.names)} Fourier features")
        if name in self.indicators_:
            words.append("missing indicator")
        return ", ".join(words) or "dropped"


def _plain_columns(columns: Any) -> list[str | int]:
    """Names and positions as JSON has them."""
    return [each if isinstance(each, str) else int(each) for each in columns]


def _n_distinct(cells: np.ndarray) -> int:
    present = cells[~missing_in(cells)]
    return len(set(present) if cells.dtype.kind == "O" else np.unique(present))


def _describe_levels(levels: Levels) -> str:
    if len(levels) < 2:
        return "dropped: no two levels are left"
    rare = f", {len(levels.rare)} rare ones grouped" if levels.rare else ""
    return f"{len(levels)} levels{rare}"


def _facts(cells: np.ndarray) -> dict[str, Any]:
    share = float(missing_in(cells).mean())
    return {"n_distinct": _n_distinct(cells), "share_missing": share}


def _stack(columns: list[np.ndarray], n_rows: int, dtype: Any) -> np.ndarray:
    stacked = np.empty((n_rows, len(columns)), dtype=dtype)
    for place, cells in enumerate(columns):
        stacked[:, place] = cells
    return stacked
