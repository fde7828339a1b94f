"""Optimizers: one step by hand, and parameters with a rate of their own."""

import importlib.util
from copy import deepcopy

import pytest
import torch
from torch import nn

from modernnca.train.fused_adamw import FusedAdamW, supported
from modernnca.train.optimizers import (
    OPTIMIZERS,
    build_adamw,
    build_lbfgs,
    build_sgd,
)


class Two(nn.Module):
    """A plain parameter and one with three times the rate, both at 2."""

    def __init__(self):
        super().__init__()
        self.plain = nn.Parameter(torch.tensor(2.0).double())
        self.fast = nn.Parameter(torch.tensor(2.0).double())
        self.fast.rate_factor = 3.0


@pytest.fixture
def module():
    return Two()


def step(module, optimizer, slope):
    """One step with the same slope for both parameters."""

    def closure():
        optimizer.zero_grad()
        loss = slope * (module.plain + module.fast)
        loss.backward()
        return loss

    optimizer.step(closure)
    return module.plain.item(), module.fast.item()


def test_sgd_steps_by_hand(module):
    # Rate 0.1, slope 1, decay 0.5 on the plain one: 2 - 0.1 (1 + 0.5 * 2) = 1.8.
    found = step(module, build_sgd(module, 0.1, 0.5), 1.0)
    assert found == pytest.approx((1.8, 2 - 0.3 * 1))


def test_sgd_has_no_momentum(module):
    optimizer = build_sgd(module, 0.1, 0.0)
    step(module, optimizer, 1.0)
    assert step(module, optimizer, 1.0) == pytest.approx((1.8, 1.4))


def test_adamw_steps_by_hand(module):
    # The first step is the rate, whatever the slope; the decay is apart: 2 (1 - 0.05).
    found = step(module, build_adamw(module, 0.1, 0.5), 7.0)
    assert found == pytest.approx((2 * 0.95 - 0.1, 2 - 0.3))


@pytest.mark.parametrize("build", [build_adamw, build_sgd])
def test_a_rate_factor_makes_a_group_without_decay(module, build):
    groups = build(module, 0.01, 0.2).param_groups
    assert [(g["lr"], g["weight_decay"]) for g in groups] == [
        (0.01, 0.2),
        (pytest.approx(0.03), 0.0),
    ]
    assert groups[0]["params"] == [module.plain]
    assert groups[1]["params"] == [module.fast]


@pytest.mark.parametrize("build", [build_adamw, build_sgd])
def test_a_parameter_may_have_its_own_decay(module, build):
    module.plain.decay_factor = 0.0
    module.fast.decay_factor = 3.0
    groups = build(module, 0.01, 0.2).param_groups
    assert [g["lr"] for g in groups] == pytest.approx([0.01, 0.03])
    assert [g["weight_decay"] for g in groups] == pytest.approx([0.0, 0.6])


def test_a_short_memory_follows_a_slope_that_fades(module):
    # Slopes 1, then 0.1, with the memories 0.9 and 0.95.
    optimizer = OPTIMIZERS["adamw-95"](module, 0.1, 0.0)
    step(module, optimizer, 1.0)
    m, v = 0.9 * 0.1 + 0.1 * 0.1, 0.95 * 0.05 + 0.05 * 0.01
    expected = 1.9 - 0.1 * (m / (1 - 0.9**2)) / (v / (1 - 0.95**2)) ** 0.5
    assert step(module, optimizer, 0.1)[0] == pytest.approx(expected)


def test_plain_modules_have_one_group():
    assert len(build_adamw(nn.Linear(2, 2), 0.01, 0.2).param_groups) == 1


def test_lbfgs_solves_a_quadratic_in_one_step(module):
    optimizer = build_lbfgs(module, 1.0, 0.0)

    def closure():
        optimizer.zero_grad()
        loss = (module.plain - 5) ** 2 + 10 * (module.fast + 1) ** 2
        loss.backward()
        return loss

    optimizer.step(closure)
    assert module.plain.item() == pytest.approx(5, abs=1e-4)
    assert module.fast.item() == pytest.approx(-1, abs=1e-4)


needs_kernel = pytest.mark.skipif(
    not supported([torch.zeros(1)]), reason="needs TRITON_INTERPRET=1"
)


@needs_kernel
def test_the_kernel_is_torchs_adamw():
    nets = [nn.Linear(40, 60) for _ in range(2)]  # more than one kernel's share
    nets[1].load_state_dict(nets[0].state_dict())
    nets[0].bias.rate_factor = nets[1].bias.rate_factor = 3.0
    ours = build_adamw(nets[0], 0.01, 0.2)
    assert isinstance(ours, FusedAdamW)
    theirs = torch.optim.AdamW(
        [
            {"params": [nets[1].weight], "lr": 0.01, "weight_decay": 0.2},
            {"params": [nets[1].bias], "lr": 0.03, "weight_decay": 0.0},
        ]
    )
    for number in range(12):
        for net, optimizer in zip(nets, (ours, theirs), strict=True):
            torch.manual_seed(number)
            rows = torch.randn(5, 40)

            def closure(net=net, optimizer=optimizer, rows=rows):
                optimizer.zero_grad()
                loss = net(rows).square().sum()
                loss.backward()
                return loss

            assert optimizer.step(closure) > 0
        if number == 5:  # the state can be loaded by either
            ours.load_state_dict(deepcopy(theirs.state_dict()))
            theirs.load_state_dict(deepcopy(ours.state_dict()))
    torch.testing.assert_close(list(nets[0].parameters()), list(nets[1].parameters()))


@pytest.mark.skipif(
    importlib.util.find_spec("triton") is None, reason="pip install 'modernnca[gpu]'"
)
def test_the_kernel_passes_its_test_when_interpreted(interpreted):
    interpreted(__file__, "-k", "kernel_is")
