"""Optimizers: one step by hand, and parameters with a rate of their own."""

import importlib.util
import subprocess
import sys
from copy import deepcopy

import pytest
import torch
from torch import nn

from modernnca.train.adamw import AdamW, orthogonalize, supported
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


def steps_like_torch(dtype):
    """Ours and torch's AdamW on the same network; ours is interrupted and resumed."""
    nets = [nn.Linear(40, 60, dtype=dtype) for _ in range(2)]
    nets[1].load_state_dict(nets[0].state_dict())
    nets[0].bias.rate_factor = 3.0
    ours = build_adamw(nets[0], 0.01, 0.2)
    theirs = torch.optim.AdamW(
        [
            {"params": [nets[1].weight], "lr": 0.01, "weight_decay": 0.2},
            {"params": [nets[1].bias], "lr": 0.03, "weight_decay": 0.0},
        ]
    )
    for number in range(12):
        if number == 5:
            kept = deepcopy(ours.state_dict())
            ours = build_adamw(nets[0], 1.0, 0.0)
            ours.load_state_dict(kept)
        if number == 8:  # a schedule changes the rates between steps
            for group in (*ours.param_groups, *theirs.param_groups):
                group["lr"] /= 7
        for net, optimizer in zip(nets, (ours, theirs), strict=True):
            torch.manual_seed(number)
            rows = torch.randn(5, 40, dtype=dtype)

            def closure(net=net, optimizer=optimizer, rows=rows):
                optimizer.zero_grad()
                loss = net(rows).square().sum()
                loss.backward()
                return loss

            assert optimizer.step(closure) > 0
    return ours, *(list(net.parameters()) for net in nets)


def test_adamw_is_torchs_adamw():
    _, ours, theirs = steps_like_torch(torch.float64)
    torch.testing.assert_close(ours, theirs)


@needs_kernel
def test_the_kernel_is_torchs_adamw():
    optimizer, ours, theirs = steps_like_torch(torch.float32)
    assert optimizer._by_kernel
    torch.testing.assert_close(ours, theirs)


def test_a_step_imports_no_compiler():
    """Torch's own AdamW imports torch._dynamo, three seconds in a new process."""
    code = (
        "import sys, torch; from modernnca.train.adamw import AdamW;"
        "w = torch.nn.Parameter(torch.ones(2));"
        "AdamW([{'params': [w], 'lr': 0.1, 'weight_decay': 0.0}])"
        ".step(lambda: w.sum().backward());"
        "sys.exit('torch._dynamo' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], timeout=240).returncode == 0


def test_orthogonalized_matrices_keep_their_singular_vectors():
    torch.manual_seed(0)
    matrices = [torch.randn(30, 50), torch.randn(50, 30), torch.randn(8, 8)]
    for given, found in zip(matrices, orthogonalize(matrices), strict=True):
        u, _, vt = torch.linalg.svd(given, full_matrices=False)
        turned = u.T @ found @ vt.T  # diagonal, and near the identity
        values = turned.diagonal()
        assert (turned - torch.diag(values)).abs().max() < 1e-3
        # The smallest values of a square matrix are still on their way to 1.
        assert values[:-1].min() > 0.5
        assert values.max() < 1.25


def test_muon_steps_along_the_orthogonal_matrix():
    torch.manual_seed(0)
    layer, slope = nn.Linear(6, 4, bias=False), torch.randn(4, 6)
    layer.weight.hidden_matrix = True
    start = layer.weight.detach().clone()
    optimizer = OPTIMIZERS["muon"](layer, 0.01, 0.5)
    optimizer.step(lambda: (layer.weight * slope).sum().backward())
    # The first moment is a tenth of the slope, which has the same direction.
    (direction,) = orthogonalize([slope])
    expected = start * (1 - 0.01 * 0.5) - 0.01 * 3 * (6 / 4) ** 0.5 * direction
    torch.testing.assert_close(layer.weight.detach(), expected)


def test_only_hidden_matrices_learn_by_muon():
    net = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 2))
    net[1].weight.hidden_matrix = True
    optimizer = OPTIMIZERS["muon"](net, 0.01, 0.0)
    groups = {g["orthogonal"]: g["params"] for g in optimizer.param_groups}
    assert [tuple(p.shape) for p in groups[True]] == [(2, 4)]
    assert len(groups[False]) == 3
    assert isinstance(optimizer, AdamW)


@pytest.mark.skipif(
    importlib.util.find_spec("triton") is None, reason="pip install 'modernnca[gpu]'"
)
def test_the_kernel_passes_its_test_when_interpreted(interpreted):
    interpreted(__file__, "-k", "kernel_is")
