"""What is to be predicted: a column, and whether it holds classes or numbers."""

from enum import StrEnum
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pa_compute

_MOST_CLASSES = 20  # of a target of whole numbers
_FEWEST_ROWS_OF_A_CLASS = 2  # on average


class Task(StrEnum):
    """What `fit` can be told to learn."""

    AUTO = "auto"
    CLASSIFICATION = "classification"
    REGRESSION = "regression"


class Target(NamedTuple):
    """The rows that have a target, and what it is."""

    values: np.ndarray  # (N,)
    rows: np.ndarray  # (N,) where these rows stand in the table
    n_missing: int  # so many other rows have none


def target_of(table: pa.Table, name: str) -> Target:
    """Take the target out of a table; rows where it is missing are left out.

    >>> target_of(pa.table({"y": [3, None, 4]}), "y")
    Target(values=array([3, 4]), rows=array([0, 2]), n_missing=1)
    """
    column = table.column(name)
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_decimal(column.type):
        column = column.cast(pa.float64())
    there = pa_compute.invert(pa_compute.is_null(column, nan_is_null=True))
    rows = np.flatnonzero(there.to_numpy())
    if not len(rows):
        raise ValueError(
            f"The target {name!r} is missing in every row; name another with --target."
        )
    if pa.types.is_temporal(column.type) or pa.types.is_nested(column.type):
        raise ValueError(
            f"The target {name!r} holds {column.type} values; "
            "name a column of numbers, text or booleans with --target."
        )
    values = column.filter(there).to_numpy()
    return Target(values, rows, len(column) - len(rows))


def guess_task(values: np.ndarray) -> Task:
    """Tell classes from numbers.

    Text and booleans are classes, and so are whole numbers of at most 20 distinct
    values that occur at least twice on average. All else are numbers.

    >>> guess_task(np.array([0, 1, 1, 0])).value, guess_task(np.array([0.5, 1])).value
    ('classification', 'regression')
    """
    if values.dtype.kind not in "iuf":
        return Task.CLASSIFICATION
    n_distinct = len(np.unique(values))
    few = n_distinct <= min(_MOST_CLASSES, len(values) / _FEWEST_ROWS_OF_A_CLASS)
    whole = bool((values == np.rint(values)).all())
    return Task.CLASSIFICATION if few and whole else Task.REGRESSION
