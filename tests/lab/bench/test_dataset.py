"""Tasks, targets and categories of tables."""

import numpy as np
import pandas as pd
import pytest

from modernnca.errors import TableError
from modernnca.lab.bench.dataset import (
    Dataset,
    as_categories,
    guess_task,
    target_values,
    with_categories,
)


@pytest.mark.parametrize(
    ("cells", "task"),
    [
        (["a", "b", "c", None], "multiclass"),
        ([True, False, True], "binclass"),
        ([0, 1, 1, 0], "binclass"),
        ([0.0, 1.0, np.nan, 2.0, 1.0, 2.0, 0.0], "multiclass"),
        ([0.5, 1.0, 0.5, 1.0], "regression"),
        (range(30), "regression"),
        ([*range(21), *range(21)], "regression"),
        ([*range(20), *range(20)], "multiclass"),
    ],
)
def test_tasks_are_guessed(cells, task):
    assert guess_task(pd.Series(cells)) == task


def test_classes_are_those_of_rows_with_a_target():
    y = np.array(["b", None, "a", "b"], dtype=object)
    dataset = Dataset("t", "binclass", pd.DataFrame({"x": range(4)}), y)
    assert dataset.has_target.tolist() == [True, False, True, True]
    assert dataset.classes.tolist() == ["a", "b"]


def test_numbers_to_predict_have_no_classes():
    X = pd.DataFrame({"x": range(2)})
    assert Dataset("t", "regression", X, np.array([0.0, 1.0])).classes is None


def test_targets_are_numbers_or_labels():
    numbers = pd.Series([1, None, 3], dtype="Int64")
    values = target_values(numbers, task="regression", source="t")
    np.testing.assert_array_equal(values, [1.0, np.nan, 3.0])
    labels = target_values(pd.Series([3, 4]), task="binclass", source="t")
    assert labels.tolist() == [3, 4]


def test_text_is_no_number():
    with pytest.raises(TableError, match="'y' of t is not numeric"):
        target_values(pd.Series(["a", "1"], name="y"), task="regression", source="t")


def test_a_target_of_gaps_is_refused():
    with pytest.raises(TableError) as error:
        target_values(pd.Series([None, None], name="y"), task="binclass", source="t")
    assert str(error.value) == (
        "The target 'y' of t is missing in every row; choose another column."
    )


def test_equal_levels_of_two_types_become_one():
    cells = np.array([1, "1", 1.0, "x", None], dtype=object)
    made = as_categories(cells, gaps=["x"])
    assert made.codes.tolist() == [0, 0, 0, -1, -1]
    assert made.categories.tolist() == ["1"]


def test_frames_keep_numbers_dates_and_categories():
    frame = pd.DataFrame(
        {
            "number": [1.5, np.nan],
            "date": pd.to_datetime(["2024-01-01", None]),
            "category": pd.Categorical(["b", "a"], categories=["b", "a"]),
            "text": ["x", None],
            "truth": [True, False],
        }
    )
    made = with_categories(frame)
    same = ["number", "date", "category"]
    pd.testing.assert_frame_equal(made[same], frame[same])
    assert made["text"].cat.categories.tolist() == ["x"]
    assert made["truth"].tolist() == ["True", "False"]
