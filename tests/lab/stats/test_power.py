"""How many datasets it takes to tell a difference, checked by simulation."""

import numpy as np
import pytest

from modernnca.lab.stats.power import n_datasets_needed


@pytest.mark.parametrize("effect", [0.3, -0.5, 1.0])
def test_with_so_many_datasets_four_of_five_samples_decide(effect):
    n = int(n_datasets_needed(effect, 1.0))
    rng = np.random.default_rng(0)
    samples = rng.normal(effect, 1.0, (4000, n))
    error = 1.959964 / np.sqrt(n)
    means = samples.mean(axis=1) * np.sign(effect)
    assert (means - error > 0).mean() == pytest.approx(0.8, abs=0.06)


def test_more_spread_power_and_certainty_need_more():
    base = n_datasets_needed(0.5, 1.0)
    assert n_datasets_needed(0.5, 2.0) == pytest.approx(4 * base, abs=4)
    assert n_datasets_needed(0.5, 1.0, power=0.9) > base
    assert n_datasets_needed(0.5, 1.0, level=0.99) > base


def test_odd_values():
    assert n_datasets_needed(0.0, 1.0) == np.inf
    assert n_datasets_needed(1.0, 0.0) == 0
    assert np.isnan(n_datasets_needed(np.nan, 1.0))
    with pytest.raises(ValueError, match="power and level must be between 0 and 1"):
        n_datasets_needed(1.0, 1.0, power=1.0)
