"""A time column of dates or numbers, read as ranks in time."""

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from modernnca.errors import TableError
from modernnca.table.read import RawTable, column_type, missing_in
from modernnca.table.schema import Names, listed
from modernnca.table.text_reading import Reading, find_reading

_DAY = np.timedelta64(1, "D")


def read_times(
    name: str, cells: np.ndarray, reading: Reading | None = None
) -> np.ndarray:
    """Read a time column as numbers (N,): of dates the days; NaN where missing.

    Args:
        reading: of texts; None: as the texts themselves tell.

    >>> read_times("when", np.array(["1970-01-02 12:00", None], dtype=object))
    array([1.5, nan])
    """
    held = column_type(cells)
    if held == "text":
        reading = reading or find_reading(cells)
        cells = cells if reading is None else reading.read(cells)[0]
    if cells.dtype.kind == "M":
        return np.asarray((cells - np.datetime64(0, "us")) / _DAY, dtype=np.float64)
    if held == "nothing":
        return np.full(len(cells), np.nan)
    if cells.dtype.kind != "f":
        example = next(cell for cell in cells[~missing_in(cells)])
        raise ValueError(
            f"The time_column {name!r} must hold dates or numbers, but holds "
            f"{example!r}; convert it first, or name another."
        )
    return cells


@dataclass(frozen=True)
class TimeColumn:
    """The time column, and the distinct times of the training table.

    A rank is the index of the latest of these times that is not later. A time before
    all of them gets rank 0, a missing time the last rank.

    >>> from modernnca.table.read import read_table
    >>> column = learn_times([read_table([[3], [1], [1]])], 0)
    >>> column.rank(read_table([[0], [1], [2.5], [3], [9], [None]]))
    array([0, 0, 0, 1, 1, 1])
    """

    name: str
    place: int
    named: bool
    times: np.ndarray  # (T,) distinct, in order
    reading: Reading | None = None  # of texts

    def rank(self, table: RawTable) -> np.ndarray:
        """The rank of each row in time, (N,)."""
        times = self.read(table)
        late = np.searchsorted(self.times, times, side="right") - 1  # NaN is the last
        return np.clip(late, 0, max(0, len(self.times) - 1))

    def read(self, table: RawTable) -> np.ndarray:
        """The time of each row, (N,); NaN where missing."""
        self.check(table)
        if not (table.named and self.named):
            cells = [*table.columns.values()][self.place]
            return read_times(self.name, cells, self.reading)
        return read_times(self.name, table.columns[self.name], self.reading)

    def check(self, table: RawTable) -> None:
        """Raise if a table lacks the column."""
        if table.named and self.named and self.name not in table.columns:
            raise TableError(
                f"The table lacks the time_column {self.name!r} of the training table; "
                "where times are not known, leave its cells empty."
            )

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        """Rebuild the column from its fields as plain values."""
        reading = state.get("reading")
        return cls(**{**state, "reading": reading and Reading(**reading)})


def learn_times(tables: list[RawTable], column: str | int) -> TimeColumn:
    """Learn the distinct times of tables with the same columns.

    >>> from modernnca.table.read import read_table
    >>> learn_times([read_table([[1], [2]])], 3)
    Traceback (most recent call last):
    ...
    ValueError: Unknown column 3 in time_column; the columns are: x0.
    """
    columns: Names = [column]
    (name,) = listed(tables[0], "time_column", columns)
    place = [*tables[0].columns].index(name)
    cells = tables[0].columns[name]
    reading = find_reading(cells) if column_type(cells) == "text" else None
    empty = TimeColumn(name, place, tables[0].named, np.empty(0), reading)
    times = np.concatenate([empty.read(table) for table in tables])
    return replace(empty, times=np.unique(times[~np.isnan(times)]))
