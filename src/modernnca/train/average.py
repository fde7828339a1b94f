"""The running mean of a module's weights, judged and kept in place of the weights."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn


class Average:
    """Weights averaged over the last steps, which are steadier than those of one step.

    What lies `horizon` steps back counts 1/e as much as the last step; before so many
    were made, the later half of them counts most. Running statistics (of BatchNorm) are
    averaged too; other buffers are taken as they are.

    >>> module = nn.Linear(1, 1)
    >>> average = Average(module, horizon=10)
    >>> average.see()
    >>> with average.taken():
    ...     prediction = module(torch.ones(1, 1))
    """

    def __init__(self, module: nn.Module, horizon: float) -> None:
        self.horizon, self.n_seen = horizon, 0
        # While a module is trained its tensors stay the same ones: found once.
        self.present = [value.detach() for value in module.parameters()]
        self.present += [
            value
            for name, value in module.named_buffers()
            if name.endswith(("running_mean", "running_var"))
        ]
        self.means = [value.clone() for value in self.present]

    def see(self) -> None:
        """Take the present weights into the mean."""
        self.n_seen += 1
        share = max(1 / (1 + self.horizon), 2 / (1 + self.n_seen))
        torch._foreach_lerp_(self.means, self.present, share)

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Within, the module has the mean weights."""
        aside = [value.clone() for value in self.present]
        _copy(self.means, self.present)
        try:
            yield
        finally:
            _copy(aside, self.present)

    def state(self) -> dict[str, Any]:
        """All of it, for a checkpoint."""
        return {"n_seen": self.n_seen, "means": self.means}

    def load_state(self, state: dict[str, Any]) -> None:
        """Go on from a checkpoint."""
        self.n_seen = state["n_seen"]
        _copy(state["means"], self.means)


def _copy(source: list[Tensor], target: list[Tensor]) -> None:
    for value, place in zip(source, target, strict=True):
        place.copy_(value)
