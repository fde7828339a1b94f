"""What holds for every optimizer in OPTIMIZERS; a new one is tested once listed."""

from copy import deepcopy

import pytest
import torch
from torch import nn

from modernnca.train.optimizers import OPTIMIZERS


@pytest.fixture(params=OPTIMIZERS)
def build(request):
    return OPTIMIZERS[request.param]


class Quadratic(nn.Module):
    """A quadratic with its minimum at 1, 2, 3; one parameter has a rate of its own."""

    def __init__(self, dtype=torch.float64):
        super().__init__()
        self.x = nn.Parameter(torch.zeros(3, dtype=dtype))
        self.scale = nn.Parameter(torch.ones((), dtype=dtype))
        self.scale.rate_factor = 3.0

    def forward(self):
        minimum = torch.tensor([1.0, 2.0, 3.0]).to(self.x)
        return (self.x - minimum).square().sum() + (self.scale - 2).square()


def descend(module, optimizer, n_steps):
    """The losses of all steps."""

    def closure():
        optimizer.zero_grad()
        loss = module()
        loss.backward()
        return loss

    return [optimizer.step(closure).item() for _ in range(n_steps)]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_steps_with_a_closure_lower_the_loss_and_keep_the_dtype(build, dtype):
    module = Quadratic(dtype)
    losses = descend(module, build(module, 0.01, 0.0), 20)
    assert losses[-1] < losses[0]
    assert {parameter.dtype for parameter in module.parameters()} == {dtype}


def test_every_parameter_changes(build):
    module = Quadratic()
    descend(module, build(module, 0.01, 1e-3), 2)
    assert (module.x > 0).all()
    assert module.scale > 1


def test_equal_starts_give_equal_losses(build):
    losses = []
    for _ in range(2):
        module = Quadratic()
        losses.append(descend(module, build(module, 0.01, 1e-3), 5))
    assert losses[0] == losses[1]


def test_it_resumes_from_its_state(build):
    module = Quadratic()
    optimizer = build(module, 0.01, 1e-3)
    descend(module, optimizer, 4)
    weights, state = deepcopy((module.state_dict(), optimizer.state_dict()))
    expected = descend(module, optimizer, 4)

    other = Quadratic()
    other.load_state_dict(weights)
    second = build(other, 0.01, 1e-3)
    second.load_state_dict(state)
    assert descend(other, second, 4) == expected
