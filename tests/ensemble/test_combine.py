"""Combining votes: members that err less count more, outliers count less."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from modernnca import load
from modernnca.core.softnn import Votes
from modernnca.ensemble.combine import Combiner, fit_combiner, outlier_threshold
from tests.estimators.models import classifier, regressor

RNG = np.random.RandomState(0)
X = RNG.randn(200, 3)
Y = X[:, 0] + np.sin(3 * X[:, 1])
QUICK = {"max_epochs": 2, "random_state": 0, "baseline_check": False}


def weights_of(votes, values, *, classification):
    return fit_combiner(votes, values, classification=classification).weights


def test_regression_by_hand():
    values = np.zeros((5, 1))
    votes = np.array([values + 1, values - 1, values + 2])
    # Errors 1, 1, 2: parts 1, 1, 1/16.
    found = weights_of(votes, values, classification=False)
    assert found == pytest.approx([16 / 33, 16 / 33, 1 / 33])


def log_likelihood(weights, votes, values):
    """Of the true classes, and of ten rows that all members explain alike."""
    probabilities = (np.array(weights)[:, None] * (votes * values).sum(2)).sum(0)
    return np.log(probabilities).sum() + 10 * np.log(weights).mean()


def test_classification_by_hand():
    # One member is sure of ten rows, the other is wrong about all: the first gets these
    # ten, and both get five of the prior rows.
    values = np.eye(2)[[0] * 10]
    votes = np.stack([values, values[:, ::-1]])
    found = weights_of(votes, values, classification=True)
    assert found == pytest.approx([15 / 20, 5 / 20], rel=1e-3)


def test_no_other_mixture_is_more_likely():
    values = np.eye(3)[RNG.randint(3, size=60)]
    votes = RNG.dirichlet([1, 1, 1], size=(4, 60))
    votes[1] = (votes[1] + values) / 2  # this one knows something
    weights = weights_of(votes, values, classification=True)
    best = log_likelihood(weights, votes, values)
    assert weights[1] == max(weights)
    for _ in range(200):
        other = np.abs(weights + 0.05 * RNG.randn(4)) + 1e-6
        assert log_likelihood(other / other.sum(), votes, values) <= best + 1e-6


def test_equal_members_have_equal_weights():
    values = np.eye(2)[RNG.randint(2, size=20)]
    one, other = RNG.dirichlet([1, 1], size=(2, 20))
    weights = weights_of(np.stack([one, other, one]), values, classification=True)
    assert weights[0] == pytest.approx(weights[2])
    swapped = weights_of(np.stack([other, one, one]), values, classification=True)
    assert swapped == pytest.approx([weights[1], weights[0], weights[2]])


def test_members_without_an_error_have_equal_weights():
    values = RNG.randn(4, 1)
    found = weights_of(np.stack([values, values]), values, classification=False)
    assert found == (0.5, 0.5)


def test_one_member_without_an_error_gives_no_nan():
    values = RNG.randn(4, 1)
    found = weights_of(np.stack([values, values + 1]), values, classification=False)
    assert found == pytest.approx([1, 0])


def test_an_outlier_counts_less_the_farther_it_is():
    votes = np.array([0.0, 1.0, 2.0, 100.0])[:, None, None]
    # The median is 1.5; distances are 1.5, 0.5, 0.5 and 98.5.
    found = Combiner((0.25,) * 4, 1.5).weights_for(votes)
    expected = np.array([1, 1, 1, 1.5 / 98.5])
    np.testing.assert_allclose(found[:, 0], expected / expected.sum())
    # The near ones share what the other loses, whatever their weights.
    found = Combiner((0.1, 0.2, 0.1, 0.6), 1.5).weights_for(votes)
    near = np.array([1, 1, 1, 1.5 / 98.5])
    kept = near * [0.1, 0.2, 0.1, 0.6]
    np.testing.assert_allclose(found[:, 0], kept + (1 - kept.sum()) * near / near.sum())
    assert found[1, 0] - found[0, 0] == pytest.approx(0.1)
    for threshold in (np.inf, 1000.0, 0.0):  # no vote is an outlier, or all agree
        weights = Combiner((0.25,) * 4, threshold).weights_for(votes)
        np.testing.assert_allclose(weights, 0.25)


def test_where_all_disagree_all_count_alike():
    votes = np.array([-100.0, -100.0, 100.0, 100.0])[:, None, None]
    found = Combiner((0.4, 0.05, 0.05, 0.5), 0.01).weights_for(votes)
    np.testing.assert_allclose(found, 0.25, atol=1e-3)


def test_the_outlier_threshold_does_not_depend_on_order_or_location():
    votes = RNG.randn(4, 50, 1)
    threshold = outlier_threshold(votes)
    for same in (votes[::-1], votes[:, ::-1], votes + 7, -votes):
        assert outlier_threshold(same) == pytest.approx(threshold)
    assert outlier_threshold(3 * votes) == pytest.approx(3 * threshold)
    distances = np.abs(votes - np.median(votes, axis=0))
    assert (distances <= threshold).mean() == pytest.approx(0.99, abs=0.01)


@pytest.mark.parametrize(
    "weights", [(0.5, 0.6), (1.5, -0.5), (np.nan, 1.0), (0.0, 0.0)]
)
def test_weights_that_do_not_add_up_to_one_are_refused(weights):
    with pytest.raises(ValueError, match="must add up to 1"):
        Combiner(weights)


def test_weights_of_another_number_of_members_are_refused():
    with pytest.raises(ValueError, match="votes of 3 members, but 2 weights"):
        Combiner((0.5, 0.5))(np.zeros((3, 4, 1)))
    model = regressor(**QUICK).fit(X, Y)
    with pytest.raises(ValueError, match="An ensemble of 4 members has 2 weights"):
        replace(model.ensemble_, combine=Combiner((0.5, 0.5)))


class Astray:
    """A member whose every vote is far off."""

    def __init__(self, member, distance):
        self.member, self.distance = member, distance

    def vote(self, query):
        mean, log_weight = self.member.vote(query)
        return Votes(mean + self.distance, log_weight)


def test_a_network_far_off_does_not_lead_the_others_astray():
    model = regressor(**QUICK).fit(X, Y)
    queries = RNG.randn(7, 3)
    before, threshold = (
        model.predict(queries),
        model.ensemble_.combine.outlier_threshold,
    )
    first, second, *rest = model.members_
    members = (first, Astray(second, 1000 * threshold), *rest)
    model.ensemble_ = replace(model.ensemble_, members=members)
    scale = Y.std()
    assert np.abs(model.predict(queries) - before).max() < 2 * threshold * scale
    combine = replace(model.ensemble_.combine, outlier_threshold=np.inf)
    model.ensemble_ = replace(model.ensemble_, combine=combine)
    assert np.abs(model.predict(queries) - before).min() > 50 * scale


@pytest.mark.parametrize("combine", ["weighted", "mean"])
def test_the_shares_of_rows_make_the_prediction(combine, tmp_path):
    model = regressor(combine=combine, **QUICK).fit(X, Y)
    weighted = combine == "weighted"
    smaller = replace(
        model.ensemble_.combine,
        outlier_threshold=model.ensemble_.combine.outlier_threshold / 5,
    )
    model.ensemble_ = replace(model.ensemble_, combine=smaller)  # so that it matters
    assert (len(set(model.member_weights_)) > 1) == weighted
    queries = RNG.randn(7, 3)
    found = model.explain(queries, n_neighbors=200)
    np.testing.assert_allclose(found.shares.sum(1), 1, rtol=1e-5)
    by_hand = (found.shares * Y[found.indices]).sum(1)
    np.testing.assert_allclose(model.predict(queries), by_hand, rtol=1e-4, atol=1e-4)
    model.save(tmp_path / "model.mnca")
    again = load(tmp_path / "model.mnca")
    assert again.ensemble_.combine == model.ensemble_.combine
    assert np.isfinite(smaller.outlier_threshold) == weighted
    assert (again.predict(queries) == model.predict(queries)).all()


def test_a_refitted_member_has_the_weight_of_the_one_before():
    model = classifier(refit="full", **QUICK).fit(X, Y > 0)
    remembering = classifier(**QUICK).fit(X, Y > 0)
    assert len(model.members_) == 5  # four networks and a forest
    assert model.member_weights_ == remembering.member_weights_


def test_a_member_without_weight_does_not_spoil_distances():
    """Zero times the infinite distance of a later row would be NaN."""
    times = np.arange(200.0)
    model = regressor(**QUICK, time_column=3).fit(np.c_[X, times], Y)
    weights = (0.0, 0.5, 0.5, 0.0)
    combine = replace(model.ensemble_.combine, weights=weights)
    model.ensemble_ = replace(model.ensemble_, combine=combine)
    distances, _ = model.kneighbors(np.c_[X, times][:5], n_neighbors=200)
    assert not np.isnan(distances).any()
    assert torch.isinf(torch.from_numpy(distances)).any()
