"""Seeding: equal seeds give equal bits, and nobody outside notices."""

import torch

from modernnca.train.seeding import seeded


def draws(seed):
    with seeded(seed) as generator:
        return torch.randn(4), torch.randperm(50, generator=generator)


def test_equal_seeds_give_equal_bits():
    for one, other in zip(draws(7), draws(7), strict=True):
        assert torch.equal(one, other)


def test_other_seeds_give_other_bits():
    for one, other in zip(draws(7), draws(8), strict=True):
        assert not torch.equal(one, other)


def test_the_global_state_is_as_it_was_found():
    before = torch.get_rng_state()
    draws(7)
    assert torch.equal(torch.get_rng_state(), before)


def test_the_global_state_comes_back_after_an_error():
    before = torch.get_rng_state()
    try:
        with seeded(7):
            torch.randn(3)
            raise RuntimeError
    except RuntimeError:
        pass
    assert torch.equal(torch.get_rng_state(), before)


def test_what_came_before_does_not_matter():
    torch.manual_seed(1)
    first = draws(7)
    torch.manual_seed(2)
    assert all(map(torch.equal, first, draws(7)))


def test_draws_of_rows_and_dropout_do_not_disturb_each_other():
    with seeded(7) as generator:
        torch.randn(100)
        after = torch.randperm(50, generator=generator)
    assert torch.equal(after, draws(7)[1])
