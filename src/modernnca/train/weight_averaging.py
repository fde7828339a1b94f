"""The running mean of a module's weights, evaluated and kept instead of the weights."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn


class AveragedWeights:
    """An exponential moving average, which is steadier than the weights of one step.

    What lies `horizon` steps back counts 1/e as much as the last step; before that many
    steps, the later half of them counts most. The running statistics of BatchNorm are
    averaged too; other buffers are taken as they are.

    >>> module = nn.Linear(1, 1)
    >>> average = AveragedWeights(module, horizon=10)
    >>> average.update()
    >>> with average.applied():
    ...     prediction = module(torch.ones(1, 1))
    """

    def __init__(self, module: nn.Module, horizon: float) -> None:
        self.horizon, self.n_steps = horizon, 0
        # The tensors of a module stay the same while it is trained: find them once.
        self.present = [value.detach() for value in module.parameters()]
        self.present += [
            value
            for name, value in module.named_buffers()
            if name.endswith(("running_mean", "running_var"))
        ]
        self.means = [value.clone() for value in self.present]
        device = self.means[0].device
        # Where a captured step counts, too.
        self._count = None if device.type == "cpu" else torch.zeros((), device=device)

    @torch.no_grad()
    def update(self) -> None:
        """Take the present weights into the mean."""
        if self._count is None:
            self.n_steps += 1
            share = max(1 / (1 + self.horizon), 2 / (1 + self.n_steps))
            torch._foreach_lerp_(self.means, self.present, share)
            return
        self._count += 1
        shares = (2 / (1 + self._count)).clamp_min(1 / (1 + self.horizon))
        changes = torch._foreach_sub(self.present, self.means)
        torch._foreach_mul_(changes, shares)
        torch._foreach_add_(self.means, changes)

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Within, the module has the mean weights."""
        aside = [value.clone() for value in self.present]
        _copy(self.means, self.present)
        try:
            yield
        finally:
            _copy(aside, self.present)

    def state(self) -> dict[str, Any]:
        """All of it, for a checkpoint."""
        n_steps = self.n_steps if self._count is None else int(self._count)
        return {"n_steps": n_steps, "means": self.means}

    def load_state(self, state: dict[str, Any]) -> None:
        """Continue from a checkpoint."""
        self.n_steps = state["n_steps"]
        if self._count is not None:
            self._count.fill_(self.n_steps)
        _copy(state["means"], self.means)


def _copy(source: list[Tensor], target: list[Tensor]) -> None:
    for value, place in zip(source, target, strict=True):
        place.copy_(value)
