"""Fourier features: they come round, and only where a table can tell."""

import numpy as np
import pytest

from modernnca.table.waves import Waves, learn_waves

HOURS = np.arange(0, 800, 1 / 24)


@pytest.mark.parametrize(
    ("name", "days"), [("day", 1.0), ("week", 7.0), ("year", 365.2425)]
)
def test_features_are_periodic(name, days):
    waves = learn_waves(HOURS, dates=True)
    of_period = [i for i, wave in enumerate(waves.names) if f" {name}/" in wave]
    assert len(of_period) == 6  # three waves, sine and cosine
    times = np.array([3.3, 100.8, 517.2])
    one, other = waves(times)[:, of_period], waves(times + 5 * days)[:, of_period]
    np.testing.assert_allclose(one, other, atol=1e-4)
    half = waves(times + days / 2)[:, of_period]
    assert (np.abs(one - half).max(1) > 0.5).all()


def test_the_trend_goes_on():
    waves = learn_waves(HOURS, dates=True)
    trend = waves(np.array([HOURS.mean(), 800.0, 1600]))[:, 0]
    assert trend[0] == pytest.approx(0, abs=1e-6)
    assert trend[2] > trend[1] > 0
    assert waves(HOURS)[:, 0].std() == pytest.approx(1, rel=1e-4)


def test_seasons_are_the_same_without_the_trend():
    waves, seasons = (learn_waves(HOURS, dates=True, trend=t) for t in (True, False))
    assert seasons.names == waves.names[1:]
    assert (seasons(HOURS) == waves(HOURS)[:, 1:]).all()


def periods(times, dates=True):
    return {name.split("/")[0] for name in learn_waves(times, dates=dates).periods}


def test_what_the_table_does_not_span_or_show_is_left_out():
    assert periods(HOURS) == {"year", "week", "day"}
    assert periods(HOURS[: 24 * 100]) == {"week", "day"}
    assert periods(np.arange(800.0)) == {"year", "week"}  # always at midnight
    assert periods(HOURS[:20]) == set()


def test_numbers_have_their_span_and_its_halves():
    waves = learn_waves(np.linspace(10, 74, 500), dates=False)
    assert list(waves.periods.values()) == [64, 32, 16, 8, 4, 2]
    assert learn_waves(np.array([3.0, 3]), dates=False).periods == {}


def test_missing_times_are_zeros():
    waves = learn_waves(np.append(HOURS, np.nan), dates=True)
    assert not waves(np.array([np.nan])).any()
    assert learn_waves(np.array([np.nan]), dates=True) == Waves(0.0, 1.0, {})
