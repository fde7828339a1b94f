"""Rows held out, and classes kept."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from modernnca.table.split import hold_out


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
