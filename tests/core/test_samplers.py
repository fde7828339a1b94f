"""Samplers: how many answer, who they are, and how likely each of them was."""

from dataclasses import replace

import pytest
import torch

from modernnca.core.samplers import (
    Crowd,
    sample_all,
    sample_batch,
    sample_by_class,
    sample_by_distance,
    sample_random,
)

CLASSES = torch.tensor([0] * 20 + [1] * 8 + [2] * 2)
BATCH = torch.tensor([3, 21, 7])  # 27 rows are outside: 18, 7 and 2 of each class


def ladder(n_rows):
    """Row i lies at i: all distances among rows."""
    at = torch.arange(n_rows).double()
    return (at[:, None] - at).abs()


def crowd(n_rows=30, *, rate=0.5, at_most=None, exponent=1.0, seed=0):
    distances = ladder(n_rows)
    return Crowd(
        n_rows=n_rows,
        classes=CLASSES[:n_rows],
        rate=rate,
        at_most=at_most,
        exponent=exponent,
        distances=lambda batch: distances[batch],
        generator=torch.Generator().manual_seed(seed),
    )


def heard(sample, batch):
    """For each row of the batch, the set of rows that it hears."""
    together = torch.cat([batch, sample.others])
    return [set(together[~silent].tolist()) for silent in sample.silent]


@pytest.mark.parametrize(
    ("rate", "at_most", "expected"),
    [(0.5, None, 13), (0.5, 5, 5), (0.1, 5, 2), (1.0, None, 27), (0.0, None, 0)],
)
def test_random_draws_a_share_of_the_rows_outside_up_to_a_cap(rate, at_most, expected):
    sample = sample_random(BATCH, crowd(rate=rate, at_most=at_most))
    assert len(sample.others) == expected
    assert sample.silent is None


def test_random_is_even():
    crowd_ = crowd(n_rows=6, rate=0.5)
    counts = torch.zeros(6)
    for _ in range(2000):
        counts[sample_random(torch.tensor([2]), crowd_).others] += 1
    assert counts[2] == 0
    expected = torch.full((5,), 2 / 5)
    found = counts[[0, 1, 3, 4, 5]] / 2000
    torch.testing.assert_close(found, expected, atol=0.04, rtol=0)


def test_each_draw_is_a_new_one():
    crowd_ = crowd()
    first, second = (sample_random(BATCH, crowd_).others for _ in range(2))
    assert set(first.tolist()) != set(second.tolist())


@pytest.mark.parametrize(("rate", "expected"), [(0.5, [9, 3, 1]), (0.01, [1, 1, 1])])
def test_class_wise_draws_the_same_share_of_each_class(rate, expected):
    others = sample_by_class(BATCH, crowd(rate=rate)).others
    assert CLASSES[others].bincount(minlength=3).tolist() == expected


def test_class_wise_keeps_every_class_under_a_cap():
    others = sample_by_class(BATCH, crowd(rate=1.0, at_most=9)).others
    assert CLASSES[others].bincount(minlength=3).tolist() == [6, 2, 1]


def test_class_wise_refuses_regression():
    with pytest.raises(ValueError) as error:
        sample_by_class(BATCH, replace(crowd(), classes=None))
    assert str(error.value) == (
        "The sampler 'class-wise' needs classes; this is regression."
    )


def test_all_are_all_and_batch_is_nobody_else():
    assert sorted([*sample_all(BATCH, crowd()).others, *BATCH]) == list(range(30))
    assert len(sample_batch(BATCH, crowd()).others) == 0


def test_by_distance_each_row_hears_its_own_draw():
    sample = sample_by_distance(BATCH, crowd(rate=0.3))
    rows = heard(sample, BATCH)
    assert [len(row) for row in rows] == [8, 8, 8]  # 0.3 of the 29 other rows
    assert rows[0] != rows[1] != rows[2]
    # Nobody is fetched whom nobody hears.
    assert set(sample.others.tolist()) == set().union(*rows) - set(BATCH.tolist())


@pytest.mark.parametrize("n_batch", [1, 20, 30])
def test_by_distance_the_share_is_that_of_all_rows_however_large_the_batch(n_batch):
    batch = torch.arange(n_batch)
    rows = heard(sample_by_distance(batch, crowd(rate=0.5)), batch)
    assert {len(row) for row in rows} == {14}  # half of the 29 others


def test_by_distance_hears_other_rows_of_the_batch_but_never_itself():
    batch = torch.arange(4)
    crowd_ = crowd(n_rows=5, rate=1.0)
    among = torch.zeros(4, 4)
    for _ in range(40):
        sample = sample_by_distance(batch, crowd_)
        among += ~sample.silent[:, :4]
    assert (among.diagonal() == 0).all()
    assert (among[~torch.eye(4, dtype=torch.bool)] > 0).all()


@pytest.mark.parametrize("exponent", [0.0, 1.0, 2.0])
def test_one_is_drawn_with_odds_of_one_over_the_distance_to_the_exponent(exponent):
    crowd_ = crowd(n_rows=5, rate=0.0, exponent=exponent)
    counts = torch.zeros(5).double()
    for _ in range(3000):
        counts[sample_by_distance(torch.tensor([0]), crowd_).others] += 1
    odds = torch.tensor([1.0, 2, 3, 4]).double() ** -exponent
    assert counts[0] == 0
    torch.testing.assert_close(counts[1:] / 3000, odds / odds.sum(), atol=0.03, rtol=0)


def test_the_greater_the_exponent_the_nearer_the_drawn():
    def mean_distance(exponent):
        crowd_ = crowd(rate=0.2, exponent=exponent)
        drawn = [sample_by_distance(torch.tensor([0]), crowd_) for _ in range(100)]
        return torch.cat([sample.others for sample in drawn]).double().mean()

    means = [mean_distance(exponent) for exponent in (0, 1, 2, 4, 64)]
    assert means == sorted(means, reverse=True)
    assert means[0] == pytest.approx(15, abs=1)  # even: the mean of 1 ... 29
    assert means[-1] == pytest.approx(3, abs=0.1)  # the nearest five of 29: 1 ... 5


def test_by_distance_takes_negative_distances():
    # Cosines: the nearest has -1. Only the order is promised, not the odds.
    cosines = torch.tensor([[-1.0, -0.5, 0.0, 1.0]])
    crowd_ = replace(
        crowd(n_rows=4, rate=0.0, exponent=2.0), distances=lambda batch: cosines.clone()
    )
    counts = torch.zeros(4)
    for _ in range(500):
        counts[sample_by_distance(torch.tensor([0]), crowd_).others] += 1
    assert counts[0] == 0
    assert counts[1] > counts[2] > counts[3]


def test_by_distance_draws_coinciding_rows_first():
    where = torch.tensor([[0.0, 0.0, 5.0, 5.0]])
    crowd_ = replace(
        crowd(n_rows=4, rate=0.0, exponent=2.0), distances=lambda batch: where.clone()
    )
    for _ in range(50):
        assert sample_by_distance(torch.tensor([0]), crowd_).others.tolist() == [1]
