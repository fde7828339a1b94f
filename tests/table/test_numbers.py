"""Treatments of numbers: solved by hand, and held against scikit-learn."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.preprocessing import QuantileTransformer, StandardScaler

from modernnca.table.numbers import LARGEST, NUMBERS, NumberColumns, Quantile, Robust


@pytest.fixture
def x():
    rng = np.random.RandomState(0)
    x = np.c_[rng.randn(400) * 5 + 2, rng.exponential(size=400), rng.randint(0, 4, 400)]
    x[::7, 0] = np.nan
    x[::5, 2] = np.nan
    return x


def columns(name, x):
    return NumberColumns(name).fit(x)


def test_standard_is_scikit_learns_scaler(x):
    expected = StandardScaler().fit(x).transform(x * 2)
    found = NUMBERS["standard"]().fit(x).transform(x * 2)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("n_rows", [3, 50, 400])
def test_quantile_is_scikit_learns_transformer(x, n_rows):
    x, new = x[:n_rows], np.r_[x * 1.5 - 1, x]
    theirs = QuantileTransformer(
        output_distribution="normal",
        n_quantiles=min(max(min(n_rows // 30, 1000), 10), n_rows),
        subsample=10**9,
    ).fit(x)
    np.testing.assert_allclose(
        Quantile().fit(x).transform(new), theirs.transform(new), rtol=1e-12, atol=1e-12
    )


def test_quantile_tells_tiny_numbers_apart():
    # scikit-learn's transformer puts all of them at its lower bound.
    x = np.arange(1.0, 12)[:, None]
    tiny = Quantile().fit(x * 1e-9).transform(x * 1e-9)
    np.testing.assert_allclose(tiny, Quantile().fit(x).transform(x), atol=1e-6)


def test_robust_by_hand():
    # The median is 2, the middle half from 1 to 3: a scale of 1/2.
    x = np.array([[0.0], [1.0], [2.0], [3.0], [100.0]])
    z = (x - 2) / 2
    np.testing.assert_allclose(
        Robust().fit(x).transform(x), z / np.sqrt(1 + z**2 / 9), rtol=1e-12
    )


def test_robust_without_a_middle_half_takes_the_range_and_of_a_constant_nothing():
    x = np.array([[0.0, 5.0]] * 9 + [[4.0, 5.0]])
    robust = Robust().fit(x)
    assert robust.scale_.tolist() == [0.5, 0.0]
    assert robust.transform(np.array([[0.0, 7.0]])).tolist() == [[0.0, 0.0]]


def test_none_leaves_numbers_as_they_are(x):
    np.testing.assert_array_equal(NUMBERS["none"]().fit(x).transform(x), x)


def test_equal_numbers_are_not_scaled_by_rounding_errors():
    x = np.array([[0.1]] * 3 + [[np.nan]])
    np.testing.assert_allclose(columns("standard", x).transform(x), 0, atol=1e-15)


@pytest.mark.parametrize("name", NUMBERS)
def test_gaps_pass_through_the_treatment_and_are_filled_after(name, x):
    treated = NUMBERS[name]().fit(x).transform(x)
    np.testing.assert_array_equal(np.isnan(treated), np.isnan(x))
    filled = columns(name, x).transform(x)
    mean = np.nanmean(treated[:, 0])
    np.testing.assert_allclose(filled[::7, 0], mean, atol=1e-12)


@pytest.mark.parametrize("name", NUMBERS)
def test_gaps_that_first_appear_at_prediction_are_filled(name, x):
    # The public code raises KeyError: 'train' here.
    complete = np.nan_to_num(x)
    found = columns(name, complete).transform(np.full((1, 3), np.nan))
    mean = columns(name, complete).transform(complete).mean(axis=0)
    np.testing.assert_allclose(found[0], mean, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", NUMBERS)
def test_infinities_are_the_ends_of_the_column(name, x):
    with_infinity = np.r_[x, np.full((1, 3), np.inf), np.full((1, 3), -np.inf)]
    ends = np.r_[np.nanmax(x, axis=0)[None], np.nanmin(x, axis=0)[None]]
    bounded = np.r_[x, ends]
    np.testing.assert_allclose(
        columns(name, with_infinity).transform(with_infinity),
        columns(name, bounded).transform(bounded),
        rtol=1e-12,
    )


@pytest.mark.parametrize("name", NUMBERS)
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
def test_numbers_of_any_size_come_out_finite_in_float32(name, cells):
    x = np.array(cells)[:, None]
    new = np.array([[1.7e308], [-1.7e308], [np.inf], [np.nan], [5e-324]])
    found = columns(name, x).transform(np.r_[x, new])
    assert np.isfinite(found).all()
    assert np.abs(found).max() <= LARGEST
    assert np.isfinite(np.square(found.astype(np.float32)).sum())


def test_huge_numbers_are_still_told_apart():
    found = columns("standard", np.array([[1e300], [3e300], [-1e300], [-3e299]]))
    assert len(np.unique(found.transform(np.array([[1e300], [-1e300], [0.0]])))) == 3


@pytest.mark.parametrize("name", NUMBERS)
def test_no_columns_are_no_trouble(name):
    assert columns(name, np.empty((5, 0))).transform(np.empty((2, 0))).shape == (2, 0)


@pytest.mark.parametrize("name", NUMBERS)
def test_what_was_learned_is_all_in_the_state(name, x):
    fitted = columns(name, x)
    again = NumberColumns.from_state(fitted.state())
    np.testing.assert_array_equal(again.transform(x + 1), fitted.transform(x + 1))


@pytest.mark.parametrize("name", NUMBERS)
@settings(max_examples=25, deadline=None)
@given(x=hnp.arrays(np.float64, (6, 2), elements=st.floats(width=64)))
def test_any_floats_come_out_finite_and_each_row_by_itself(name, x):
    fitted = columns(name, x)
    whole = fitted.transform(x)
    assert np.isfinite(whole.astype(np.float32)).all()
    rows = [fitted.transform(x[row : row + 1]) for row in range(len(x))]
    np.testing.assert_array_equal(np.concatenate(rows), whole)


def test_an_unknown_treatment_is_named():
    text = (
        r"^Unknown treatment of numbers 'minmax'; "
        r"choose one of: none, quantile, robust, standard\.$"
    )
    with pytest.raises(ValueError, match=text):
        columns("minmax", np.eye(2))
