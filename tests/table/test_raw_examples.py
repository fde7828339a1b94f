"""Raw rows as given to `fit`: what belongs together stays together."""

import numpy as np
import pandas as pd
import pytest

from modernnca.table.raw_examples import (
    concatenate_raw,
    read_eval_set,
    read_examples,
)
from modernnca.table.schema import learn_schema

X = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": ["u", "v", "u"]})
Y = ["no", "yes", "no"]


def read(X=X, y=Y, sample_weight=None, class_weight=None):
    return read_examples(X, y, sample_weight, class_weight)


def message(function, *args, **kwargs):
    with pytest.raises(ValueError) as error:
        function(*args, **kwargs)
    return str(error.value)


def test_rows_are_read_and_numbered():
    rows = read()
    assert len(rows) == 3
    assert rows.table.columns["a"].tolist() == [1, 2, 3]
    assert rows.y.tolist() == Y
    assert rows.weights is None
    assert rows.index.tolist() == [0, 1, 2]


def test_some_rows_keep_what_belongs_to_them():
    rows = read(sample_weight=[1.0, 2.0, 3.0]).take(np.array([2, 0]))
    assert rows.table.columns["a"].tolist() == [3, 1]
    assert rows.table.columns["b"].tolist() == ["u", "u"]
    assert rows.y.tolist() == ["no", "no"]
    assert rows.weights.tolist() == [3, 1]
    assert rows.index.tolist() == [2, 0]
    assert rows.take(np.array([1])).index.tolist() == [0]
    assert read().take(np.array([1])).weights is None


def test_rows_of_zero_weight_are_left_out():
    rows = read(sample_weight=[1, 0, 2])
    assert rows.table.columns["a"].tolist() == [1, 3]
    assert rows.y.tolist() == ["no", "no"]
    assert rows.weights.tolist() == [1, 2]
    assert rows.index.tolist() == [0, 2]


def test_class_weights_multiply_sample_weights():
    by_class = {"no": 1.0, "yes": 2.0}
    assert read(class_weight=by_class).weights.tolist() == [1, 2, 1]
    both = read(sample_weight=[1, 3, 2], class_weight=by_class)
    assert both.weights.tolist() == [1, 6, 2]


def test_balanced_weights_are_computed_from_the_rows_that_are_left():
    y = ["no", "yes", "yes"]
    rows = read(y=y, sample_weight=[1, 0, 2], class_weight="balanced")
    assert rows.weights.tolist() == [1, 2]  # one row of each class


def test_bad_examples_are_refused():
    assert "inconsistent numbers of samples" in message(read, y=["no", "yes"])
    assert "Negative values" in message(read, sample_weight=[1, -1, 1])
    assert "sample_weight.shape" in message(read, sample_weight=[1, 1])
    assert message(read, X[:1], Y[:1]) == (
        "Found a table with n_samples=1, but a row needs a neighbor: "
        "give at least 2 rows."
    )


def test_validation_rows_are_numbered_after_all_rows_of_fit():
    rows = read(sample_weight=[1, 0, 2])
    valid = read_eval_set((X[:2], Y[:2]), rows)
    assert valid.index.tolist() == [3, 4]
    assert valid.weights.tolist() == [1, 1]
    assert valid.y.tolist() == ["no", "yes"]
    assert read_eval_set([X[:2], Y[:2]], read()).weights is None
    by_class = {"no": 1.0, "yes": 2.0}
    assert read_eval_set((X[:2], Y[:2]), rows, by_class).weights.tolist() == [1, 2]


def test_bad_validation_rows_are_refused():
    expected = "eval_set must be a pair (X, y) of validation rows; got "
    rows = read()
    for bad, kind in ((X, "DataFrame"), ((X,), "tuple"), ([X, Y, Y], "list")):
        found = message(read_eval_set, bad, rows)
        assert found == f"{expected}{kind}."
    found = message(read_eval_set, (X, Y[:2]), rows)
    assert "inconsistent numbers of samples" in found


@pytest.mark.parametrize("weighted", [False, True])
def test_rows_are_concatenated_as_the_schema_reads_them(weighted):
    rows = read(sample_weight=[1, 2, 3] if weighted else None)
    turned = pd.DataFrame({"b": [1, None], "a": [7, None]})  # other types and order
    valid = read_eval_set((turned, ["yes", "no"]), rows)
    both = concatenate_raw(rows, valid, learn_schema(rows.table))
    assert len(both) == 5
    np.testing.assert_array_equal(both.table.columns["a"], [1, 2, 3, 7, np.nan])
    assert both.table.columns["b"].tolist() == ["u", "v", "u", "1", None]
    assert both.y.tolist() == [*Y, "yes", "no"]
    assert both.index.tolist() == [0, 1, 2, 3, 4]
    if weighted:
        assert both.weights.tolist() == [1, 2, 3, 1, 1]
    else:
        assert both.weights is None
