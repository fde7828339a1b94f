import datetime as dt
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from modernnca.cli.task import Task, guess_task, target_of


@pytest.mark.parametrize(
    ("values", "task"),
    [
        (["a", "b", "a"], Task.CLASSIFICATION),
        ([True, False], Task.CLASSIFICATION),
        ([0, 1] * 5, Task.CLASSIFICATION),
        ([0.0, 1.0] * 5, Task.CLASSIFICATION),  # pandas has no other way with gaps
        (list(range(20)) * 2, Task.CLASSIFICATION),
        (list(range(21)) * 2, Task.REGRESSION),
        (list(range(15)), Task.REGRESSION),
        ([0.5, 1.0] * 5, Task.REGRESSION),
    ],
)
def test_classes_are_told_from_numbers(values, task):
    assert guess_task(np.array(values)) is task


@pytest.mark.parametrize(
    ("column", "values"),
    [
        (pa.array([1.0, None, float("nan"), 2.0]), [1.0, 2.0]),
        (pa.array(["a", None, None, "b"]), ["a", "b"]),
        (pa.array(["a", None, None, "b"]).dictionary_encode(), ["a", "b"]),
        (pa.array([True, None, None, False]), [True, False]),
        (pa.array([Decimal("1.5"), None, None, Decimal("2")]), [1.5, 2.0]),
        (pa.array([7, None, None, 8], pa.int8()), [7, 8]),
    ],
)
def test_rows_without_a_target_are_left_out(column, values):
    target = target_of(pa.table({"y": column}), "y")
    assert target.values.tolist() == values
    assert target.rows.tolist() == [0, 3]
    assert target.n_missing == 2


@pytest.mark.parametrize("value", [dt.date(2024, 1, 1), [1, 2]])
def test_a_target_of_dates_or_lists_is_refused(value):
    with pytest.raises(ValueError, match="name a column of numbers, text or booleans"):
        target_of(pa.table({"y": [value, value]}), "y")
