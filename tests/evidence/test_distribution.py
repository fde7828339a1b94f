"""The distribution of neighbors' targets, by slower and exact ways."""

import numpy as np
import pytest
import torch

from modernnca import ModernNCARegressor
from modernnca.evidence import distribution


@pytest.fixture(scope="module")
def model():
    rng = np.random.RandomState(0)
    X = rng.standard_normal((80, 3))
    y = (10 * X[:, 0] + rng.standard_normal(80)).round(0)  # with ties
    options = {"baseline_check": False, "dim": 4}
    return ModernNCARegressor(
        n_members=2, max_epochs=2, random_state=0, device="cpu", config=options
    ).fit(X, y)


@pytest.fixture(scope="module")
def queries():
    return np.random.RandomState(1).standard_normal((7, 3))


@pytest.fixture(scope="module")
def atoms(model, queries):
    """The targets (M,) and their shares (B, M)."""
    remembered = model.ensemble_.remembered.values[:, 0].double().numpy()
    with torch.inference_mode():
        shares = model.ensemble_.shares(model._read_queries(queries)).double().numpy()
    return model.preparation_.target.decode(remembered), shares


@pytest.fixture
def found(model, queries):
    return model.predict_distribution(queries)


def test_the_mean_is_the_prediction(found, model, queries):
    np.testing.assert_allclose(found.mean, model.predict(queries), rtol=1e-4, atol=1e-4)


def test_the_spread_is_that_of_the_shares(found, atoms):
    targets, shares = atoms
    variance = shares @ targets**2 - (shares @ targets) ** 2
    np.testing.assert_allclose(found.std, np.sqrt(variance), rtol=1e-4)
    np.testing.assert_allclose(found.n_effective, 1 / (shares**2).sum(1), rtol=1e-4)


def test_the_cdf_adds_up_shares(found, atoms):
    targets, shares = atoms
    for y in (-50.0, targets[3], targets[3] + 0.1, 0.0, 50.0):
        expected = (shares * (targets <= y + 1e-6)).sum(1)
        np.testing.assert_allclose(found.cdf(y + 1e-6), expected, atol=1e-6)
    several = np.repeat([[-1.0, 2.5]], 7, axis=0)
    columns = np.stack([found.cdf(-1.0), found.cdf(2.5)], 1)
    np.testing.assert_array_equal(found.cdf(several), columns)


def test_a_quantile_is_the_least_target_that_reaches_it(found, atoms):
    targets, _ = atoms
    levels = np.array([0.01, 0.1, 0.5, 0.77, 0.99])
    for level, y in zip(levels, found.quantile(levels).T, strict=True):
        assert (found.cdf(y) >= level - 1e-9).all()
        assert (found.cdf(y - 1e-9) < level).all()
    assert found.quantile(0.5).shape == (7,)
    assert (found.quantile(1) <= targets.max()).all()


def test_crps_is_the_integral_of_squared_differences(found):
    y = np.array([-70.0, -5.3, 0.0, 1.0, 3.2, 9.0, 80.0])  # also beyond all targets
    grid = np.linspace(-90, 100, 190_001)
    middle = (grid[1:] + grid[:-1]) / 2
    below = found.cdf(np.repeat(middle[None], 7, axis=0))
    squared = (below - (middle >= y[:, None])) ** 2
    np.testing.assert_allclose(found.crps(y), squared.sum(1) * 0.001, rtol=1e-3)


def test_the_density_integrates_to_one(found):
    grid = np.linspace(-80, 80, 8001)
    density = found.pdf(np.repeat(grid[None], 7, axis=0))
    np.testing.assert_allclose(density.sum(1) * 0.02, 1, rtol=1e-3)
    np.testing.assert_allclose((density * grid).sum(1) * 0.02, found.mean, atol=0.05)


def test_samples_have_the_distribution(found):
    drawn = found.sample(5000, random_state=0)
    assert drawn.shape == (7, 5000)
    np.testing.assert_array_equal(drawn, found.sample(5000, random_state=0))
    error = 4 * found.std / np.sqrt(5000)
    assert (np.abs(drawn.mean(1) - found.mean) < error).all()
    np.testing.assert_allclose((drawn <= 1.0).mean(1), found.cdf(1.0), atol=0.03)


def test_chunks_do_not_change_it(found, model, queries, monkeypatch):
    y = np.arange(7.0)
    before = [found.crps(y), found.cdf(y), found.quantile([0.2, 0.8]), found.pdf(y)]
    monkeypatch.setattr(distribution, "_N_PAIRS", 200)  # two queries at a time
    again = model.predict_distribution(queries)
    after = [again.crps(y), again.cdf(y), again.quantile([0.2, 0.8]), again.pdf(y)]
    for one, other in zip(before, after, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("q", [-0.1, 1.1, float("nan"), [], [[0.1]]])
def test_quantile_levels_are_probabilities(found, model, queries, q):
    for ask in (found.quantile, lambda q: model.predict_quantiles(queries, q)):
        with pytest.raises(ValueError, match="q must be a number between 0 and 1"):
            ask(q)


@pytest.mark.parametrize("y", [np.zeros(6), float("nan"), np.zeros((7, 2, 2))])
def test_points_of_another_shape_are_refused(found, y):
    with pytest.raises(ValueError, match="y must be a number, or one or more for each"):
        found.cdf(y)


def test_crps_takes_one_number_for_each_query(found):
    with pytest.raises(ValueError, match="crps takes one number for each query"):
        found.crps(np.zeros((7, 2)))


@pytest.mark.parametrize("n", [0, -1, 1.5])
def test_a_number_of_samples_is_a_whole_number(found, n):
    with pytest.raises(ValueError, match="n must be a whole number of at least 1"):
        found.sample(n)
