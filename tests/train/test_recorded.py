"""A recorded step is the step; needs a GPU."""

import pytest
import torch

from modernnca.train.recorded import Recorded


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_a_recorded_step_is_the_step():
    table = torch.randn(100, 3, device="cuda")
    results = []
    for wrap in (Recorded, lambda step, optimizer: step):
        torch.manual_seed(0)
        net = torch.nn.Sequential(
            torch.nn.BatchNorm1d(3), torch.nn.Dropout(0.5), torch.nn.Linear(3, 1)
        ).cuda()
        optimizer = torch.optim.AdamW(net.parameters(), fused=True)

        def step(batch, net=net, optimizer=optimizer):
            optimizer.zero_grad(set_to_none=True)
            loss = net(table[batch]).square().mean()
            loss.backward()
            optimizer.step()
            return loss.detach()

        stepped = wrap(step, optimizer)
        order = torch.arange(100, device="cuda")
        batches = [*order.split(30), *order.flip(0).split(30)]  # two have ten rows
        losses = [stepped(batch).item() for batch in batches]
        results.append((losses, net[2].weight.detach(), net[0].running_mean))
    for ours, theirs in zip(*results, strict=True):
        torch.testing.assert_close(ours, theirs)
