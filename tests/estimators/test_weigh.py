"""Members that err less count for more."""

import numpy as np
import pytest

from modernnca import ModernNCAClassifier, ModernNCARegressor, load
from modernnca.estimators.answering import Member
from modernnca.estimators.weigh import counts, usual_reach, weigh
from modernnca.memory.exact import ExactMemory

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


def likelihood(shares, votes, values):
    """Of the true classes, and of ten rows that all members explain alike."""
    chances = (np.array(shares)[:, None] * (votes * values).sum(2)).sum(0)
    return np.log(chances).sum() + 10 * np.log(shares).mean()


def test_classes_by_hand():
    # Ten rows that one member knows surely and the other not at all: it is owed all of
    # them, and both are owed five of doubt.
    values = np.eye(2)[[0] * 10]
    votes = np.stack([values, values[:, ::-1]])
    assert weigh(votes, values, classes=True) == pytest.approx(
        [15 / 20, 5 / 20], rel=1e-3
    )


def test_no_other_mixture_of_classes_is_likelier():
    values = np.eye(3)[RNG.randint(3, size=60)]
    votes = RNG.dirichlet([1, 1, 1], size=(4, 60))
    votes[1] = (votes[1] + values) / 2  # one that knows something
    shares = weigh(votes, values, classes=True)
    best = likelihood(shares, votes, values)
    assert shares[1] == max(shares)
    for _ in range(200):
        other = np.abs(shares + 0.05 * RNG.randn(4)) + 1e-6
        assert likelihood(other / other.sum(), votes, values) <= best + 1e-6


def test_members_that_say_the_same_count_alike():
    values = np.eye(2)[RNG.randint(2, size=20)]
    one, other = RNG.dirichlet([1, 1], size=(2, 20))
    shares = weigh(np.stack([one, other, one]), values, classes=True)
    assert shares[0] == pytest.approx(shares[2])
    swapped = weigh(np.stack([other, one, one]), values, classes=True)
    assert swapped == pytest.approx([shares[1], shares[0], shares[2]])


def test_members_without_an_error_count_alike():
    values = RNG.randn(4, 1)
    shares = weigh(np.stack([values, values]), values, classes=False)
    assert shares == [0.5, 0.5]


def test_one_without_an_error_leaves_no_nan():
    values = RNG.randn(4, 1)
    shares = weigh(np.stack([values, values + 1]), values, classes=False)
    assert shares == pytest.approx([1, 0])


def test_one_far_from_the_others_counts_as_far_as_it_usually_goes():
    votes = np.array([0.0, 1.0, 2.0, 100.0])[:, None, None]
    # The median is 1.5; distances are 1.5, 0.5, 0.5 and 98.5.
    found = counts(votes, [0.25] * 4, reach=1.5)
    expected = np.array([1, 1, 1, 1.5 / 98.5])
    np.testing.assert_allclose(found[:, 0], expected / expected.sum())
    # Those who are near share what the other loses, whatever they counted before.
    found = counts(votes, [0.1, 0.2, 0.1, 0.6], reach=1.5)
    near = np.array([1, 1, 1, 1.5 / 98.5])
    kept = near * [0.1, 0.2, 0.1, 0.6]
    np.testing.assert_allclose(found[:, 0], kept + (1 - kept.sum()) * near / near.sum())
    assert found[1, 0] - found[0, 0] == pytest.approx(0.1)
    for anything in (np.inf, 1000.0, 0.0):  # nobody is far, or all agreed
        np.testing.assert_allclose(counts(votes, [0.25] * 4, anything), 0.25)


def test_where_all_are_at_odds_all_count_alike():
    votes = np.array([-100.0, -100.0, 100.0, 100.0])[:, None, None]
    found = counts(votes, [0.4, 0.05, 0.05, 0.5], reach=0.01)
    np.testing.assert_allclose(found, 0.25, atol=1e-3)


def test_the_usual_reach_knows_no_order_and_no_place():
    votes = RNG.randn(4, 50, 1)
    reach = usual_reach(votes)
    for same in (votes[::-1], votes[:, ::-1], votes + 7, -votes):
        assert usual_reach(same) == pytest.approx(reach)
    assert usual_reach(3 * votes) == pytest.approx(3 * reach)
    distances = np.abs(votes - np.median(votes, axis=0))
    assert (distances <= reach).mean() == pytest.approx(0.99, abs=0.01)


def test_a_network_that_goes_astray_does_not_lead_the_others():
    model = ModernNCARegressor(guard=False, **QUICK).fit(X, Y)
    asked = RNG.randn(7, 3)
    before = model.predict(asked)
    net, memory = model.members_[1].net, model.members_[1].memory
    astray = ExactMemory(memory.keys, memory.values + 1000 * model.reach_, memory.rule)
    model.members_[1] = Member(net, astray)
    scale = Y.std()
    assert np.abs(model.predict(asked) - before).max() < 2 * model.reach_ * scale
    model.reach_ = np.inf
    assert np.abs(model.predict(asked) - before).min() > 50 * scale


@pytest.mark.parametrize("weighed", [True, False])
def test_the_shares_of_neighbors_make_the_prediction(weighed, tmp_path):
    model = ModernNCARegressor(weigh=weighed, guard=False, **QUICK).fit(X, Y)
    model.reach_ /= 5  # so that it matters
    assert (len(set(model.member_weights_)) > 1) == weighed
    asked = RNG.randn(7, 3)
    _, indices, shares = model.kneighbors(asked, n_neighbors=200)
    np.testing.assert_allclose(shares.sum(1), 1, rtol=1e-5)
    by_hand = (shares * Y[indices]).sum(1)
    np.testing.assert_allclose(model.predict(asked), by_hand, rtol=1e-4, atol=1e-4)
    model.save(tmp_path / "model.mnca")
    again = load(tmp_path / "model.mnca")
    assert again.member_weights_ == model.member_weights_
    assert again.reach_ == model.reach_
    assert np.isfinite(model.reach_) == weighed
    assert (again.predict(asked) == model.predict(asked)).all()


def test_a_retrained_member_counts_as_the_one_before():
    model = ModernNCAClassifier(refit="full", guard=False, **QUICK)
    model.fit(X, Y > 0)
    assert len(model.member_weights_) == len(model.members_) == 5  # and a forest
    assert sum(model.member_weights_) == pytest.approx(1)
