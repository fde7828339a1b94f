"""Transforms compared with scikit-learn and by hand, and after standardization."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.special import ndtri
from sklearn.preprocessing import QuantileTransformer

from modernnca.core.transforms import TRANSFORMS, Quantile, Squashed
from modernnca.table.numeric import NumericColumns

EVERY = pytest.mark.parametrize("kind", TRANSFORMS.values(), ids=TRANSFORMS)
N_QUANTILES = 500  # that a fitted transform holds


def cells(n_rows):
    rng = np.random.RandomState(0)
    columns = (
        rng.randn(n_rows) * 5 + 2,
        rng.exponential(size=n_rows),
        rng.randint(0, 4, n_rows),
    )
    return np.stack(columns, axis=1)


def prepared(kind, x):
    """A transform of float64 numbers that has learned from x (N, P)."""
    transform = kind(x.shape[1])
    transform.prepare(torch.from_numpy(x))
    return lambda new: transform(torch.from_numpy(new)).numpy()


def clipped(normal):
    """Where our transform clips; scikit-learn clips 2e-16 of a share farther out."""
    return normal.clip(ndtri(1e-7), ndtri(1 - 1e-7))


def test_quantile_is_scikit_learns_transformer():
    x = cells(30 * N_QUANTILES)  # enough rows for as many quantiles
    new = np.r_[x * 1.5 - 1, x]
    theirs = QuantileTransformer(
        output_distribution="normal", n_quantiles=N_QUANTILES, subsample=10**9
    ).fit(x)
    expected = clipped(theirs.transform(new))
    found = prepared(Quantile, x)(new)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("n_rows", [3, 50, 400])
def test_few_quantiles_are_interpolated(n_rows):
    # Between the few quantiles that scikit-learn finds lie those that we hold.
    x = cells(n_rows)
    theirs = QuantileTransformer(
        output_distribution="normal",
        n_quantiles=min(max(n_rows // 30, 10), n_rows),
        subsample=10**9,
    ).fit(x)
    held = np.linspace(0, 1, N_QUANTILES)
    quantiles = [np.interp(held, theirs.references_, q) for q in theirs.quantiles_.T]
    theirs.references_, theirs.quantiles_ = held, np.stack(quantiles, axis=1)
    new = np.r_[cells(400) * 1.5 - 1, cells(400)]
    expected = clipped(theirs.transform(new))
    found = prepared(Quantile, x)(new)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


def test_quantile_separates_tiny_numbers():
    # scikit-learn's transformer puts all of them at its lower bound.
    x = np.arange(1.0, 12)[:, None]
    tiny = prepared(Quantile, x * 1e-9)(x * 1e-9)
    np.testing.assert_allclose(tiny, prepared(Quantile, x)(x), atol=1e-6)


def test_squashed_by_hand():
    # The median is 2, the middle half from 1 to 3: a scale of 1/2.
    x = np.array([[0.0], [1.0], [2.0], [3.0], [100.0]])
    z = (x - 2) / 2
    expected = z / np.sqrt(1 + z**2 / 9)
    np.testing.assert_allclose(prepared(Squashed, x)(x), expected, rtol=1e-12)


def standardized(kind, x):
    """What a network sees of the columns x (N, P), and the function that gives it."""
    columns = NumericColumns().fit(x)
    transform = kind(x.shape[1])

    def see(x):
        numbers = columns.transform(x).astype(np.float32)
        return transform(torch.from_numpy(numbers)).numpy()

    transform.prepare(torch.from_numpy(columns.transform(x).astype(np.float32)))
    return see(x), see


@EVERY
@pytest.mark.parametrize(
    "column",
    [
        [1e300, -1e300, 0, 1],
        [1.7e308, -1.7e308, 1e308, 1e308],
        [1e300, 1e300, 1.1e300, np.nan],
        [1e-320, 0, 0, 0],
        [np.inf, -np.inf, np.nan, np.nan],
        [np.nan] * 4,
    ],
)
def test_numbers_of_any_size_come_out_finite(kind, column):
    found, see = standardized(kind, np.array(column)[:, None])
    new = np.array([[1.7e308], [-1.7e308], [np.inf], [np.nan], [5e-324]])
    assert np.isfinite(found).all()
    assert np.isfinite(see(new)).all()
    assert np.isfinite(np.square(see(new)).sum())


@EVERY
def test_infinities_are_the_ends_of_the_column(kind):
    x = cells(400)
    with_infinity = np.r_[x, np.full((1, 3), np.inf), np.full((1, 3), -np.inf)]
    bounded = np.r_[x, x.max(axis=0)[None], x.min(axis=0)[None]]
    found, _ = standardized(kind, with_infinity)
    np.testing.assert_allclose(found, standardized(kind, bounded)[0], rtol=1e-6)


@EVERY
@settings(max_examples=25, deadline=None)
@given(x=hnp.arrays(np.float64, (6, 2), elements=st.floats(width=64)))
def test_any_floats_come_out_finite_and_each_row_by_itself(kind, x):
    whole, see = standardized(kind, x)
    assert np.isfinite(whole).all()
    rows = [see(x[row : row + 1]) for row in range(len(x))]
    np.testing.assert_array_equal(np.concatenate(rows), whole)


@EVERY
def test_the_state_is_complete(kind):
    x = torch.from_numpy(cells(400)).float()
    transform, other = kind(3), kind(3)
    transform.prepare(x)
    other.load_state_dict(transform.state_dict())
    assert torch.equal(other(x + 1), transform(x + 1))
