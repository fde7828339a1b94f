"""The plain learner, criterion(module(rows), y); most peers use it as it is."""

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol, Self

import torch
from torch import Tensor, nn

Criterion = Callable[[Tensor, Tensor], Tensor]
Judge = Callable[[Tensor], tuple[float, float]]
N_AT_ONCE = 4096  # rows that are answered at once, unless the module says otherwise


class Takes(Protocol):
    """Rows of any shape, from which some can be taken."""

    def take(self, index: Any) -> Self:
        """The rows at `index`."""


class Examples(NamedTuple):
    """Rows and what is to be learned of them."""

    rows: Any  # Takes
    y: Tensor  # (N,) codes of classes, or numbers

    def take(self, index: Tensor | slice) -> "Examples":
        """The examples at `index`."""
        return Examples(self.rows.take(index), self.y[index])

    def __len__(self) -> int:
        return len(self.y)


class Supervised:
    """Learn to answer `fit` by a criterion; judged on `stop`.

    A method with another loss overrides `loss`; one that learns something from the rows
    before the first step (prototypes, an order of columns) overrides `begin`.

    Args:
        module: gives (B, V) logits, or (B, 1) numbers, for B rows.
        criterion: from what the module gives and y to a loss.
        judge: from what the module gives for the rows of `stop` to a score (higher is
            better) and a loss.
        generator: for draws.
    """

    def __init__(
        self,
        module: nn.Module,
        fit: Examples,
        stop: Examples,
        *,
        criterion: Criterion,
        judge: Judge,
        generator: torch.Generator,
    ) -> None:
        self.module = module
        self.fit, self.stop = fit, stop
        self.criterion, self.judge = criterion, judge
        self.generator = generator
        self.n_rows = len(fit)
        self.begin()

    def begin(self) -> None:
        """What is to be learned before the first step."""

    def loss(self, batch: Tensor) -> Tensor:
        """The loss of the rows numbered in `batch`."""
        rows, y = self.examples(batch)
        return self.criterion(self.module(rows), y)

    def examples(self, batch: Tensor) -> Examples:
        """Take the rows; a last row alone is doubled, since one has no variance."""
        return self.fit.take(batch if len(batch) > 1 else batch.repeat(2))

    def validate(self) -> tuple[float, float]:
        """How good it is on the rows to stop by."""
        return self.judge(answer_all(self.module, self.stop.rows, len(self.stop)))


def answer_all(module: nn.Module, rows: Takes, n_rows: int) -> Tensor:
    """What the module gives for all rows, some at a time, in evaluation mode."""
    n_at_once = int(getattr(module, "n_at_once", N_AT_ONCE))
    was_training = module.training
    module.eval()
    with torch.no_grad():
        answers = [
            module(rows.take(slice(start, start + n_at_once)))
            for start in range(0, n_rows, n_at_once)
        ]
    module.train(was_training)
    return torch.cat(answers)
