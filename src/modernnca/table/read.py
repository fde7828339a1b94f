"""Any table (a frame, an array, a list of rows) as named columns of a few types.

The types, and how each is stored (N rows):
    number    float64, missing is NaN; durations are numbers, in seconds
    boolean   objects True, False, None
    text      objects str, None
    datetime  datetime64[us] in UTC, missing is NaT
    nothing   any of these with every cell missing

Blanks and the usual words for missing (gap_words.py) are missing cells of a text.
Integers that a float64 cannot hold are text.
"""

import datetime as dt
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from numbers import Integral, Real
from typing import Any

import narwhals as nw
import numpy as np
from sklearn.utils import check_array

from modernnca.table.gap_words import without_gap_words
from modernnca.table.text_reading import Reading

_BOOLEANS = (bool, np.bool_)
_NUMBERS = (Real, Decimal, np.bool_)
_DATES = (dt.date, np.datetime64)
_DURATIONS = (dt.timedelta, np.timedelta64)
_CONTAINERS = (dict, list, tuple, set, np.ndarray)
_MISSING_TYPES = ("NoneType", "NAType", "NaTType")  # pandas' own, without pandas
_AS_CELLS = (nw.String, nw.Boolean, nw.Object)
_LEVELED = (nw.Categorical, nw.Enum)
_MAX_WHOLE = 2**53  # of a float64, which cannot tell larger integers apart


@dataclass(frozen=True)
class RawTable:
    """A table as read: its columns in order, each of one type (see above).

    >>> table = read_table([[1, "a"], [None, "b"]])
    >>> table.columns["x0"], table.columns["x1"]
    (array([ 1., nan]), array(['a', 'b'], dtype=object))
    >>> len(table), table.named
    (2, False)
    """

    columns: dict[str, np.ndarray]
    named: bool  # False for arrays and lists, whose columns are called x0, x1, ...
    categorical: frozenset[str] = frozenset()  # declared so by the frame itself
    # Of columns that were text in the frame and have been read: how. See `conform`.
    readings: dict[str, Reading] = field(default_factory=dict)
    ignored: tuple[str, ...] = ()  # columns of the frame that were not read

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), ()))

    def take(self, rows: np.ndarray) -> "RawTable":
        """Return the table of these rows, in this order."""
        columns = {name: cells[rows] for name, cells in self.columns.items()}
        return replace(self, columns=columns)


def column_type(cells: np.ndarray) -> str:
    """Return the type of a column.

    >>> column_type(np.array([None, "a"], dtype=object))
    'text'
    """
    if cells.dtype.kind == "f":
        return "nothing" if np.isnan(cells).all() else "number"
    if cells.dtype.kind == "M":
        return "nothing" if np.isnat(cells).all() else "datetime"
    first = next((cell for cell in cells if cell is not None), None)
    if first is None:
        return "nothing"
    return "boolean" if isinstance(first, bool) else "text"


def missing_in(cells: np.ndarray) -> np.ndarray:
    """Return True where a cell is missing, for a column of any type.

    >>> missing_in(np.array(["a", None], dtype=object))
    array([False,  True])
    """
    if cells.dtype.kind == "f":
        return np.isnan(cells)
    return (
        np.isnat(cells) if cells.dtype.kind == "M" else np.equal(cells, np.array(None))
    )


def is_missing(cell: Any) -> bool:
    """Return whether a cell is None, NaN, or one of pandas' own missing values.

    >>> is_missing(None), is_missing(float("nan")), is_missing("")
    (True, True, False)
    """
    if type(cell) is str:
        return False
    if cell is np.ma.masked:
        return True
    return type(cell).__name__ in _MISSING_TYPES or bool(cell != cell)


def level_text(value: Any) -> str:
    """Return the text of a level, which is the same for 1, 1.0 and "1".

    >>> [level_text(value) for value in (1, 1.0, "1", 1.5, True)]
    ['1', '1', '1', '1.5', 'True']
    """
    if isinstance(value, str | bool | np.bool_ | Integral):
        return str(value)
    if isinstance(value, _NUMBERS):
        number = float(value)
        # From 1e18 on, a float no longer tells one integer from the next.
        whole = number.is_integer() and abs(number) < 1e18
        return str(int(number)) if whole else repr(number)
    return str(value)


