"""Initial weights: torch's own distribution, drawn from a given generator."""

import pytest
import torch
from torch import nn

from modernnca.core.init import Linear, uniform


@pytest.mark.parametrize("d_in", [1, 7])
def test_linear_draws_what_nn_linear_draws(d_in):
    with torch.random.fork_rng():
        torch.manual_seed(3)
        expected = nn.Linear(d_in, 5)
    found = Linear(d_in, 5, torch.Generator().manual_seed(3))
    assert torch.equal(found.weight, expected.weight)
    assert torch.equal(found.bias, expected.bias)


def test_uniform_fills_its_range():
    found = uniform((100, 100), 0.3, torch.Generator().manual_seed(0))
    assert found.requires_grad
    assert found.abs().max() <= 0.3
    # The standard deviation of a uniform distribution is its width / sqrt(12).
    assert found.std().item() == pytest.approx(0.6 / 12**0.5, rel=0.02)
    assert found.mean().item() == pytest.approx(0, abs=0.01)


def test_the_global_generator_is_not_touched():
    before = torch.get_rng_state()
    generator = torch.Generator().manual_seed(0)
    uniform((2, 3), 1.0, generator)
    Linear(2, 3, generator)
    assert torch.equal(torch.get_rng_state(), before)
