"""The target column, and whether it is classification or regression."""

from enum import StrEnum
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pa_compute

from modernnca.table.gap_words import without_gap_words
from modernnca.table.text_reading import find_reading

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
    unread: str | None = None  # one of the texts among numbers, which are missing


def target_of(table: pa.Table, name: str, task: Task = Task.AUTO) -> Target:
    """Read the target from a table; rows where it is missing are skipped.

    Numbers in text are numbers, unless the task is classification.

    >>> target_of(pa.table({"y": [3, None, 4]}), "y").values
    array([3, 4])
    >>> target_of(pa.table({"y": ["$1,200", "n/a", "$950"]}), "y").values
    array([1200.,  950.])
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
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        return _target_of_text(column.to_numpy(), name, task)
    values = column.filter(there).to_numpy()
    return Target(values, rows, len(column) - len(rows))


def _target_of_text(cells: np.ndarray, name: str, task: Task) -> Target:
    """Classes; or numbers, if that is asked, or the texts are many different ones."""
    if task is not Task.CLASSIFICATION:
        texts, asked = without_gap_words(cells), task is Task.REGRESSION
        reading = find_reading(texts, kind="number" if asked else None)
        if reading is not None and reading.kind == "number":
            values, reading = reading.read(texts)
            rows = np.flatnonzero(~np.isnan(values))
            if asked or guess_task(values[rows]) is Task.REGRESSION:
                n_missing = len(values) - len(rows)
                return Target(values[rows], rows, n_missing, reading.example)
        elif asked:
            text = next(cell for cell in cells if cell is not None)
            raise ValueError(
                f"The target {name!r} holds text, such as {text!r}, but regression "
                "needs numbers; use --task classification, or name another with "
                "--target."
            )
    # Unlike in other columns, "None" and "-" may be classes.
    rows = np.array([i for i, cell in enumerate(cells) if cell and cell.strip()], int)
    return Target(cells[rows], rows, len(cells) - len(rows))


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
