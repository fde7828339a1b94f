"""Numerical columns: compared with scikit-learn, and numbers of any size."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.preprocessing import StandardScaler

from modernnca.table.numeric import (
    MAX_PLAIN,
    MAX_STANDARD,
    NumericColumns,
    mean_and_std,
)

BOTH = pytest.mark.parametrize("standardize", [True, False])


@pytest.fixture
def x():
    rng = np.random.RandomState(0)
    x = np.c_[rng.randn(400) * 5 + 2, rng.exponential(size=400), rng.randint(0, 4, 400)]
    x[::7, 0] = np.nan
    x[::5, 2] = np.nan
    return x


def columns(x, *, standardize=True):
    return NumericColumns(standardize=standardize).fit(x)


def test_standardized_numbers_are_those_of_scikit_learn(x):
    expected = StandardScaler().fit(x).transform(x * 2)
    found = columns(x).transform(x * 2)
    known = ~np.isnan(x)
    np.testing.assert_allclose(found[known], expected[known], rtol=1e-12)


def test_the_mean_and_the_deviation_are_those_of_scikit_learn(x):
    theirs = StandardScaler().fit(x)
    mean, std = mean_and_std(x)
    np.testing.assert_allclose(mean, theirs.mean_, rtol=1e-12)
    np.testing.assert_allclose(std, theirs.scale_, rtol=1e-12)


def test_without_standardization_numbers_stay_as_they_are(x):
    found = columns(x, standardize=False).transform(x)
    known = ~np.isnan(x)
    np.testing.assert_array_equal(found[known], x[known])


def test_equal_numbers_are_not_scaled_by_rounding_errors():
    x = np.array([[0.1]] * 3 + [[np.nan]])
    np.testing.assert_allclose(columns(x).transform(x), 0, atol=1e-15)


@BOTH
def test_gaps_are_filled_with_the_mean_of_the_others(x, standardize):
    filled = columns(x, standardize=standardize).transform(x)
    gaps = np.isnan(x)
    for column in (0, 2):
        cells, missing = filled[:, column], gaps[:, column]
        np.testing.assert_allclose(cells[missing], cells[~missing].mean(), atol=1e-12)
    assert gaps[:, 0].sum() == 58
    assert gaps[:, 2].sum() == 80


@BOTH
def test_gaps_that_first_appear_at_prediction_are_filled(x, standardize):
    # The public code raises KeyError: 'train' here.
    fitted = columns(np.nan_to_num(x), standardize=standardize)
    found = fitted.transform(np.full((1, 3), np.nan))
    mean = fitted.transform(np.nan_to_num(x)).mean(axis=0)
    np.testing.assert_allclose(found[0], mean, rtol=1e-9, atol=1e-12)


@BOTH
def test_infinities_are_the_ends_of_the_column(x, standardize):
    with_infinity = np.r_[x, np.full((1, 3), np.inf), np.full((1, 3), -np.inf)]
    ends = np.r_[np.nanmax(x, axis=0)[None], np.nanmin(x, axis=0)[None]]
    bounded = np.r_[x, ends]
    np.testing.assert_allclose(
        columns(with_infinity, standardize=standardize).transform(with_infinity),
        columns(bounded, standardize=standardize).transform(bounded),
        rtol=1e-12,
    )


@BOTH
@pytest.mark.parametrize(
    "cells",
    [
        [1e300, -1e300, 0, 1],
        [1.7e308, -1.7e308, 1e308, 1e308],
        [1e300, 1e300, 1.1e300, np.nan],
        [1e-320, 0, 0, 0],
        [np.inf, -np.inf, np.nan, np.nan],
        [np.nan] * 4,
    ],
)
def test_numbers_of_any_size_come_out_finite_in_float32(cells, standardize):
    x = np.array(cells)[:, None]
    new = np.array([[1.7e308], [-1.7e308], [np.inf], [np.nan], [5e-324]])
    found = columns(x, standardize=standardize).transform(np.r_[x, new])
    assert np.isfinite(found).all()
    assert np.abs(found).max() <= (MAX_STANDARD if standardize else MAX_PLAIN)
    assert np.isfinite(np.square(found.astype(np.float32)).sum())


def test_huge_numbers_stay_different():
    fitted = columns(np.array([[1e300], [3e300], [-1e300], [-3e299]]))
    assert len(np.unique(fitted.transform(np.array([[1e300], [-1e300], [0.0]])))) == 3


@BOTH
def test_no_columns_at_all(standardize):
    fitted = columns(np.empty((5, 0)), standardize=standardize)
    assert fitted.transform(np.empty((2, 0))).shape == (2, 0)


@BOTH
def test_the_state_is_complete(x, standardize):
    fitted = columns(x, standardize=standardize)
    again = NumericColumns.from_state(fitted.state())
    assert again.standardize is standardize
    new = np.r_[x + 1, np.full((1, 3), np.inf), np.full((1, 3), -np.inf)]
    np.testing.assert_array_equal(again.transform(new), fitted.transform(new))


@BOTH
@settings(max_examples=25, deadline=None)
@given(x=hnp.arrays(np.float64, (6, 2), elements=st.floats(width=64)))
def test_any_floats_come_out_finite_and_each_row_by_itself(standardize, x):
    fitted = columns(x, standardize=standardize)
    whole = fitted.transform(x)
    assert np.isfinite(whole.astype(np.float32)).all()
    rows = [fitted.transform(x[row : row + 1]) for row in range(len(x))]
    np.testing.assert_array_equal(np.concatenate(rows), whole)
