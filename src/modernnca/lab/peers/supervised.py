"""The plain supervised learner, criterion(module(rows), y); most networks use it."""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor, nn

from modernnca.core.rows import Rows

Criterion = Callable[[Tensor, Tensor], Tensor]
Evaluate = Callable[[Tensor], tuple[float, float]]
EVAL_BATCH_SIZE = 4096  # rows per forward pass, unless the module has its own


class LabeledRows(NamedTuple):
    """Rows with their targets."""

    rows: Rows
    y: Tensor  # (N,) class codes, or numbers

    def take(self, index: Tensor | slice) -> "LabeledRows":
        """The rows at `index`."""
        return LabeledRows(self.rows.take(index), self.y[index])

    @property
    def n_rows(self) -> int:
        """N."""
        return len(self.y)


class Supervised:
    """Minimize a criterion on `train`; evaluate on `valid`.

    A method with another loss overrides `loss`; one that learns something from the
    rows before the first step (prototypes, the order of columns) overrides `prepare`.

    Args:
        module: maps B rows to (B, V) logits, or to (B, 1) numbers.
        criterion: maps the module's outputs and y to a loss.
        evaluate: maps the module's outputs for `valid` to a score (higher is better)
            and a loss.
        generator: for random draws.
    """

    def __init__(
        self,
        module: nn.Module,
        train: LabeledRows,
        valid: LabeledRows,
        *,
        criterion: Criterion,
        evaluate: Evaluate,
        generator: torch.Generator,
    ) -> None:
        self.module = module
        self.train, self.valid = train, valid
        self.criterion, self.evaluate = criterion, evaluate
        self.generator = generator
        self.n_rows = train.n_rows
        self.prepare()

    def prepare(self) -> None:
        """What is learned before the first step: nothing by default."""

    def loss(self, batch: Tensor) -> Tensor:
        """The loss of the rows numbered in `batch`."""
        rows, y = self.take(batch)
        return self.criterion(self.module(rows), y)

    def take(self, batch: Tensor) -> LabeledRows:
        """Take training rows; a single row is taken twice, since it has no variance."""
        return self.train.take(batch if len(batch) > 1 else batch.repeat(2))

    def validate(self) -> tuple[float, float]:
        """The score and the loss on the validation rows."""
        return self.evaluate(predict_in_batches(self.module, self.valid.rows))


def predict_in_batches(module: nn.Module, rows: Rows) -> Tensor:
    """The module's outputs for all rows, in evaluation mode."""
    batch_size = int(getattr(module, "eval_batch_size", EVAL_BATCH_SIZE))
    was_training = module.training
    module.eval()
    with torch.no_grad():
        outputs = [
            module(rows.take(slice(start, start + batch_size)))
            for start in range(0, rows.n_rows, batch_size)
        ]
    module.train(was_training)
    return torch.cat(outputs)
