"""Conformal thresholds, intervals and sets on made-up held-out rows."""

import numpy as np
import pytest

from modernnca.ensemble.held_out import HeldOut
from modernnca.ensemble.moments import Uncertainty
from modernnca.evidence.conformal import (
    intervals,
    least_rows,
    prediction_sets,
    quantiles,
    threshold,
    thresholds,
)
from modernnca.evidence.error_scale import cross_fitted_scales, fit_scale


def numbers(rng, n_rows):
    """Predictions of zero whose errors grow with the spread; the truth, the spread."""
    spread = np.exp(rng.randn(n_rows))
    members = np.exp(rng.randn(n_rows))
    truth = spread * rng.standard_normal(n_rows)
    return truth, Uncertainty(spread, members)


def held_out_numbers(rng, n_rows):
    truth, spread = numbers(rng, n_rows)
    return HeldOut(np.arange(n_rows), truth, np.zeros((n_rows, 1)), *spread)


def classes(rng, n_rows, n_classes=4):
    """Probabilities, and codes drawn by them."""
    votes = rng.dirichlet(np.ones(n_classes) / 2, n_rows)
    codes = (votes.cumsum(1) < rng.random_sample((n_rows, 1))).sum(1)
    return votes, codes.clip(max=n_classes - 1)


@pytest.mark.parametrize("n_rows", [9, 19, 20, 100, 101])
@pytest.mark.parametrize("coverage", [0.5, 0.9])
def test_a_new_score_is_within_the_threshold_often_enough(n_rows, coverage):
    # Of n + 1 exchangeable scores, the last is equally likely to have any rank.
    scores = np.arange(n_rows + 1.0)
    within = [
        last <= threshold(np.delete(scores, place), coverage)
        for place, last in enumerate(scores)
    ]
    assert coverage <= np.mean(within) < coverage + 1 / n_rows


def test_the_least_number_of_rows_is_enough():
    for coverage in (0.5, 0.8, 0.9, 0.95, 0.99):
        needed = least_rows(coverage)
        assert np.isfinite(threshold(np.arange(needed), coverage))
        if needed > 1:
            with pytest.raises(ValueError, match=f"needs at least {needed} held-out"):
                threshold(np.arange(needed - 1), coverage)


@pytest.mark.parametrize("coverage", [0, 1, 1.5, -0.1, float("nan"), "0.9", None])
def test_a_coverage_is_a_probability(coverage):
    with pytest.raises(ValueError, match="coverage must be above 0 and below 1"):
        thresholds(np.arange(99.0), coverage, 1)


def test_intervals_cover_as_often_as_promised():
    rng = np.random.RandomState(0)
    covered = []
    for _ in range(60):
        held_out = held_out_numbers(rng, 200)
        truth, spread = numbers(rng, 200)
        low, high = intervals(held_out, np.zeros(200), spread, 0.9).T
        covered.append(((low <= truth) & (truth <= high)).mean())
    assert 0.89 < np.mean(covered) < 0.915


def test_intervals_are_wide_where_neighbors_differ():
    rng = np.random.RandomState(0)
    held_out = held_out_numbers(rng, 500)
    _, spread = numbers(rng, 300)
    low, high = intervals(held_out, np.zeros(300), spread, 0.9).T
    ratio = (high - low) / spread.neighbors
    assert np.log(ratio).std() < 0.25 < np.log(spread.neighbors).std()
    np.testing.assert_allclose(low, -high)


def test_calibrated_quantiles_are_calibrated():
    rng = np.random.RandomState(0)
    levels, below = np.array([0.05, 0.25, 0.5, 0.9]), []
    for _ in range(40):
        held_out = held_out_numbers(rng, 200)
        truth, spread = numbers(rng, 200)
        found = quantiles(held_out, np.zeros(200), spread, levels)
        assert (np.diff(found, axis=1) >= 0).all()
        below.append((truth[:, None] <= found).mean(0))
    np.testing.assert_allclose(np.mean(below, 0), levels, atol=0.02)


def test_sets_cover_as_often_as_promised():
    rng = np.random.RandomState(0)
    covered = []
    for _ in range(60):
        votes, codes = classes(rng, 200)
        nothing = np.zeros(200)
        rows = HeldOut(np.arange(200), codes.astype(float), votes, *[nothing] * 2)
        votes, codes = classes(rng, 200)
        found = prediction_sets(rows, votes, 0.9)
        covered.append(found[np.arange(200), codes].mean())
    assert 0.89 < np.mean(covered) < 0.915


def test_groups_have_thresholds_of_their_own():
    scores = np.concatenate([np.arange(99.0), 100 + np.arange(99.0), [7.0]])
    groups = np.repeat(["a", "b", "c"], [99, 99, 1])
    asked = np.array(["b", "a", "c", "new"])
    found = thresholds(scores, 0.9, 4, (groups, asked))
    of_all = threshold(scores, 0.9)
    np.testing.assert_array_equal(found, [189, 89, of_all, of_all])


def test_the_expected_error_of_a_row_is_learned_from_other_rows():
    rng = np.random.RandomState(0)
    truth, spread = numbers(rng, 60)
    errors, changed = np.abs(truth), np.abs(truth)
    changed[7] = 1e6
    before = cross_fitted_scales(np.zeros(60), spread, errors)
    after = cross_fitted_scales(np.zeros(60), spread, changed)
    same_fold = np.arange(60) % 5 == 7 % 5
    np.testing.assert_allclose(after[same_fold], before[same_fold])
    assert (after[~same_fold] != before[~same_fold]).all()


def test_few_rows_expect_the_same_error_everywhere():
    rng = np.random.RandomState(0)
    truth, spread = numbers(rng, 20)
    scale = fit_scale(np.zeros(20), spread, np.abs(truth))
    assert np.ptp(scale(np.zeros(20), spread)) == 0


def test_no_query_is_expected_to_be_off_without_bound():
    rng = np.random.RandomState(0)
    truth, spread = numbers(rng, 200)
    scale = fit_scale(np.zeros(200), spread, np.abs(truth))
    most = scale(np.zeros(200), spread).max()
    far = Uncertainty(np.array([1e9]), np.array([1e9]))
    assert scale(np.zeros(1), far)[0] <= 4.001 * most


def test_exact_predictions_have_intervals_without_width():
    nothing = np.zeros(30)
    rows = HeldOut(np.arange(30), nothing, np.zeros((30, 1)), *[nothing] * 2)
    spread = Uncertainty(np.zeros(2), np.zeros(2))
    found = intervals(rows, np.ones(2), spread, 0.9)
    np.testing.assert_allclose(found, 1.0)
