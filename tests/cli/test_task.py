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


@pytest.mark.parametrize(
    ("cells", "values"),
    [
        ([f"${row:,}" for row in range(1000, 1060)], [*range(1000, 1060)]),
        ([f"{row},5" for row in range(60)], [row + 0.5 for row in range(60)]),
    ],
)
def test_prices_in_text_are_numbers(cells, values):
    target = target_of(pa.table({"y": [*cells, " ", "n/a", None]}), "y")
    assert target.values.tolist() == values
    assert (target.n_missing, target.unread) == (3, None)
    assert guess_task(target.values) is Task.REGRESSION
    classes = target_of(pa.table({"y": cells}), "y", Task.CLASSIFICATION)
    assert classes.values.tolist() == cells


def test_a_few_texts_are_classes_even_if_they_are_numbers_or_words_for_missing():
    cells = ["1", "2", "None", "-", "1", "2"] * 5
    target = target_of(pa.table({"y": [*cells, " "]}), "y")
    assert target.values.tolist() == cells
    assert target.n_missing == 1


def test_targets_that_are_not_numbers_are_missing_and_named():
    cells = [f"{row}.5" for row in range(60)]
    target = target_of(pa.table({"y": [*cells, "ask us"]}), "y")
    assert (len(target.values), target.n_missing, target.unread) == (60, 1, "ask us")
    target = target_of(pa.table({"y": ["1", "2", "x", "y"]}), "y", Task.REGRESSION)
    assert (target.values.tolist(), target.unread) == ([1, 2], "x")
