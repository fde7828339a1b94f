"""The target column, and whether it is classification or regression."""

from enum import StrEnum
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pa_compute

_MAX_CLASSES = 20  # of a target of whole numbers
_MIN_ROWS_PER_CLASS = 2  # on average


class Task(StrEnum):
    """The task of a fit."""

    AUTO = "auto"
    CLASSIFICATION = "classification"
    REGRESSION = "regression"


class Target(NamedTuple):
    """The rows that have a target, and their targets."""

    values: np.ndarray  # (N,)
    rows: np.ndarray  # (N,) their row numbers in the table
    n_missing: int  # rows without a target


def target_of(table: pa.Table, name: str) -> Target:
    """Read the target from a table; rows where it is missing are skipped.

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
    """Guess the task from the target.

    Text and booleans mean classification, and so do whole numbers with at most 20
    distinct values that occur at least twice on average. The rest is regression.

    >>> guess_task(np.array([0, 1, 1, 0])).value, guess_task(np.array([0.5, 1])).value
    ('classification', 'regression')
    """
    if values.dtype.kind not in "iuf":
        return Task.CLASSIFICATION
    n_distinct = len(np.unique(values))
    few = n_distinct <= min(_MAX_CLASSES, len(values) / _MIN_ROWS_PER_CLASS)
    whole = bool((values == np.rint(values)).all())
    return Task.CLASSIFICATION if few and whole else Task.REGRESSION
