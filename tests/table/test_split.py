"""Rows held out for validation, and classes kept in training."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from modernnca.table.split import (
    VALIDATION_SPLITS,
    hold_out,
    hold_out_groups,
    hold_out_late,
)


def rows(n_rows, fraction, classes=None, seed=0):
    rng = np.random.RandomState(seed)
    return hold_out(n_rows, fraction=fraction, rng=rng, classes=classes)


def test_each_class_contributes_its_share():
    classes = np.repeat([0, 1, 2], [50, 30, 20])
    _, valid = rows(100, 0.2, classes)
    assert np.bincount(classes[valid]).tolist() == [10, 6, 4]


def test_small_classes_together_contribute_their_share():
    classes = np.arange(100) // 2
    train, valid = rows(100, 0.2, classes)
    assert len(valid) == 20
    assert set(classes[train]) == set(range(50))


@settings(max_examples=60, deadline=None)
@given(
    classes=st.lists(st.integers(0, 4), min_size=10, max_size=60),
    fraction=st.floats(0, 0.99),
    stratified=st.booleans(),
)
def test_no_row_is_lost_and_every_class_stays_in_training(
    classes, fraction, stratified
):
    codes = np.array(classes)
    train, valid = rows(len(codes), fraction, codes if stratified else None)
    assert sorted([*train, *valid]) == list(range(len(codes)))
    assert (np.diff(train) > 0).all()
    assert (np.diff(valid) > 0).all()
    assert len(train) >= 2
    assert len(valid) <= round(fraction * len(codes))
    if stratified:
        assert set(codes[train]) == set(classes)


def test_equal_seeds_hold_out_equal_rows_and_others_do_not():
    np.testing.assert_array_equal(rows(50, 0.2)[1], rows(50, 0.2)[1])
    assert (rows(50, 0.2)[1] != rows(50, 0.2, seed=1)[1]).any()


@pytest.mark.parametrize(("n_rows", "fraction"), [(9, 0.5), (100, 0.0), (1, 0.2)])
def test_few_rows_or_no_fraction_hold_nothing_out(n_rows, fraction):
    train, valid = rows(n_rows, fraction)
    assert train.tolist() == list(range(n_rows))
    assert len(valid) == 0
    assert valid.dtype == np.int64


@pytest.mark.parametrize("fraction", [1.0, -0.1, float("nan")])
def test_impossible_fractions_are_refused(fraction):
    with pytest.raises(ValueError) as error:
        rows(20, fraction)
    assert str(error.value) == (
        f"The fraction of rows to hold out is {fraction}; "
        "it must be at least 0 and less than 1."
    )


# ----------------------------------------------------------------- by time


def late(times, fraction=0.2, n_blocks=1, classes=None):
    return hold_out_late(
        np.asarray(times, dtype=float),
        fraction=fraction,
        n_blocks=n_blocks,
        classes=classes,
    )


def test_the_last_rows_are_held_out_wherever_they_stand():
    times = np.random.RandomState(0).permutation(50)
    train, valid = late(times)
    assert sorted(times[valid]) == list(range(40, 50))
    assert sorted(times[train]) == list(range(40))


def test_each_block_contributes_its_last_rows():
    _, valid = late(np.arange(100), n_blocks=10)
    assert valid.tolist() == [10 * i + j for i in range(10) for j in (8, 9)]


def test_the_number_of_blocks_by_name():
    assert VALIDATION_SPLITS == {"random": 0, "last": 1, "blocks": 10}


def test_a_missing_time_is_the_latest():
    times = np.arange(20.0)
    times[[3, 5]] = np.nan
    assert late(times)[1].tolist() == [3, 5, 18, 19]


def test_a_class_that_is_only_late_keeps_its_earliest_row_in_training():
    classes = np.repeat([0, 1], [18, 2])
    train, valid = late(np.arange(20), classes=classes)
    assert valid.tolist() == [16, 17, 19]
    assert 18 in train


@settings(max_examples=60, deadline=None)
@given(
    classes=st.lists(st.integers(0, 4), min_size=2, max_size=60),
    fraction=st.floats(0, 0.99),
    n_blocks=st.integers(1, 12),
    seed=st.integers(0, 99),
)
def test_by_time_no_row_is_lost_and_every_class_stays_in_training(
    classes, fraction, n_blocks, seed
):
    codes = np.array(classes)
    times = np.random.RandomState(seed).randint(0, 20, len(codes))
    train, valid = late(times, fraction, n_blocks, codes)
    assert sorted([*train, *valid]) == list(range(len(codes)))
    assert set(codes[train]) == set(codes)
    assert len(train) >= 2
    if n_blocks == 1 and len(valid):
        alone = [list(codes[train]).count(code) == 1 for code in codes[train]]
        assert times[train][~np.array(alone)].max(initial=0) <= times[valid].min()


def test_impossible_fractions_are_refused_by_time_too():
    with pytest.raises(ValueError, match="rows to hold out is 1"):
        late(np.arange(20), fraction=1)


@pytest.mark.parametrize("timed", [False, True])
@pytest.mark.parametrize("n_groups", [3, 10, 60])
def test_no_group_is_torn_apart(timed, n_groups):
    rng = np.random.RandomState(0)
    groups = rng.randint(-1, n_groups, 200)
    classes = rng.randint(0, 3, 200)
    train, valid = hold_out_groups(
        groups,
        fraction=0.2,
        rng=rng,
        classes=classes,
        times=rng.rand(200) if timed else None,
        n_blocks=2 if timed else 0,
    )
    assert sorted([*train, *valid]) == [*range(200)]
    known = set(groups) - {-1}
    assert not set(groups[train]) & set(groups[valid]) & known
    assert len(valid) <= 40
    assert len(valid) > 20 or n_groups == 3
    assert set(classes[train]) == {0, 1, 2}


def test_the_latest_groups_are_held_out():
    groups = np.repeat(np.arange(10), 3)
    times = np.repeat(np.arange(10)[::-1], 3)
    rng = np.random.RandomState(0)
    options = {"fraction": 0.2, "rng": rng, "classes": None, "times": times}
    assert set(groups[hold_out_groups(groups, n_blocks=1, **options)[1]]) == {0, 1}
    assert set(groups[hold_out_groups(groups, n_blocks=2, **options)[1]]) == {0, 5}


def test_the_only_group_of_a_class_stays_in_training():
    groups, classes = np.repeat(np.arange(4), 5), np.repeat([0, 0, 0, 1], 5)
    for seed in range(5):
        rng = np.random.RandomState(seed)
        train, valid = hold_out_groups(groups, fraction=0.5, rng=rng, classes=classes)
        assert set(classes[train]) == {0, 1}
        assert len(set(groups[train])) == 2
        assert len(valid) == 10
