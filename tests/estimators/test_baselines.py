import numpy as np
import pytest
from sklearn.neighbors import KNeighborsRegressor
from sklearn.preprocessing import StandardScaler
from tests.estimators.models import classifier, regressor

from modernnca import ModernNCARegressor, NetworkMember, load
from modernnca.ensemble import baselines

RNG = np.random.RandomState(0)
X = RNG.randn(200, 4) * [1, 10, 100, 1]
LAZY = {"max_epochs": 1, "learning_rate": 1e-9, "random_state": 0, "preset": "fast"}
LAZY |= {"cooling": False}


def test_where_nothing_can_be_learned_a_constant_is_used():
    y = np.random.RandomState(3).rand(200)
    model = regressor(**LAZY).fit(X, y)
    assert model.baseline_ == "constant"
    np.testing.assert_allclose(model.predict(X), y.mean(), rtol=1e-5)


def test_where_k_nn_is_better_it_is_used(tmp_path):
    y = X[:, 0] + X[:, 1] / 10 + X[:, 2] / 100
    model = regressor(**LAZY, temperature=100.0).fit(X, y)
    assert model.baseline_ == "knn"
    scale = StandardScaler()
    x = scale.fit_transform(X[model.rows_.index])
    knn = KNeighborsRegressor(5).fit(x, y[model.rows_.index])
    fresh = np.random.RandomState(1).randn(50, 4) * [1, 10, 100, 1]
    near = knn.predict(scale.transform(fresh))
    # Validation rows joined the memory, but not the scale.
    assert np.corrcoef(model.predict(fresh), near)[0, 1] > 0.99
    model.save(tmp_path / "m.mnca")
    again = load(tmp_path / "m.mnca")
    assert again.baseline_ == "knn"
    assert np.array_equal(again.predict(fresh), model.predict(fresh))
    assert again.kneighbors(fresh, n_neighbors=3)[1].shape == (50, 3)


def test_k_nn_must_be_clearly_better():
    y = X[:, 0] + X[:, 1] / 10 + X[:, 2] / 100
    model = regressor(**LAZY, temperature=100.0, baseline_margin=1e9).fit(X, y)
    assert model.baseline_ is None


def test_a_constant_with_a_better_score_must_be_closer_too():
    # As where one class is frequent: its labels are as often right.
    metric = lambda y, probabilities: -probabilities.std()  # noqa: E731
    y = X[:, 0] > 0
    quick = {"random_state": 0, "preset": "fast", "max_epochs": 20}
    model = classifier(**quick, eval_metric=metric).fit(X, y)
    assert model.baseline_ is None
    assert model.score(X, y) > 0.9
    model = classifier(**quick, eval_metric=metric, baseline_margin=-np.inf).fit(X, y)
    assert model.baseline_ == "constant"


def test_a_gain_is_counted_in_standard_errors():
    truth, others = np.zeros((4, 1)), np.ones((4, 1))
    votes = np.array([[0.0], [0.0], [0.0], [2**0.5]])  # gains of 1, 1, 1 and -1
    found = baselines.gain_in_errors(votes, others, truth)
    assert found == pytest.approx(0.5 / (3**0.5 / 2 / 2))
    # By the weights of the rows, the last one alone counts.
    assert baselines.gain_in_errors(votes, others, truth, np.eye(4)[3]) == -np.inf
    assert baselines.gain_in_errors(others, np.full((4, 1), np.nan), truth) == np.inf


def test_categories_are_neighbors_too():
    table = RNG.choice(list("abc"), size=(300, 3)).astype(object)
    y = (table[:, 0] == "a") ^ (table[:, 1] == "b")
    model = classifier(**LAZY, temperature=100.0).fit(table, y)
    assert model.baseline_ == "knn"
    assert model.score(table, y) > 0.95


def test_a_trained_network_stays_where_it_is_better():
    y = np.sin(X[:, 0] * 3)
    model = ModernNCARegressor(random_state=0, preset="fast", max_epochs=20).fit(X, y)
    assert model.baseline_ is None
    assert isinstance(model.members_[0], NetworkMember)


def test_it_can_be_turned_off():
    model = regressor(**LAZY, baseline_check=False).fit(X, RNG.rand(200))
    assert model.baseline_ is None


@pytest.mark.parametrize("name", ["calibrate", "baseline_check"])
def test_a_flag_must_be_true_or_false(name):
    with pytest.raises(ValueError, match=f"{name} must be True or False; got 'maybe'."):
        classifier(**{name: "maybe"}).fit(X, X[:, 0] > 0)
