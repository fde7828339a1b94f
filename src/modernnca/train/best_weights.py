"""Which epoch is the best, and its weights."""

import math
from typing import Any

from torch import Tensor, nn


def better(
    new: tuple[float, float], old: tuple[float, float], *, tie_break: str = "loss"
) -> bool:
    """Whether a (score, loss) is better: a higher score, or the same at a lower loss.

    With tie_break="later" an equal score is enough: of equal ones the last is kept.
    A score of NaN is never better, a loss of NaN is the worst.

    >>> better((0.9, 0.3), (0.9, 0.4)), better((0.8, 0.1), (0.9, 0.4))
    (True, False)
    """
    if math.isnan(new[0]):
        return False
    if new[0] != old[0]:
        return new[0] > old[0]
    new_loss, old_loss = (math.inf if math.isnan(x) else x for x in (new[1], old[1]))
    return tie_break == "later" or new_loss < old_loss


class BestWeights:
    """The best weights so far, and how many epochs ago that was.

    >>> best = BestWeights(nn.Linear(1, 1))
    >>> best.update(1, (0.5, 1.0)), best.update(2, (0.4, 1.0)), best.n_since
    (True, False, 1)
    """

    def __init__(self, module: nn.Module, *, tie_break: str = "loss") -> None:
        self.module, self.tie_break = module, tie_break
        self.epoch = 0  # 0: no epoch has ended yet; the weights are the first ones
        self.result = (-math.inf, math.inf)
        self.n_since = 0
        self._keep()

    def update(self, epoch: int, result: tuple[float, float]) -> bool:
        """Keep the present weights if their (score, loss) is the best so far."""
        if better(result, self.result, tie_break=self.tie_break):
            self.epoch, self.result, self.n_since = epoch, result, 0
            self._keep()
            return True
        self.n_since += 1
        return False

    def restore(self) -> None:
        """Put the best weights back into the module."""
        self.module.load_state_dict(self.weights)

    def _keep(self) -> None:
        self.weights: dict[str, Tensor] = {
            name: value.detach().clone()
            for name, value in self.module.state_dict().items()
        }

    def state(self) -> dict[str, Any]:
        """All of it, for a checkpoint."""
        return {
            "epoch": self.epoch,
            "result": list(self.result),
            "n_since": self.n_since,
            "weights": self.weights,
        }

    def load_state(self, state: dict[str, Any]) -> None:
        """Continue from a checkpoint."""
        self.epoch, self.n_since = state["epoch"], state["n_since"]
        self.result = (state["result"][0], state["result"][1])
        device = next(iter(self.weights.values())).device
        self.weights = {k: v.to(device) for k, v in state["weights"].items()}
