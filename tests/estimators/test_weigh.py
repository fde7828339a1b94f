"""Members that err less count for more."""

import numpy as np
import pytest

from modernnca import ModernNCAClassifier, ModernNCARegressor, load
from modernnca.estimators.weigh import weigh

RNG = np.random.RandomState(0)
X = RNG.randn(200, 3)
Y = X[:, 0] + np.sin(3 * X[:, 1])
QUICK = {"max_epochs": 2, "random_state": 0}


def test_numbers_by_hand():
    values = np.zeros((5, 1))
    votes = np.array([values + 1, values - 1, values + 2])
    # Errors 1, 1, 2: parts 1, 1, 1/16.
    assert weigh(votes, values, classes=False) == pytest.approx(
        [16 / 33, 16 / 33, 1 / 33]
    )


def test_classes_by_hand():
    values = np.eye(2)[[0] * 10]
    right, wrong = values, values[:, ::-1]
    half = np.concatenate([right[:5], wrong[:5]])
    # 0 and 5 wrong, each with 5 of doubt: errors as 5 to 10.
    shares = weigh(np.stack([right, half]), values, classes=True)
    assert shares == pytest.approx([16 / 17, 1 / 17])


def test_members_without_an_error_count_alike():
    values = RNG.randn(4, 1)
    shares = weigh(np.stack([values, values]), values, classes=False)
    assert shares == [0.5, 0.5]


def test_one_without_an_error_leaves_no_nan():
    values = RNG.randn(4, 1)
    shares = weigh(np.stack([values, values + 1]), values, classes=False)
    assert shares == pytest.approx([1, 0])


@pytest.mark.parametrize("weighed", [True, False])
def test_the_shares_of_neighbors_make_the_prediction(weighed, tmp_path):
    model = ModernNCARegressor(weigh=weighed, guard=False, **QUICK).fit(X, Y)
    assert (len(set(model.member_weights_)) > 1) == weighed
    asked = RNG.randn(7, 3)
    _, indices, shares = model.kneighbors(asked, n_neighbors=200)
    np.testing.assert_allclose(shares.sum(1), 1, rtol=1e-5)
    by_hand = (shares * Y[indices]).sum(1)
    np.testing.assert_allclose(model.predict(asked), by_hand, rtol=1e-4, atol=1e-4)
    model.save(tmp_path / "model.mnca")
    again = load(tmp_path / "model.mnca")
    assert again.member_weights_ == model.member_weights_
    assert (again.predict(asked) == model.predict(asked)).all()


def test_a_retrained_member_counts_as_the_one_before():
    model = ModernNCAClassifier(refit="full", guard=False, **QUICK)
    model.fit(X, Y > 0)
    assert len(model.member_weights_) == len(model.members_) == 4
    assert sum(model.member_weights_) == pytest.approx(1)
