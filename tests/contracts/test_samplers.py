"""What holds for every sampler in SAMPLERS; a new one is tested once listed."""

import pytest
import torch

from modernnca.core.samplers import SAMPLERS, SamplingContext

INF = float("inf")


@pytest.fixture(params=SAMPLERS)
def sampler(request):
    return SAMPLERS[request.param]


def new_context(n_rows, *, rate=0.5, max_sampled=INF, seed=0):
    points = torch.randn(n_rows, 2, generator=torch.Generator().manual_seed(1))
    generator = torch.Generator().manual_seed(seed)
    return SamplingContext(
        n_rows=n_rows,
        classes=torch.arange(n_rows) % 2,
        rate=rate,
        max_sampled=max_sampled,
        exponent=1.0,
        distances=lambda batch: torch.cdist(points[batch], points),
        generator=generator,
        device_generator=generator,
    )


def votes(sample, batch):
    """(B, B + S) True where a row votes: not on itself, and not where masked."""
    voting = batch[:, None] != torch.cat([batch, sample.others])
    return voting if sample.mask is None else voting & ~sample.mask


SITUATIONS = [
    (2, [0]),
    (2, [1, 0]),
    (3, [2, 0]),
    (30, [7]),
    (30, [3, 29, 0, 11]),
    (30, list(range(30))),
]


@pytest.fixture(params=SITUATIONS, ids=lambda s: f"{len(s[1])} of {s[0]}")
def situation(request):
    n_rows, batch = request.param
    return n_rows, torch.tensor(batch)


@pytest.mark.parametrize("rate", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("limit", [INF, 3])
def test_others_are_distinct_rows_outside_the_batch(sampler, situation, rate, limit):
    n_rows, batch = situation
    context = new_context(n_rows, rate=rate, max_sampled=limit)
    others = sampler(batch, context).others.tolist()
    assert len(others) == len(set(others))
    assert set(others) <= set(range(n_rows)) - set(batch.tolist())


@pytest.mark.parametrize("rate", [0.0, 0.3, 1.0])
def test_some_other_row_votes_on_every_query(sampler, situation, rate):
    n_rows, batch = situation
    sample = sampler(batch, new_context(n_rows, rate=rate))
    assert votes(sample, batch).any(1).all()


def test_a_mask_covers_the_batch_and_the_others(sampler, situation):
    n_rows, batch = situation
    sample = sampler(batch, new_context(n_rows))
    if sample.mask is not None:
        assert sample.mask.dtype == torch.bool
        assert sample.mask.shape == (len(batch), len(batch) + len(sample.others))


def test_equal_seeds_give_equal_draws(sampler):
    batch = torch.tensor([5, 2, 17])
    one, other = new_context(30), new_context(30)
    for _ in range(3):
        first, second = sampler(batch, one), sampler(batch, other)
        assert torch.equal(first.others, second.others)
        if first.mask is not None:
            assert torch.equal(first.mask, second.mask)


def test_the_global_generator_is_not_touched(sampler):
    before = torch.get_rng_state()
    sampler(torch.tensor([5, 2, 17]), new_context(30))
    assert torch.equal(torch.get_rng_state(), before)


def test_the_batch_is_not_modified(sampler):
    batch = torch.tensor([5, 2, 17])
    sampler(batch, new_context(30))
    assert batch.tolist() == [5, 2, 17]
