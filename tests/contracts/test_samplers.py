"""What every sampler obeys; listing one in SAMPLERS is enough to hold it to it."""

import pytest
import torch

from modernnca.core.samplers import SAMPLERS, Crowd


@pytest.fixture(params=SAMPLERS)
def sampler(request):
    return SAMPLERS[request.param]


def crowd(n_rows, *, rate=0.5, at_most=None, seed=0):
    points = torch.randn(n_rows, 2, generator=torch.Generator().manual_seed(1))
    return Crowd(
        n_rows=n_rows,
        classes=torch.arange(n_rows) % 2,
        rate=rate,
        at_most=at_most,
        exponent=1.0,
        distances=lambda batch: torch.cdist(points[batch], points),
        generator=torch.Generator().manual_seed(seed),
    )


def voices(sample, batch):
    """(B, B + S) True where a row is heard: not itself, and not silent."""
    together = torch.cat([batch, sample.others])
    heard = batch[:, None] != together
    return heard if sample.silent is None else heard & ~sample.silent


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
@pytest.mark.parametrize("at_most", [None, 3])
def test_others_are_rows_outside_the_batch_each_once(sampler, situation, rate, at_most):
    n_rows, batch = situation
    others = sampler(batch, crowd(n_rows, rate=rate, at_most=at_most)).others.tolist()
    assert len(others) == len(set(others))
    assert set(others) <= set(range(n_rows)) - set(batch.tolist())


@pytest.mark.parametrize("rate", [0.0, 0.3, 1.0])
def test_every_row_hears_somebody_else(sampler, situation, rate):
    n_rows, batch = situation
    sample = sampler(batch, crowd(n_rows, rate=rate))
    assert voices(sample, batch).any(1).all()


def test_silence_covers_the_batch_and_the_others(sampler, situation):
    n_rows, batch = situation
    sample = sampler(batch, crowd(n_rows))
    if sample.silent is not None:
        assert sample.silent.dtype == torch.bool
        assert sample.silent.shape == (len(batch), len(batch) + len(sample.others))


def test_equal_seeds_give_equal_draws(sampler):
    batch = torch.tensor([5, 2, 17])
    one, other = crowd(30), crowd(30)
    for _ in range(3):
        first, second = sampler(batch, one), sampler(batch, other)
        assert torch.equal(first.others, second.others)
        if first.silent is not None:
            assert torch.equal(first.silent, second.silent)


def test_the_global_generator_is_not_touched(sampler):
    before = torch.get_rng_state()
    sampler(torch.tensor([5, 2, 17]), crowd(30))
    assert torch.equal(torch.get_rng_state(), before)


def test_the_batch_is_left_as_it_was(sampler):
    batch = torch.tensor([5, 2, 17])
    sampler(batch, crowd(30))
    assert batch.tolist() == [5, 2, 17]
