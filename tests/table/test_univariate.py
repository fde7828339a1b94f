"""Univariate associations, in the order of well-known tests."""

import numpy as np
from scipy.stats import chi2_contingency
from sklearn.feature_selection import f_classif

from modernnca.table.univariate import DesignMatrix, association

RNG = np.random.RandomState(0)


def onehot(codes, n):
    return np.eye(n)[codes]


def test_numbers_come_in_the_order_of_the_f_test():
    y = RNG.randint(3, size=150)
    x = RNG.randn(150, 40) + np.linspace(0, 1, 40) * (y[:, None] == 1)
    found = association(DesignMatrix(x, np.arange(40), 0), onehot(y, 3))
    assert (np.argsort(found) == np.argsort(f_classif(x, y)[0])).all()


def test_levels_come_in_the_order_of_chi_squared():
    y = RNG.randint(2, size=300)
    codes = np.stack(
        [
            np.where(RNG.rand(300) < i / 20, y, RNG.randint(3, size=300))
            for i in range(8)
        ],
        axis=1,
    )
    x = np.concatenate([onehot(column, 3) for column in codes.T], axis=1)
    found = association(DesignMatrix(x, np.repeat(np.arange(8), 3), 24), onehot(y, 2))
    counts = [
        np.array([[sum((c == k) & (y == v)) for v in (0, 1)] for k in range(3)])
        for c in codes.T
    ]
    known = [chi2_contingency(count, correction=False).statistic for count in counts]
    assert (np.argsort(found) == np.argsort(known)).all()


def test_noise_has_a_normal_deviate_whatever_its_number_of_levels():
    y = RNG.randn(400, 1)
    few, many = (RNG.randint(n, size=(400, 300)) for n in (2, 12))
    parts = [onehot(c, 2) for c in few.T] + [onehot(c, 12) for c in many.T]
    columns = np.repeat(np.arange(600), [2] * 300 + [12] * 300)
    x = np.concatenate(parts, axis=1)
    found = association(DesignMatrix(x, columns, x.shape[1]), y)
    for some in (found[:300], found[300:]):
        assert abs(some.mean()) < 0.2
        assert 0.8 < some.std() < 1.2


def test_a_column_or_a_target_without_variation_has_no_association():
    x = np.stack([np.ones(20), np.arange(20.0)], axis=1)
    table = DesignMatrix(x, np.arange(2), 0)
    found = association(table, np.arange(20.0)[:, None])
    assert np.isfinite(found).all()
    assert found[1] > found[0]
    assert np.isfinite(association(table, np.ones((20, 1)))).all()
