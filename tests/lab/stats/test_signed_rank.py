"""The signed-rank test against all signs, and against scipy."""

from itertools import product

import numpy as np
import pytest
from scipy import stats

from modernnca.lab.stats.signed_rank import signed_rank


@pytest.mark.parametrize("seed", range(10))
def test_with_ties_and_zeros_p_is_the_share_of_all_signs(seed):
    rng = np.random.default_rng(seed)
    sizes = np.array([0, 0, 1, 1, 2, 3, 3, 3])[: rng.integers(3, 9)]
    differences = sizes * rng.choice([-1, 1], len(sizes))
    ranks = stats.rankdata(sizes) * np.sign(differences)
    sums = [abs(ranks @ signs) for signs in product([-1, 1], repeat=len(sizes))]
    expected = np.mean(np.array(sums) >= abs(ranks.sum()))
    assert signed_rank(differences)[2] == pytest.approx(expected)


@pytest.mark.parametrize("n", [5, 20, 50, 51, 300])
def test_without_ties_it_is_scipys(n):
    differences = np.random.default_rng(n).normal(0.2, 1, n)
    expected = stats.wilcoxon(differences)
    assert signed_rank(differences) == (
        n,
        expected.statistic,
        pytest.approx(expected.pvalue),
    )


def test_with_many_ties_and_zeros_it_is_pratts():
    differences = np.random.default_rng(0).integers(-3, 5, 80).astype(float)
    expected = stats.wilcoxon(differences, zero_method="pratt")
    split = stats.wilcoxon(differences, zero_method="zsplit")
    _, statistic, p = signed_rank(differences)
    assert statistic == split.statistic
    assert p == pytest.approx(expected.pvalue)


@pytest.mark.parametrize("n", [1, 4, 60])
def test_no_difference_is_no_evidence(n):
    assert signed_rank(np.zeros(n)) == (n, n * (n + 1) / 4, 1.0)


def test_the_side_does_not_matter_and_nothing_is_nothing():
    differences = np.array([1.0, -2.0, 3.0, 3.0, 0.0, 5.0])
    assert signed_rank(differences) == signed_rank(-differences)
    assert np.isnan(signed_rank(np.array([]))[1:]).all()
