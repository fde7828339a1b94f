"""Shares of wins by hand, and ratings held to cases that can be solved."""

import numpy as np
import pytest
from pandas import DataFrame
from pandas.testing import assert_frame_equal
from scipy.optimize import minimize
from tests.lab.stats.frames import random_scores, rescaled, scores_of, shuffled

from modernnca.lab.stats import elo, win_rates
from modernnca.lab.stats.pairwise import _games, _strengths

NAN = np.nan


def duel(wins, losses, ties=0):
    """Two methods on as many datasets."""
    a = [0.9] * wins + [0.1] * losses + [0.5] * ties
    return scores_of(DataFrame({"a": a, "b": 0.5}))


def test_shares_by_hand():
    means = DataFrame(
        {"a": [0.9, 0.5, 0.1, NAN], "b": [0.1, 0.5, 0.2, 0.1], "c": [NAN] * 4},
        index=list("wxyz"),
    )
    scores = scores_of(means)
    rates = win_rates(scores)
    assert rates.loc["a", "b"] == (1 + 0.5 + 0 + 0) / 4
    assert rates.loc["a", "c"] == (1 + 1 + 1 + 0.5) / 4  # both failed: half
    assert (
        win_rates(scores[scores["method"] != "c"], missing="drop").loc["a", "b"] == 0.5
    )
    absent = scores[(scores["method"] != "c") | (scores["dataset"] == "w")]
    absent = absent[(absent["method"] != "b") | (absent["dataset"] != "w")]
    assert np.isnan(win_rates(absent).loc["b", "c"])


@pytest.mark.parametrize("seed", range(5))
def test_a_share_and_its_mirror_add_to_one(seed):
    scores = random_scores(seed)
    rates = win_rates(scores)
    np.testing.assert_allclose(rates + rates.T, 1.0)
    assert_frame_equal(win_rates(shuffled(scores, seed)), rates)
    assert_frame_equal(win_rates(rescaled(scores)), rates)


@pytest.mark.parametrize(("wins", "losses", "ties"), [(10, 1, 0), (7, 5, 4), (3, 9, 0)])
def test_two_players_have_the_log_of_their_odds(wins, losses, ties):
    table = elo(duel(wins, losses, ties), prior=1e-9, n_boot=0).set_index("method")[
        "elo"
    ]
    odds = (wins + ties / 2) / (losses + ties / 2)
    assert table["a"] - table["b"] == pytest.approx(400 * np.log10(odds), abs=1e-4)
    assert table.mean() == pytest.approx(1000)


def test_one_who_never_wins_stays_finite_by_the_prior():
    table = elo(duel(12, 0)).set_index("method")
    gap = table.loc["a", "elo"] - table.loc["b", "elo"]
    assert gap == pytest.approx(400 * np.log10(12.5 / 0.5))
    assert table["low"].equals(table["elo"].rename("low"))  # every draw is the same


def test_ratings_are_the_most_likely_ones():
    games = _games(DataFrame(np.random.default_rng(0).integers(1, 4, size=(20, 5))))
    wins = games.sum(axis=0) + 0.5 * (1 - np.eye(5))

    def unlikely(strengths):
        difference = strengths[:, None] - strengths[None, :]
        return (wins * np.logaddexp(0, -difference)).sum()

    best = minimize(unlikely, np.zeros(5), tol=1e-12).x
    ours = _strengths(wins[None])[0]
    np.testing.assert_allclose(ours, best - best.mean(), atol=1e-5)
    np.testing.assert_allclose(ours.mean(), 0, atol=1e-12)


def test_known_strengths_come_out_and_the_intervals_cover_them():
    rng = np.random.default_rng(1)
    truth = np.array([0.0, 0.5, 1.0, 1.5])
    # Gumbel noise on each makes exactly the odds of Bradley and Terry.
    numbers = truth + rng.gumbel(size=(4000, 4))
    table = elo(scores_of(DataFrame(numbers, columns=list("abcd"))), anchor="a")
    table = table.set_index("method").loc[list("abcd")]
    expected = 1000 + truth * 400 / np.log(10)
    np.testing.assert_allclose(table["elo"], expected, atol=20)
    assert ((table["low"] <= expected) & (expected <= table["high"])).all()
    assert table.loc["a"].tolist() == [1000.0, 1000.0, 1000.0]


@pytest.mark.parametrize("seed", range(3))
def test_neither_the_order_of_games_nor_units_matter(seed):
    scores = random_scores(seed)
    table = elo(scores, n_boot=20)
    assert table["elo"].is_monotonic_decreasing
    assert_frame_equal(elo(shuffled(scores, seed), n_boot=20), table)
    assert_frame_equal(elo(rescaled(scores), n_boot=20), table)


def test_extreme_records_settle():
    n = 30
    ordered = DataFrame(np.tile(np.linspace(0, 1, n), (500, 1)))
    table = elo(scores_of(ordered), n_boot=3, prior=0.01)
    assert table["method"].tolist() == list(range(n))[::-1]
    assert np.isfinite(table["elo"]).all()


def test_bad_values_are_refused():
    with pytest.raises(ValueError, match="prior is 0; it must be above 0"):
        elo(duel(1, 1), prior=0)
    with pytest.raises(ValueError, match="Unknown method 'z'; choose one of: a, b"):
        elo(duel(1, 1), anchor="z")
    failed = scores_of(DataFrame({"a": [0.5], "b": [NAN]}))
    with pytest.raises(ValueError, match="No dataset is left to rate the methods on"):
        elo(failed, missing="drop")
