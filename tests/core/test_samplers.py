"""Samplers: how many rows are drawn, which ones, and with what probability."""

from dataclasses import replace

import pytest
import torch

from modernnca.core.samplers import (
    SamplingContext,
    sample_all,
    sample_batch,
    sample_by_class,
    sample_by_distance,
    sample_random,
)

CLASSES = torch.tensor([0] * 20 + [1] * 8 + [2] * 2)
INF = float("inf")
BATCH = torch.tensor([3, 21, 7])  # 27 rows are outside: 18, 7 and 2 of each class


def distances_on_a_line(n_rows):
    """All distances of rows of which row i lies at i."""
    at = torch.arange(n_rows).double()
    return (at[:, None] - at).abs()


def new_context(n_rows=30, *, rate=0.5, max_sampled=INF, exponent=1.0, seed=0):
    distances = distances_on_a_line(n_rows)
    generator = torch.Generator().manual_seed(seed)
    return SamplingContext(
        n_rows=n_rows,
        classes=CLASSES[:n_rows],
        rate=rate,
        max_sampled=max_sampled,
        exponent=exponent,
        distances=lambda batch: distances[batch],
        generator=generator,
        device_generator=generator,
    )


def voters(sample, batch):
    """For each row of the batch, the set of rows that vote on it."""
    voting = torch.cat([batch, sample.others])
    return [set(voting[~mask].tolist()) for mask in sample.mask]


@pytest.mark.parametrize(
    ("rate", "limit", "expected"),
    [(0.5, INF, 13), (0.5, 5, 5), (0.1, 5, 2), (1.0, INF, 27), (0.0, INF, 0)],
)
def test_random_draws_a_share_of_the_rows_outside_up_to_a_limit(rate, limit, expected):
    sample = sample_random(BATCH, new_context(rate=rate, max_sampled=limit))
    assert len(sample.others) == expected
    assert sample.mask is None


def test_random_draws_all_rows_with_equal_probability():
    context = new_context(n_rows=6, rate=0.5)
    counts = torch.zeros(6)
    for _ in range(2000):
        counts[sample_random(torch.tensor([2]), context).others] += 1
    assert counts[2] == 0
    expected = torch.full((5,), 2 / 5)
    found = counts[[0, 1, 3, 4, 5]] / 2000
    torch.testing.assert_close(found, expected, atol=0.04, rtol=0)


def test_each_draw_is_a_new_one():
    context = new_context()
    first, second = (sample_random(BATCH, context).others for _ in range(2))
    assert set(first.tolist()) != set(second.tolist())


@pytest.mark.parametrize(("rate", "expected"), [(0.5, [9, 3, 1]), (0.01, [1, 1, 1])])
def test_class_wise_draws_the_same_share_of_each_class(rate, expected):
    others = sample_by_class(BATCH, new_context(rate=rate)).others
    assert CLASSES[others].bincount(minlength=3).tolist() == expected


def test_class_wise_keeps_every_class_under_a_limit():
    others = sample_by_class(BATCH, new_context(rate=1.0, max_sampled=9)).others
    assert CLASSES[others].bincount(minlength=3).tolist() == [6, 2, 1]


def test_class_wise_raises_in_regression():
    with pytest.raises(ValueError) as error:
        sample_by_class(BATCH, replace(new_context(), classes=None))
    assert str(error.value) == (
        "The sampler 'class-wise' needs classes; this is regression."
    )


def test_all_draws_all_rows_and_batch_draws_none():
    assert sorted([*sample_all(BATCH, new_context()).others, *BATCH]) == list(range(30))
    assert len(sample_batch(BATCH, new_context()).others) == 0


def test_by_distance_each_query_has_its_own_draw():
    sample = sample_by_distance(BATCH, new_context(rate=0.3))
    rows = voters(sample, BATCH)
    assert [len(row) for row in rows] == [8, 8, 8]  # 0.3 of the 29 other rows
    assert rows[0] != rows[1] != rows[2]
    # Every sampled row votes on some query.
    assert set(sample.others.tolist()) == set().union(*rows) - set(BATCH.tolist())


@pytest.mark.parametrize("n_batch", [1, 20, 30])
def test_by_distance_the_share_is_that_of_all_rows_however_large_the_batch(n_batch):
    batch = torch.arange(n_batch)
    rows = voters(sample_by_distance(batch, new_context(rate=0.5)), batch)
    assert {len(row) for row in rows} == {14}  # half of the 29 others


def test_by_distance_draws_other_rows_of_the_batch_but_never_the_query():
    batch = torch.arange(4)
    context = new_context(n_rows=5, rate=1.0)
    counts = torch.zeros(4, 4)
    for _ in range(40):
        sample = sample_by_distance(batch, context)
        counts += ~sample.mask[:, :4]
    assert (counts.diagonal() == 0).all()
    assert (counts[~torch.eye(4, dtype=torch.bool)] > 0).all()


@pytest.mark.parametrize("exponent", [0.0, 1.0, 2.0])
def test_the_odds_of_one_draw_are_one_over_the_distance_to_the_exponent(exponent):
    context = new_context(n_rows=5, rate=0.0, exponent=exponent)
    counts = torch.zeros(5).double()
    for _ in range(3000):
        counts[sample_by_distance(torch.tensor([0]), context).others] += 1
    odds = torch.tensor([1.0, 2, 3, 4]).double() ** -exponent
    assert counts[0] == 0
    torch.testing.assert_close(counts[1:] / 3000, odds / odds.sum(), atol=0.03, rtol=0)


def test_a_larger_exponent_draws_nearer_rows():
    def mean_distance(exponent):
        context = new_context(rate=0.2, exponent=exponent)
        drawn = [sample_by_distance(torch.tensor([0]), context) for _ in range(100)]
        return torch.cat([sample.others for sample in drawn]).double().mean()

    means = [mean_distance(exponent) for exponent in (0, 1, 2, 4, 64)]
    assert means == sorted(means, reverse=True)
    assert means[0] == pytest.approx(15, abs=1)  # uniform: the mean of 1 ... 29
    assert means[-1] == pytest.approx(3, abs=0.1)  # the nearest five of 29: 1 ... 5


def test_by_distance_takes_negative_distances():
    # Cosines: the nearest has -1. The order is specified, the odds are not.
    cosines = torch.tensor([[-1.0, -0.5, 0.0, 1.0]])
    context = replace(
        new_context(n_rows=4, rate=0.0, exponent=2.0),
        distances=lambda batch: cosines.clone(),
    )
    counts = torch.zeros(4)
    for _ in range(500):
        counts[sample_by_distance(torch.tensor([0]), context).others] += 1
    assert counts[0] == 0
    assert counts[1] > counts[2] > counts[3]


def test_by_distance_draws_coinciding_rows_first():
    distances = torch.tensor([[0.0, 0.0, 5.0, 5.0]])
    context = replace(
        new_context(n_rows=4, rate=0.0, exponent=2.0),
        distances=lambda batch: distances.clone(),
    )
    for _ in range(50):
        assert sample_by_distance(torch.tensor([0]), context).others.tolist() == [1]
