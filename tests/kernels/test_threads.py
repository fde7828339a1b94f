"""Calls in threads give what calls one after another give."""

import threading

import pytest
import torch

from modernnca.core.distances import euclidean
from modernnca.kernels.geometry import GEOMETRIES
from modernnca.kernels.streaming import prepare_keys, stream_vote
from modernnca.kernels.threads import map_in_threads


@pytest.mark.usefixtures("two_threads")
def test_calls_run_at_once_with_one_thread_each():
    meet = threading.Barrier(2, timeout=30)  # passed only if both are there

    def call(number):
        meet.wait()
        return number, torch.get_num_threads()

    assert map_in_threads(call, [5, 6]) == [(5, 1), (6, 1)]
    assert torch.get_num_threads() == 2


@pytest.mark.usefixtures("two_threads")
def test_an_error_is_raised_and_the_threads_are_given_back():
    def fail(number):
        raise ValueError(number)

    with pytest.raises(ValueError, match="1"):
        map_in_threads(fail, [1, 2])
    assert torch.get_num_threads() == 2


def test_votes_have_the_same_bits_in_two_threads():
    generator = torch.Generator().manual_seed(0)
    points = torch.randn(3000, 8, generator=generator)
    values = torch.randn(3000, 2, generator=generator)
    keys = prepare_keys(points, values, GEOMETRIES[euclidean], None)
    found, before = [], torch.get_num_threads()
    for n_threads in (1, 2):
        torch.set_num_threads(n_threads)
        try:
            found.append(stream_vote(points[:300], keys, temperature=0.5))
        finally:
            torch.set_num_threads(before)
    torch.testing.assert_close(*found, rtol=0, atol=0)
