"""Groups of rows, such as all rows of one patient, as numbers.

Rows of a query's own group do not vote on it. Groups are named by values of any type;
equal texts are equal groups, and a missing value belongs to no group.
"""

from typing import Any

import numpy as np

from modernnca.table.read import as_levels, read_table

NO_GROUP = -1


def read_groups(groups: Any, n_rows: int, what: str = "X") -> np.ndarray:
    """The names of the groups of rows, as text: (N,), None where there is none.

    >>> read_groups([7, None, 7.0], 3)
    array(['7', None, '7'], dtype=object)
    >>> read_groups(["a"], 3)
    Traceback (most recent call last):
    ...
    ValueError: groups must name the group of each of the 3 rows of X; got 1.
    """
    column = groups if hasattr(groups, "__len__") else list(groups)
    if getattr(column, "ndim", 1) != 1 or len(column) != n_rows:
        shape = getattr(column, "shape", (len(column),))
        shown = len(column) if len(shape) == 1 else f"the shape {tuple(shape)}"
        raise ValueError(
            f"groups must name the group of each of the {n_rows:,} rows of {what}; "
            f"got {shown}."
        )
    cells = np.empty(n_rows, dtype=object)
    cells[:] = column.tolist() if hasattr(column, "tolist") else [*column]
    (read,) = read_table(cells[:, None]).columns.values()
    return as_levels(read)


def number_groups(names: np.ndarray) -> tuple[np.ndarray, tuple[str, ...]]:
    """The number of each row's group (N,), and the names of the groups.

    >>> number_groups(np.array(["b", None, "a", "b"], dtype=object))
    (array([ 1, -1,  0,  1]), ('a', 'b'))
    """
    known = tuple(sorted({*names.tolist()} - {None}))
    if len(known) < 2:
        told = f"({known[0]!r})" if known else "(all are missing)"
        raise ValueError(
            f"groups names {len(known)} group {told}, and a row needs neighbors of "
            "another group; give at least two groups, or leave groups out."
        )
    return find_groups(names, known), known


def find_groups(names: np.ndarray, known: tuple[str, ...]) -> np.ndarray:
    """The numbers (N,) of groups by name; -1 of new groups, which mask nothing."""
    numbers = {name: number for number, name in enumerate(known)}
    found = (numbers.get(name, NO_GROUP) for name in names.tolist())
    return np.fromiter(found, dtype=np.int64, count=len(names))
