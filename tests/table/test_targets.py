"""Targets: to what rows vote for, and back."""

import json
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import DataConversionWarning

from modernnca.table.targets import ClassificationTarget, RegressionTarget, bin_numbers

LABELS = [
    ["no", "yes", "no"],
    np.array(["no", "yes", "no"], dtype=object),
    pd.Series(["no", "yes", "no"]),
    pd.Series(["no", "yes", "no"], dtype="category"),
    pl.Series(["no", "yes", "no"]),
    [3, 7, 3],
    np.array([3, 7, 3], dtype=object),
    pd.Series([3, 7, 3], dtype="Int64"),
    pl.Series([3, 7, 3]),
    [3.0, 7.0, 3.0],
    [False, True, False],
    pd.Series([False, True, False], dtype="boolean"),
]


@pytest.mark.parametrize("y", LABELS)
def test_labels_of_any_type_come_back(y):
    target = ClassificationTarget().fit(y)
    found = target.encode(y)
    assert found.dtype == np.int64
    assert found.tolist() == [0, 1, 0]
    assert target.n_values == 2
    assert target.decode(found).tolist() == list(y)


@pytest.mark.parametrize("y", LABELS)
def test_classes_come_back_from_json_with_their_type(y):
    target = ClassificationTarget().fit(y)
    again = ClassificationTarget.from_state(json.loads(json.dumps(target.state())))
    assert again.classes_.dtype == target.classes_.dtype
    assert again.classes_.tolist() == target.classes_.tolist()


def test_classes_are_sorted():
    assert ClassificationTarget().fit(["b", "c", "a"]).classes_.tolist() == [
        "a",
        "b",
        "c",
    ]


def message(function, *args):
    with pytest.raises(ValueError) as error:
        function(*args)
    return str(error.value)


def test_an_unknown_label_is_named():
    target = ClassificationTarget().fit(["no", "yes"])
    assert message(target.encode, ["no", "maybe"]) == (
        "The label 'maybe' is not a class of the training rows: 'no', 'yes'."
    )


def test_one_class_is_not_enough():
    assert message(ClassificationTarget().fit, ["yes", "yes"]) == (
        "y has one class only ('yes'); a classifier needs at least two."
    )


def test_continuous_numbers_are_not_classes():
    assert "Unknown label type: continuous" in message(
        ClassificationTarget().fit, [0.5, 1.5]
    )


def test_text_and_numbers_do_not_mix():
    assert message(ClassificationTarget().fit, np.array(["a", 1], dtype=object)) == (
        "y mixes text with other values, such as 'a' and 1; make all of them text."
    )


@pytest.mark.parametrize("target", [ClassificationTarget, RegressionTarget])
def test_every_target_needs_a_complete_y(target):
    assert message(target().fit, None) == (
        "This estimator requires y to be passed, but the target y is None."
    )
    gap = "Input y contains NaN: row 3 has no label; drop such rows before fit."
    assert message(target().fit, [0, 1, 0, np.nan]) == gap
    assert message(target().fit, np.array([0, 1, 0, None], dtype=object)) == gap
    assert message(target().fit, pd.Series([0, 1, 0, None], dtype="Int64")) == gap
    assert message(target().fit, pl.Series([0, 1, 0, None])) == gap
    assert message(target().fit, ["a", "b", "a", np.nan]) == gap
    assert message(target().fit, pd.Series(["a", "b", "a", None])) == gap
    assert message(target().fit, [0, 1, 0, -np.inf]) == (
        "Input y contains infinity or a value too large for dtype('float64'): "
        "row 3 is -inf; drop or clip such rows before fit."
    )


def test_a_column_is_read_with_scikit_learns_warning():
    with pytest.warns(DataConversionWarning):
        assert ClassificationTarget().fit([[0], [1]]).n_values == 2


def test_numbers_are_standardized_and_come_back():
    y = np.array([1, 2, 3, 6])
    target = RegressionTarget().fit(y)
    found = target.encode(y)
    np.testing.assert_allclose([found.mean(), found.std()], [0, 1], atol=1e-15)
    np.testing.assert_allclose(target.decode(found), y)
    again = RegressionTarget.from_state(json.loads(json.dumps(target.state())))
    np.testing.assert_array_equal(again.encode(y), found)


def test_a_constant_target_has_scale_one():
    # The public code divides by 0 here, and every prediction is NaN.
    target = RegressionTarget().fit([0.1, 0.1, 0.1])
    assert target.scale_ == 1
    np.testing.assert_allclose(target.decode(target.encode([0.1, 2.1])), [0.1, 2.1])


def test_numbers_stored_as_objects_are_numbers():
    for y in ([Decimal("1.5"), Decimal("2.5")], np.array([1.5, 2.5], dtype=object)):
        assert RegressionTarget().fit(y).mean_ == 2


def test_huge_targets_come_back():
    y = np.array([1e300, -1e300, 5e299])
    target = RegressionTarget().fit(y)
    np.testing.assert_allclose(target.decode(target.encode(y)), y)


def test_text_is_refused_as_a_number_but_booleans_are_not():
    assert message(RegressionTarget().fit, ["1.5", "2"]) == (
        "y holds '1.5', but a regressor needs numbers; convert y to numbers first, "
        "or use a classifier."
    )
    assert RegressionTarget().fit([True, False]).mean_ == 0.5


def test_bins_by_hand():
    found, edges = bin_numbers(np.array([5.0, 1.0, 2.0, 8.0, 3.0, 9.0]), 3)
    assert found.tolist() == [1, 0, 0, 2, 1, 2]
    assert edges.tolist() == [2, 5]


@pytest.mark.parametrize("y", [[0, 0, 0, 1], [0, 1, 1, 1], [0, 0, 1, 1]])
def test_equal_edges_are_merged(y):
    found, edges = bin_numbers(np.array(y, dtype=float), 4)
    assert found.tolist() == y
    assert edges.tolist() == [0]


@settings(max_examples=50, deadline=None)
@given(y=st.lists(st.integers(-5, 5), min_size=1), n_bins=st.integers(1, 9))
def test_bins_keep_the_order_and_none_is_empty(y, n_bins):
    y = np.array(y, dtype=float)
    found, edges = bin_numbers(y, n_bins)
    assert np.unique(found).tolist() == list(range(len(edges) + 1))
    assert len(edges) < n_bins
    assert (np.diff(found[np.argsort(y)]) >= 0).all()