def as_levels(cells: np.ndarray) -> np.ndarray:
    """Turn a column of any type into text.

    >>> as_levels(np.array([1.0, np.nan, 2.5]))
    array(['1', None, '2.5'], dtype=object)
    """
    if cells.dtype.kind == "O" and column_type(cells) != "boolean":
        return cells
    missing = missing_in(cells)
    present = cells[~missing]
    if cells.dtype.kind == "M":
        present = np.datetime_as_string(present)
    if cells.dtype.kind != "O":
        levels, places = np.unique(present, return_inverse=True)
        present = _texts(levels.tolist())[places]
    else:
        present = np.where(present.astype(bool), "True", "False")
    return _filled(None, missing, present, dtype=object)


def read_table(X: Any, *, only: Collection[str] | None = None) -> RawTable:
    """Read a pandas, polars or pyarrow frame, a 2-D array or a list of rows.

    Of a frame with named columns, those in `only` are read; None: all.

    >>> read_table(np.array([[1, 2], [3, 4]])).columns
    {'x0': array([1., 3.]), 'x1': array([2., 4.])}
    """
    if nw.dependencies.is_into_dataframe(X) or isinstance(X, nw.DataFrame):
        return _read_frame(X, only)
    if isinstance(nw.from_native(X, pass_through=True), nw.LazyFrame):
        raise TypeError("X is a lazy frame; collect it first.")
    return _read_array(X)


def _read_frame(X: Any, only: Collection[str] | None) -> RawTable:
    names = list(X.column_names if hasattr(X, "column_names") else X.columns)
    named = all(isinstance(name, str) for name in names)  # as scikit-learn has it
    used = [n for n in names if not named or only is None or n in only]
    name, count = (Counter(used).most_common(1) or [("", 0)])[0]
    if count > 1:
        raise ValueError(f"The column name {name!r} occurs twice; rename one of them.")
    frame = nw.from_native(X, eager_only=True)
    _check_shape(*frame.shape)
    columns, categorical = {}, set()
    names = names if named else _plain_names(len(names))
    # Not frame[:, place], which searches all names of a pandas frame each time.
    for name, series in zip(names, frame.iter_columns(), strict=True):
        if named and only is not None and name not in only:
            continue
        columns[name] = _read_series(name, series)
        if series.dtype in _LEVELED:
            categorical.add(name)
    ignored = tuple(name for name in names if name not in columns)
    return RawTable(columns, named, frozenset(categorical), ignored=ignored)


def _read_array(X: Any) -> RawTable:
    if isinstance(X, np.ma.MaskedArray):
        X = fill_masked(X)
    # numpy itself would turn all cells of [[1, "a"]] into text.
    array = check_array(
        np.asarray(X, dtype=object) if isinstance(X, list | tuple) else X,
        dtype=None,
        ensure_all_finite=False,
        ensure_min_samples=0,
        ensure_min_features=0,
        input_name="X",
    )
    _check_shape(*array.shape)
    names = _plain_names(array.shape[1])
    if array.dtype.kind in "fiu" and not _too_large(array):
        columns = list(np.ascontiguousarray(array.T, dtype=np.float64))
    elif array.dtype.kind == "m":
        columns = list(array.T / np.timedelta64(1, "s"))
    elif array.dtype.kind == "M":
        columns = list(array.T.astype("datetime64[us]"))
    else:
        cells = array.astype(object, copy=False).T
        columns = [_read_cells(*pair) for pair in zip(names, cells, strict=True)]
    return RawTable(dict(zip(names, columns, strict=True)), named=False)


def _read_series(name: str, series: nw.Series) -> np.ndarray:
    dtype = series.dtype
    if dtype.is_integer():
        bounds = (series.min(), series.max())  # None, or pandas' NA, if all are missing
        if any(isinstance(b, Integral) and abs(int(b)) > _MAX_WHOLE for b in bounds):
            return _read_cells(name, _as_objects(series.to_list()))
        return np.asarray(series.to_numpy(), dtype=np.float64)
    if dtype.is_numeric():
        return np.asarray(series.cast(nw.Float64).to_numpy(), dtype=np.float64)
    if dtype == nw.Date:
        series = series.cast(nw.Datetime("us"))
    if dtype in (nw.Date, nw.Datetime):
        if isinstance(dtype, nw.Datetime) and dtype.time_zone is not None:
            series = series.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
        return np.asarray(series.to_numpy()).astype("datetime64[us]")
    if dtype == nw.Duration:
        return np.asarray(series.to_numpy()) / np.timedelta64(1, "s")
    if dtype == nw.String and hasattr(series.to_native(), "dictionary_encode"):
        return without_gap_words(_arrow_texts(series.to_native()))
    if dtype in _AS_CELLS:
        return _read_cells(name, np.asarray(series.to_numpy(), dtype=object))
    # Not to_numpy, which gives missing cells of pyarrow's dictionaries a level.
    cells = _as_objects(series.to_list())
    column = _read_cells(name, cells)
    return as_levels(column) if dtype in _LEVELED else column


