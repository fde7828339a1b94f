"""Domains: drawn values lie in them, have their type, and can be drawn again."""

import math
from collections import Counter

import optuna
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from modernnca.tune.space import Choice, Float, Int, LogFloat, Maybe, draw

DOMAINS = {
    "whole": Int(-3, 12),
    "stepped": Int(8, 64, step=8),
    "sized": Int(1, 4096, log=True),
    "share": Float(0.05, 0.6),
    "rate": LogFloat(1e-5, 0.1),
    "word": Choice(["relu", None, (64, 64), True, 1]),
    "maybe": Maybe(LogFloat(1e-6, 1e-3), 0.0),
    "single": Int(5, 5),
}


def draws(domain, n, seed=0):
    sampler = optuna.samplers.RandomSampler(seed=seed)
    study = optuna.create_study(sampler=sampler)
    return [domain.suggest(study.ask(), "x") for _ in range(n)]


@pytest.fixture(autouse=True)
def _silent():
    optuna.logging.set_verbosity(optuna.logging.ERROR)


@pytest.mark.parametrize("domain", DOMAINS.values(), ids=DOMAINS)
def test_what_is_drawn_lies_in_the_domain(domain):
    assert all(domain.holds(value) for value in draws(domain, 60))


@pytest.mark.parametrize("domain", DOMAINS.values(), ids=DOMAINS)
def test_a_value_can_be_drawn_again(domain):
    """With the parameters of `to_params`, `suggest` returns the same value."""
    for value in draws(domain, 30):
        again = domain.suggest(
            optuna.trial.FixedTrial(domain.to_params("x", value)), "x"
        )
        assert again == value
        assert type(again) is type(value)


@settings(max_examples=50, deadline=None)
@given(low=st.integers(-100, 100), width=st.integers(0, 100), seed=st.integers(0, 99))
def test_whole_numbers_are_whole_and_within_their_ends(low, width, seed):
    (value,) = draws(Int(low, low + width), 1, seed)
    assert type(value) is int
    assert low <= value <= low + width


def test_steps_are_kept():
    assert {value % 8 for value in draws(Int(8, 64, step=8), 40)} == {0}


@pytest.mark.parametrize("domain", [LogFloat(1e-6, 1), Int(1, 10**6, log=True)])
def test_logarithms_draw_every_size_alike(domain):
    sizes = [math.log10(value) for value in draws(domain, 400)]
    middle = (math.log10(domain.low) + math.log10(domain.high)) / 2
    below = sum(size < middle for size in sizes) / len(sizes)
    assert 0.4 < below < 0.6


def test_maybe_is_the_default_half_of_the_time():
    values = draws(Maybe(Int(1, 3), 0), 600)
    counts = Counter(values)
    assert set(counts) == {0, 1, 2, 3}
    assert 250 < counts[0] < 350


def test_values_outside_are_told_apart():
    assert not Int(1, 5).holds(6)
    assert not Int(1, 5).holds(2.0)
    assert not Int(0, 5).holds(True)
    assert not Int(0, 8, step=4).holds(2)
    assert not Float(0, 1).holds(1.1)
    assert not Float(0, 1).holds("auto")
    assert not Choice([1, 2]).holds(True)
    assert not Choice(["a"]).holds("b")
    assert Maybe(LogFloat(1e-6, 1e-3), 0.0).holds(0.0)
    assert not Maybe(LogFloat(1e-6, 1e-3), 0.0).holds(0.5)


def test_a_space_gives_a_value_for_each_name():
    trial = optuna.create_study().ask()
    assert list(draw(DOMAINS, trial)) == list(DOMAINS)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Int(5, 1), "needs finite bounds with low not above high"),
        (lambda: Float(0, math.inf), "needs finite bounds"),
        (lambda: Int(0.5, 3), "needs integer bounds; otherwise use Float"),
        (lambda: Int(0, 8, log=True), "needs low above 0 for a log scale"),
        (lambda: LogFloat(0, 1), "needs low above 0"),
        (lambda: Int(0, 10, step=3), "needs a step that divides high - low"),
        (lambda: Int(1, 9, log=True, step=2), "has both log and a step; choose one"),
        (lambda: Choice([]), "needs a sequence of at least one option"),
        (lambda: Choice("ab"), "needs a sequence of at least one option"),
    ],
)
def test_invalid_domains_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()
