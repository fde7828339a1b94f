"""What every optimizer obeys; listing one in OPTIMIZERS is enough to hold it to it."""

from copy import deepcopy

import pytest
import torch
from torch import nn

from modernnca.train.optim import OPTIMIZERS


@pytest.fixture(params=OPTIMIZERS)
def build(request):
    return OPTIMIZERS[request.param]


class Bowl(nn.Module):
    """A quadratic bowl with its bottom at 1, 2, 3, and a parameter of its own rate."""

    def __init__(self, dtype=torch.float64):
        super().__init__()
        self.at = nn.Parameter(torch.zeros(3, dtype=dtype))
        self.scale = nn.Parameter(torch.ones((), dtype=dtype))
        self.scale.rate_factor = 3.0

    def forward(self):
        bottom = torch.tensor([1.0, 2.0, 3.0]).to(self.at)
        return (self.at - bottom).square().sum() + (self.scale - 2).square()


def descend(module, optimizer, n_steps):
    """The losses on the way."""

    def closure():
        optimizer.zero_grad()
        loss = module()
        loss.backward()
        return loss

    return [optimizer.step(closure).item() for _ in range(n_steps)]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_it_goes_down_with_a_closure_and_keeps_the_dtype(build, dtype):
    module = Bowl(dtype)
    losses = descend(module, build(module, 0.01, 0.0), 20)
    assert losses[-1] < losses[0]
    assert {parameter.dtype for parameter in module.parameters()} == {dtype}


def test_every_parameter_moves(build):
    module = Bowl()
    descend(module, build(module, 0.01, 1e-3), 2)
    assert (module.at > 0).all()
    assert module.scale > 1


def test_the_same_start_takes_the_same_way(build):
    ways = []
    for _ in range(2):
        module = Bowl()
        ways.append(descend(module, build(module, 0.01, 1e-3), 5))
    assert ways[0] == ways[1]


def test_it_goes_on_from_its_state(build):
    module = Bowl()
    optimizer = build(module, 0.01, 1e-3)
    descend(module, optimizer, 4)
    weights, state = deepcopy((module.state_dict(), optimizer.state_dict()))
    expected = descend(module, optimizer, 4)

    other = Bowl()
    other.load_state_dict(weights)
    second = build(other, 0.01, 1e-3)
    second.load_state_dict(state)
    assert descend(other, second, 4) == expected
