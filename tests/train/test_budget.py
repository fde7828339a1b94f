"""Budgets: deadlines, interruptions, and their parts."""

import math

import pytest

from modernnca.train.budget import Budget


def test_without_a_limit_it_never_ends(clock):
    budget = Budget()
    clock.now += 1e12
    assert (budget.exhausted(), budget.interrupted) == (None, False)


def test_it_ends_when_the_seconds_are_over(clock):
    budget = Budget(3.0)
    clock.now = 102.999
    assert budget.exhausted() is None
    clock.now = 103.0
    assert budget.exhausted() == "time_limit"


def test_no_seconds_at_all_are_over_at_once(clock):
    assert Budget(0).exhausted() == "time_limit"


def test_an_interruption_comes_before_the_time_limit(clock):
    budget = Budget(3.0)
    budget.interrupt()
    assert (budget.exhausted(), budget.interrupted) == ("interrupted", True)
    clock.now += 10
    assert budget.exhausted() == "interrupted"


@pytest.mark.parametrize(("number", "end"), [(0, 102.0), (1, 104.0), (2, 106.0)])
def test_parts_end_one_after_the_other(clock, number, end):
    budget = Budget(6.0)
    clock.now = 101.0  # parts are those of the whole, not of what is left of it
    part = budget.part(number, 3)
    clock.now = end - 0.001
    assert part.exhausted() is None
    clock.now = end
    assert part.exhausted() == "time_limit"
    assert budget.exhausted() == (None if number < 2 else "time_limit")


def test_parts_of_parts(clock):
    budget = Budget(8.0)
    clock.now = 101.0
    outer = budget.part(0, 2)  # from 100 until 104
    inner = outer.part(0, 2)
    clock.now = 101.999
    assert inner.exhausted() is None
    clock.now = 102.0
    assert inner.exhausted() == "time_limit"
    assert outer.exhausted() is None


def test_a_part_never_ends_after_the_whole(clock):
    clock.now = 24.859
    budget = Budget(23.979)
    assert 24.859 + (budget.end - 24.859) * 7 / 7 > budget.end  # by rounding
    assert budget.part(6, 7).end == budget.end


def test_parts_of_an_unlimited_budget_have_no_limit(clock):
    part = Budget().part(0, 3)
    clock.now += 1e12
    assert part.exhausted() is None
    assert part.end == math.inf


def test_the_rest_begins_now_and_ends_with_the_whole(clock):
    budget = Budget(6.0)
    clock.now = 102.0
    rest = budget.rest()
    assert (rest.begin, rest.end) == (102.0, 106.0)
    first = rest.part(0, 2)  # of the four seconds that are left
    clock.now = 103.999
    assert first.exhausted() is None
    clock.now = 104.0
    assert (first.exhausted(), rest.exhausted()) == ("time_limit", None)


def test_an_interruption_reaches_the_whole_and_all_its_parts():
    budget = Budget(60)
    parts = [budget.part(0, 2), budget.part(1, 2), budget.rest(), budget.rest().rest()]
    assert [part.exhausted() for part in parts] == [None] * 4
    parts[3].interrupt()
    assert [part.exhausted() for part in (budget, *parts)] == ["interrupted"] * 5
    assert all(part.interrupted for part in (budget, *parts))
    assert budget.part(0, 2).interrupted  # later parts too


def test_other_budgets_are_not_interrupted():
    one, other = Budget(60), Budget(60)
    one.interrupt()
    assert (other.exhausted(), other.interrupted) == (None, False)


def test_what_is_left_shrinks_and_is_never_negative(clock):
    budget = Budget(3.0)
    clock.now += 1
    assert budget.left() == 2.0
    clock.now += 5
    assert budget.left() == 0.0
    assert Budget().left() == math.inf


def test_less_ends_earlier_and_shares_the_interruption(clock):
    budget = Budget(10.0)
    shorter = budget.less(4.0)
    clock.now += 6
    assert (shorter.exhausted(), budget.exhausted()) == ("time_limit", None)
    budget.interrupt()
    assert shorter.exhausted() == "interrupted"
    assert Budget().less(4.0).left() == math.inf


@pytest.mark.parametrize(("share", "left"), [(0.0, 0.0), (0.25, 2.0), (1.0, 8.0)])
def test_a_share_is_of_what_is_left(clock, share, left):
    budget = Budget(10.0)
    clock.now += 2
    assert budget.first(share).left() == left
