"""Seeding: equal seeds give equal draws, and the global state is restored."""

import threading

import pytest
import torch

from modernnca.lab.peers.seeding import seeded


def draws(seed):
    with seeded(seed) as generator:
        return torch.randn(4), torch.randperm(50, generator=generator)


def test_equal_seeds_give_equal_draws():
    for one, other in zip(draws(7), draws(7), strict=True):
        assert torch.equal(one, other)


def test_different_seeds_give_different_draws():
    for one, other in zip(draws(7), draws(8), strict=True):
        assert not torch.equal(one, other)


def test_the_global_state_is_restored():
    before = torch.get_rng_state()
    draws(7)
    assert torch.equal(torch.get_rng_state(), before)


def test_the_global_state_is_restored_after_an_error():
    def fail():
        torch.randn(3)
        raise RuntimeError

    before = torch.get_rng_state()
    with pytest.raises(RuntimeError), seeded(7):
        fail()
    assert torch.equal(torch.get_rng_state(), before)


def test_the_previous_global_state_does_not_matter():
    torch.manual_seed(1)
    first = draws(7)
    torch.manual_seed(2)
    assert all(map(torch.equal, first, draws(7)))


def test_sampling_rows_and_global_draws_are_independent():
    with seeded(7) as generator:
        torch.randn(100)
        after = torch.randperm(50, generator=generator)
    assert torch.equal(after, draws(7)[1])


def test_only_one_thread_at_a_time_may_seed():
    expected = {seed: draws(seed)[0] for seed in (1, 2)}
    found, entered, release = {}, threading.Event(), threading.Event()

    def first():
        with seeded(1):
            entered.set()
            release.wait(5)
            found[1] = torch.randn(4)

    def second():
        entered.wait(5)
        with seeded(2):
            found[2] = torch.randn(4)

    threads = [threading.Thread(target=each) for each in (first, second)]
    for thread in threads:
        thread.start()
    entered.wait(5)
    threads[1].join(0.2)  # time to interfere with the first, if there were no lock
    assert threads[1].is_alive()
    release.set()
    for thread in threads:
        thread.join(5)
    for seed, numbers in expected.items():
        assert torch.equal(found[seed], numbers)
