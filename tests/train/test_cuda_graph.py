"""A captured step does what the step does; needs a GPU."""

import gc

import pytest
import torch

from modernnca.train.adamw import AdamW
from modernnca.train.cuda_graph import CapturedStep
from modernnca.train.optimizers import build_adamw


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("dropout", ["generator", "global"])
def test_a_captured_step_does_what_the_step_does(dropout):
    table = torch.randn(100, 3, device="cuda")
    results = []
    for wrap in (CapturedStep, lambda step, optimizer, generator: step):
        torch.manual_seed(0)
        generator = torch.Generator("cuda").manual_seed(1)
        net = torch.nn.Sequential(
            torch.nn.BatchNorm1d(3),
            torch.nn.Dropout(0.5 if dropout == "global" else 0.0),
            torch.nn.Linear(3, 1),
        ).cuda()
        optimizer = build_adamw(net, 0.01, 0.1)

        def step(batch, net=net, optimizer=optimizer, generator=generator):
            def closure():
                optimizer.zero_grad()
                rows = table[batch]
                if dropout == "generator":
                    draws = torch.rand(rows.shape, generator=generator, device="cuda")
                    rows = rows * (draws < 0.5)
                loss = net(rows).square().mean()
                loss.backward()
                return loss

            return optimizer.step(closure).detach()

        stepped = wrap(step, optimizer, generator)
        order = torch.arange(100, device="cuda")
        batches = [*order.split(30), *order.flip(0).split(30)]  # two have ten rows
        losses = []
        for batch in batches:  # a schedule reaches a captured step, too
            optimizer.param_groups[0]["lr"] *= 0.8
            losses.append(stepped(batch).item())
        results.append((losses, net[2].weight.detach(), net[0].running_mean))
    for ours, theirs in zip(*results, strict=True):
        torch.testing.assert_close(ours, theirs)


@pytest.fixture
def eager_collector():
    usual = gc.get_threshold()
    gc.set_threshold(1, 1, 1)
    yield
    gc.set_threshold(*usual)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_an_old_graph_that_is_freed_does_not_spoil_a_new_one(eager_collector):
    old = []
    for number in range(4):
        weight = torch.nn.Parameter(torch.ones(2**20, device="cuda"))
        optimizer = AdamW([{"params": [weight], "lr": 0.1, "weight_decay": 0.0}])

        def step(batch, weight=weight, optimizer=optimizer):
            def closure():
                old.clear()
                optimizer.zero_grad()
                loss = weight[batch].square().mean()
                loss.backward()
                return loss

            return optimizer.step(closure).detach()

        captured = CapturedStep(step, optimizer, torch.Generator("cuda"))
        losses = [captured(torch.arange(2**20, device="cuda")).item() for _ in range(4)]
        assert losses == sorted(losses, reverse=True), number
        captured.itself = captured  # only the collector can free it
        old.append(captured)
