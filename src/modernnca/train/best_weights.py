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


def gained(new: tuple[float, float], old: tuple[float, float], min_gain: float) -> bool:
    """Whether score or loss gain at least a share of what is left to gain.

    What is left of a score from 0 to 1 is its distance from 1; of others, and of a
    loss, their size.

    >>> gained((0.91, 0.5), (0.9, 0.5), 0.05), gained((0.9, 0.5), (0.9, 0.5), 0.0)
    (True, False)
    """
    if math.isinf(old[0]) or math.isinf(old[1]):
        return True
    left = 1 - old[0] if 0 <= old[0] <= 1 else abs(old[0])
    by_score = new[0] - old[0] > min_gain * left
    return by_score or old[1] - new[1] > min_gain * abs(old[1])


class BestWeights:
    """The best weights so far, and how many epochs ago the last clear gain was.

    >>> best = BestWeights(nn.Linear(1, 1))
    >>> best.update(1, (0.5, 1.0)), best.update(2, (0.4, 1.0)), best.n_since
    (True, False, 1)
    """

    def __init__(
        self, module: nn.Module, *, tie_break: str = "loss", min_gain: float = 0.0
    ) -> None:
        self.module, self.tie_break, self.min_gain = module, tie_break, min_gain
        self.epoch = 0  # 0: no epoch has ended yet; the weights are the first ones
        self.result = (-math.inf, math.inf)
        self.mark = self.result  # score and loss that the next clear gain must beat
        self.n_since = 0
        self._keep()

    def update(self, epoch: int, result: tuple[float, float]) -> bool:
        """Keep the present weights if their (score, loss) is the best so far."""
        is_best = better(result, self.result, tie_break=self.tie_break)
        if is_best:
            self.epoch, self.result = epoch, result
            self._keep()
        if not self.min_gain and is_best:
            self.n_since = 0
        elif self.min_gain and gained(result, self.mark, self.min_gain):
            score, loss = self.mark
            self.mark = max(result[0], score), min(result[1], loss)
            self.n_since = 0
        else:
            self.n_since += 1
        return is_best

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
            "mark": list(self.mark),
            "weights": self.weights,
        }

    def load_state(self, state: dict[str, Any]) -> None:
        """Continue from a checkpoint."""
        self.epoch, self.n_since = state["epoch"], state["n_since"]
        self.result = (state["result"][0], state["result"][1])
        self.mark = (state["mark"][0], state["mark"][1])
        device = next(iter(self.weights.values())).device
        self.weights = {k: v.to(device) for k, v in state["weights"].items()}