def _arrow_texts(column: Any) -> np.ndarray:
    """A text column of pyarrow as objects, each distinct text once in memory."""
    parts = []
    for chunk in column.dictionary_encode().iterchunks():
        levels = _as_objects([*chunk.dictionary.to_pylist(), None])
        codes = chunk.indices.fill_null(len(levels) - 1).to_numpy(zero_copy_only=False)
        parts.append(levels[codes])
    return np.concatenate(parts)


def _read_cells(name: str, cells: np.ndarray) -> np.ndarray:
    """Find the type that holds all the objects of a column; else text."""
    types = set(map(type, cells))
    if types <= {str, type(None)}:
        return without_gap_words(cells)
    if any(issubclass(each, _CONTAINERS) for each in types):
        cell = next(cell for cell in cells if isinstance(cell, _CONTAINERS))
        raise TypeError(
            f"The column {name!r} holds {cell!r}, but in a cell each "
            "argument must be a string or a number."
        )
    missing = np.fromiter(map(is_missing, cells), dtype=bool, count=len(cells))
    present = cells[~missing]
    types = set(map(type, present))

    def all_are(kinds: tuple[type, ...]) -> bool:
        return all(issubclass(each, kinds) for each in types)

    if all_are(_BOOLEANS):
        return _filled(None, missing, present.astype(bool), dtype=object)
    if all_are(_DURATIONS):
        seconds = [np.timedelta64(cell) / np.timedelta64(1, "s") for cell in present]
        return _filled(np.nan, missing, seconds, dtype=np.float64)
    if all_are(_NUMBERS) and not any(
        isinstance(cell, Integral) and abs(int(cell)) > _MAX_WHOLE for cell in present
    ):
        return _filled(np.nan, missing, present, dtype=np.float64)
    if all_are(_DATES):
        dates = [_utc(cell) for cell in present]
        return _filled("NaT", missing, dates, dtype="datetime64[us]")
    texts = without_gap_words(_texts(present))
    return _filled(None, missing, texts, dtype=object)


def fill_masked(array: np.ma.MaskedArray) -> np.ndarray:
    """Return the array with a gap wherever it is masked.

    >>> fill_masked(np.ma.array([1, 2], mask=[False, True]))
    array([ 1., nan])
    """
    blank: Any = None
    dtype = np.dtype(object)
    if array.dtype.kind in "fiu" and not _too_large(array.compressed()):
        blank, dtype = np.nan, np.dtype(np.float64)
    elif array.dtype.kind in "mM":
        blank, dtype = "NaT", array.dtype
    filled = array.data.astype(dtype)
    filled[np.ma.getmaskarray(array)] = blank
    return filled


def _too_large(array: np.ndarray) -> bool:
    """Whether there are integers that a float64 cannot tell apart."""
    if array.dtype.kind not in "iu" or not array.size:
        return False
    return bool(max(abs(int(array.min())), abs(int(array.max()))) > _MAX_WHOLE)


def _as_objects(cells: list[Any]) -> np.ndarray:
    return np.fromiter(cells, dtype=object, count=len(cells))


def _texts(values: Iterable[Any]) -> np.ndarray:
    return np.array([level_text(value) for value in values], dtype=object)


def _utc(cell: Any) -> np.datetime64:
    if isinstance(cell, dt.datetime) and cell.tzinfo is not None:
        cell = cell.astimezone(dt.UTC).replace(tzinfo=None)
    return np.datetime64(cell, "us")


def _filled(
    blank: Any, missing: np.ndarray, present: Sequence | np.ndarray, *, dtype: Any
) -> np.ndarray:
    cells = np.full(len(missing), blank, dtype=dtype)
    cells[~missing] = present
    return cells


def _plain_names(n_columns: int) -> list[str]:
    return [f"x{place}" for place in range(n_columns)]


def _check_shape(n_rows: int, n_columns: int) -> None:
    for what, count in (("feature", n_columns), ("sample", n_rows)):
        if count == 0:
            raise ValueError(
                f"Found a table with 0 {what}(s) (shape=({n_rows}, {n_columns})) "
                "while a minimum of 1 is required."
            )
