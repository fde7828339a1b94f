"""Fourier features: they are periodic, and only those that vary in a table."""

import numpy as np
import pytest

from modernnca.table.fourier import FourierFeatures, learn_fourier

HOURS = np.arange(0, 800, 1 / 24)


@pytest.mark.parametrize(
    ("name", "days"), [("day", 1.0), ("week", 7.0), ("year", 365.2425)]
)
def test_features_are_periodic(name, days):
    features = learn_fourier(HOURS, dates=True)
    of_period = [i for i, each in enumerate(features.names) if f" {name}/" in each]
    assert len(of_period) == 6  # three harmonics, sine and cosine
    times = np.array([3.3, 100.8, 517.2])
    one, other = features(times)[:, of_period], features(times + 5 * days)[:, of_period]
    np.testing.assert_allclose(one, other, atol=1e-4)
    half = features(times + days / 2)[:, of_period]
    assert (np.abs(one - half).max(1) > 0.5).all()


def test_the_trend_continues_beyond_the_table():
    features = learn_fourier(HOURS, dates=True)
    trend = features(np.array([HOURS.mean(), 800.0, 1600]))[:, 0]
    assert trend[0] == pytest.approx(0, abs=1e-6)
    assert trend[2] > trend[1] > 0
    assert features(HOURS)[:, 0].std() == pytest.approx(1, rel=1e-4)


def test_seasons_are_the_same_without_the_trend():
    features, seasons = (
        learn_fourier(HOURS, dates=True, trend=t) for t in (True, False)
    )
    assert seasons.names == features.names[1:]
    assert (seasons(HOURS) == features(HOURS)[:, 1:]).all()


def periods(times, dates=True):
    return {name.split("/")[0] for name in learn_fourier(times, dates=dates).periods}


def test_periods_that_the_table_does_not_span_or_vary_in_are_left_out():
    assert periods(HOURS) == {"year", "week", "day"}
    assert periods(HOURS[: 24 * 100]) == {"week", "day"}
    assert periods(np.arange(800.0)) == {"year", "week"}  # always at midnight
    assert periods(HOURS[:20]) == set()


def test_periods_of_numbers_are_their_range_halved():
    features = learn_fourier(np.linspace(10, 74, 500), dates=False)
    assert list(features.periods.values()) == [64, 32, 16, 8, 4, 2]
    assert learn_fourier(np.array([3.0, 3]), dates=False).periods == {}


def test_missing_times_are_zeros():
    features = learn_fourier(np.append(HOURS, np.nan), dates=True)
    assert not features(np.array([np.nan])).any()
    assert learn_fourier(np.array([np.nan]), dates=True) == FourierFeatures(
        0.0, 1.0, {}
    )
