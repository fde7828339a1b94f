"""When rows happened: a column of dates or numbers, read as moments in order."""

from dataclasses import dataclass

import numpy as np

from modernnca.errors import TableError
from modernnca.table.read import RawTable, missing_in, sort_of
from modernnca.table.schema import Names, listed, parse_dates

_DAY = np.timedelta64(1, "D")


def read_times(name: str, cells: np.ndarray) -> np.ndarray:
    """Read a time column as numbers (N,): of dates the days; NaN where missing.

    >>> read_times("when", np.array(["1970-01-02 12:00", None], dtype=object))
    array([1.5, nan])
    """
    dates = parse_dates(cells) if sort_of(cells) == "text" else cells
    if dates is not None and dates.dtype.kind == "M":
        return np.asarray((dates - np.datetime64(0, "us")) / _DAY, dtype=np.float64)
    if sort_of(cells) == "nothing":
        return np.full(len(cells), np.nan)
    if cells.dtype.kind != "f":
        example = next(cell for cell in cells[~missing_in(cells)])
        raise ValueError(
            f"The time_column {name!r} must hold dates or numbers, but holds "
            f"{example!r}; convert it first, or name another."
        )
    return cells


@dataclass(frozen=True)
class Clock:
    """A time column, and the moments that were there in fit.

    A moment is a whole number: the later, the larger. A time between two moments counts
    as the one before, a time before all as the first, and a missing time as the last.

    >>> from modernnca.table.read import read_table
    >>> clock = learn_clock([read_table([[3], [1], [1]])], 0)
    >>> clock.tell(read_table([[0], [1], [2.5], [3], [9], [None]]))
    array([0, 0, 0, 1, 1, 1])
    """

    column: str
    place: int
    named: bool
    times: np.ndarray  # (T,) the different times of fit, in order

    def tell(self, table: RawTable) -> np.ndarray:
        """The moment of each row, (N,)."""
        times = self.read(table)
        late = np.searchsorted(self.times, times, side="right") - 1  # NaN is the last
        return np.clip(late, 0, max(0, len(self.times) - 1))

    def read(self, table: RawTable) -> np.ndarray:
        """The time of each row, (N,); NaN where missing."""
        if not (table.named and self.named):
            return read_times(self.column, [*table.columns.values()][self.place])
        if self.column not in table.columns:
            raise TableError(
                f"The table lacks the time_column {self.column!r}, which was there in "
                "fit; where times are not known, give it with its cells missing."
            )
        return read_times(self.column, table.columns[self.column])


def learn_clock(tables: list[RawTable], column: str | int) -> Clock:
    """Learn the times of tables of like columns, of which the first says their order.

    >>> from modernnca.table.read import read_table
    >>> learn_clock([read_table([[1], [2]])], 3)
    Traceback (most recent call last):
    ...
    ValueError: Unknown column 3 in time_column; the columns are: x0.
    """
    columns: Names = [column]
    (name,) = listed(tables[0], "time_column", columns)
    place = [*tables[0].columns].index(name)
    clock = Clock(name, place, tables[0].named, np.empty(0))
    times = np.concatenate([clock.read(table) for table in tables])
    return Clock(name, place, tables[0].named, np.unique(times[~np.isnan(times)]))
