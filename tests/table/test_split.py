"""Rows held out, and classes kept."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from modernnca.table.split import hold_out, hold_out_late


def rows(n_rows, fraction, classes=None, seed=0):
    rng = np.random.RandomState(seed)
    return hold_out(n_rows, fraction=fraction, rng=rng, classes=classes)


def test_each_class_gives_its_share():
    classes = np.repeat([0, 1, 2], [50, 30, 20])
    _, stop = rows(100, 0.2, classes)
    assert np.bincount(classes[stop]).tolist() == [10, 6, 4]


def test_small_classes_together_give_their_share():
    classes = np.arange(100) // 2
    fit, stop = rows(100, 0.2, classes)
    assert len(stop) == 20
    assert set(classes[fit]) == set(range(50))


@settings(max_examples=60, deadline=None)
@given(
    classes=st.lists(st.integers(0, 4), min_size=10, max_size=60),
    fraction=st.floats(0, 0.99),
    stratified=st.booleans(),
)
def test_rows_are_parted_and_every_class_can_be_learned(classes, fraction, stratified):
    codes = np.array(classes)
    fit, stop = rows(len(codes), fraction, codes if stratified else None)
    assert sorted([*fit, *stop]) == list(range(len(codes)))
    assert (np.diff(fit) > 0).all()
    assert (np.diff(stop) > 0).all()
    assert len(fit) >= 2
    assert len(stop) <= round(fraction * len(codes))
    if stratified:
        assert set(codes[fit]) == set(classes)


def test_equal_seeds_hold_out_equal_rows_and_others_do_not():
    np.testing.assert_array_equal(rows(50, 0.2)[1], rows(50, 0.2)[1])
    assert (rows(50, 0.2)[1] != rows(50, 0.2, seed=1)[1]).any()


@pytest.mark.parametrize(("n_rows", "fraction"), [(9, 0.5), (100, 0.0), (1, 0.2)])
def test_few_rows_or_no_fraction_hold_nothing_out(n_rows, fraction):
    fit, stop = rows(n_rows, fraction)
    assert fit.tolist() == list(range(n_rows))
    assert len(stop) == 0
    assert stop.dtype == np.int64


@pytest.mark.parametrize("fraction", [1.0, -0.1, float("nan")])
def test_fractions_that_are_none_are_refused(fraction):
    with pytest.raises(ValueError) as error:
        rows(20, fraction)
    assert str(error.value) == (
        f"The fraction of rows to hold out is {fraction}; "
        "it must be at least 0 and less than 1."
    )


# ----------------------------------------------------------------- by time


def late(times, fraction=0.2, n_stretches=1, classes=None):
    return hold_out_late(
        np.asarray(times, dtype=float),
        fraction=fraction,
        n_stretches=n_stretches,
        classes=classes,
    )


def test_the_last_rows_are_held_out_wherever_they_stand():
    times = np.random.RandomState(0).permutation(50)
    fit, stop = late(times)
    assert sorted(times[stop]) == list(range(40, 50))
    assert sorted(times[fit]) == list(range(40))


def test_each_stretch_gives_its_end():
    _, stop = late(np.arange(100), n_stretches=10)
    assert stop.tolist() == [10 * i + j for i in range(10) for j in (8, 9)]


def test_a_missing_time_is_the_latest():
    times = np.arange(20.0)
    times[[3, 5]] = np.nan
    assert late(times)[1].tolist() == [3, 5, 18, 19]


def test_a_class_that_is_only_late_keeps_its_earliest_row_to_fit_on():
    classes = np.repeat([0, 1], [18, 2])
    fit, stop = late(np.arange(20), classes=classes)
    assert stop.tolist() == [16, 17, 19]
    assert 18 in fit


@settings(max_examples=60, deadline=None)
@given(
    classes=st.lists(st.integers(0, 4), min_size=2, max_size=60),
    fraction=st.floats(0, 0.99),
    n_stretches=st.integers(1, 12),
    seed=st.integers(0, 99),
)
def test_by_time_too_rows_are_parted_and_every_class_can_be_learned(
    classes, fraction, n_stretches, seed
):
    codes = np.array(classes)
    times = np.random.RandomState(seed).randint(0, 20, len(codes))
    fit, stop = late(times, fraction, n_stretches, codes)
    assert sorted([*fit, *stop]) == list(range(len(codes)))
    assert set(codes[fit]) == set(codes)
    assert len(fit) >= 2
    if n_stretches == 1 and len(stop):
        alone = [list(codes[fit]).count(code) == 1 for code in codes[fit]]
        assert times[fit][~np.array(alone)].max(initial=0) <= times[stop].min()


def test_a_wrong_fraction_is_named_by_time_too():
    with pytest.raises(ValueError, match="rows to hold out is 1"):
        late(np.arange(20), fraction=1)
