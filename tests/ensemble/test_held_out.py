"""Votes on held-out rows are combined and calibrated by the other folds."""

import numpy as np
import pytest

from modernnca.ensemble.combine import Combiner
from modernnca.ensemble.held_out import cross_fitted_votes, held_out_rows
from modernnca.ensemble.moments import Moments

RNG = np.random.RandomState(0)
N = 60
VOTES = RNG.dirichlet([1, 1, 1], size=(2, N))
CODES = RNG.randint(3, size=N)
LEARNED = {"weighted": True, "calibrate": True}


@pytest.mark.parametrize("n_folds", [2, 10])
def test_a_row_teaches_only_the_other_folds(n_folds):
    other = CODES.copy()
    other[7] = (other[7] + 1) % 3
    before, after = (
        cross_fitted_votes(VOTES, np.eye(3)[codes], n_folds=n_folds, **LEARNED)
        for codes in (CODES, other)
    )
    own = np.arange(N) % n_folds == 7 % n_folds
    np.testing.assert_array_equal(before[own], after[own])
    assert (before[~own] != after[~own]).any(1).all()


def test_held_out_rows_are_voted_on_in_ten_folds():
    values = np.eye(3)[CODES]
    found = Moments(VOTES, np.zeros((2, N)))
    rows = held_out_rows(found, values, np.arange(N), Combiner.mean(2), **LEARNED)
    tenths = cross_fitted_votes(VOTES, values, n_folds=10, **LEARNED)
    np.testing.assert_array_equal(rows.votes, tenths)


def test_a_single_row_has_the_mean_vote():
    found = cross_fitted_votes(VOTES[:, :1], np.eye(3)[CODES[:1]], **LEARNED)
    np.testing.assert_allclose(found, VOTES[:, :1].mean(0))
