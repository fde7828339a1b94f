import numpy as np
import pytest
from sklearn.neighbors import KNeighborsRegressor
from sklearn.preprocessing import StandardScaler

from modernnca import ModernNCAClassifier, ModernNCARegressor, load

RNG = np.random.RandomState(0)
X = RNG.randn(200, 4) * [1, 10, 100, 1]
LAZY = {"max_epochs": 1, "learning_rate": 1e-9, "random_state": 0, "preset": "fast"}


def test_where_nothing_can_be_learned_a_constant_is_kept():
    y = RNG.rand(200)
    model = ModernNCARegressor(**LAZY).fit(X, y)
    assert model.fallback_ == "constant"
    np.testing.assert_allclose(model.predict(X), y.mean(), rtol=1e-5)


def test_where_learning_was_in_vain_plain_neighbors_answer(tmp_path):
    y = X[:, 0] + X[:, 1] / 10 + X[:, 2] / 100
    model = ModernNCARegressor(**LAZY, temperature=100.0).fit(X, y)
    assert model.fallback_ == "knn"
    scale = StandardScaler()
    x = scale.fit_transform(X[model.remembered_.origin])
    knn = KNeighborsRegressor(5).fit(x, y[model.remembered_.origin])
    fresh = np.random.RandomState(1).randn(50, 4) * [1, 10, 100, 1]
    near = knn.predict(scale.transform(fresh))
    # Held-out rows joined the memory, but not the scale.
    assert np.corrcoef(model.predict(fresh), near)[0, 1] > 0.99
    model.save(tmp_path / "m.mnca")
    again = load(tmp_path / "m.mnca")
    assert again.fallback_ == "knn"
    assert np.array_equal(again.predict(fresh), model.predict(fresh))
    assert again.kneighbors(fresh, n_neighbors=3).indices.shape == (50, 3)


def test_categories_are_neighbors_too():
    table = RNG.choice(list("abc"), size=(300, 3)).astype(object)
    y = (table[:, 0] == "a") ^ (table[:, 1] == "b")
    model = ModernNCAClassifier(**LAZY, temperature=100.0).fit(table, y)
    assert model.fallback_ == "knn"
    assert model.score(table, y) > 0.95


def test_what_was_learned_stays_where_it_is_better():
    y = np.sin(X[:, 0] * 3)
    model = ModernNCARegressor(random_state=0, preset="fast", max_epochs=20).fit(X, y)
    assert model.fallback_ is None
    assert len(model.members_[0].net.encode.state_dict()) > 0


def test_it_can_be_turned_off():
    model = ModernNCARegressor(**LAZY, guard=False).fit(X, RNG.rand(200))
    assert model.fallback_ is None


@pytest.mark.parametrize("word", ["calibrate", "guard"])
def test_a_yes_or_no_is_asked_for(word):
    with pytest.raises(ValueError, match=f"{word} must be True or False; got 'maybe'."):
        ModernNCAClassifier(**{word: "maybe"}).fit(X, X[:, 0] > 0)
