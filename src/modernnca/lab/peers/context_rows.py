"""Training rows as context, for networks in which rows attend to each other."""

import torch
from torch import Tensor, nn

from modernnca.core.rows import Rows, concatenate
from modernnca.lab.peers.net_model import TableShape
from modernnca.lab.peers.supervised import Supervised


class ContextRows(nn.Module):
    """A fixed sample of training rows that stands in for the batch in inference.

    In training the rows of a batch attend to each other. If they did so in inference,
    too, the prediction of a row would depend on the other rows of the query. So each
    query attends to this sample and to itself instead.
    """

    numbers: Tensor
    plain: Tensor
    codes: Tensor

    def __init__(self, shape: TableShape, n_context: int) -> None:
        super().__init__()
        self.n_context = n_context
        self.register_buffer("numbers", torch.zeros(0, shape.n_numbers))
        self.register_buffer("plain", torch.zeros(0, shape.n_plain))
        self.register_buffer("codes", torch.zeros(0, len(shape.levels)).long())

    def sample(self, rows: Rows, generator: torch.Generator) -> None:
        """Sample the context from the training rows, without replacement."""
        index = torch.randperm(rows.n_rows, generator=generator)[: self.n_context]
        context = rows.take(index.to(rows.device))
        self.numbers, self.plain, self.codes = context[:3]

    def forward(self, rows: Rows) -> tuple[Rows, Tensor | None]:
        """Prepend the M context rows to the B rows, and return the attention mask.

        The mask (M + B, M + B) is True where a row attends to another: all rows attend
        to the context, and each of the B rows also to itself. In training there is no
        context, and the mask is None: all rows attend to all.
        """
        if self.training:
            return rows, None
        n_context = len(self.numbers)
        mask = torch.eye(n_context + rows.n_rows, dtype=torch.bool, device=rows.device)
        mask[:, :n_context] = True
        return concatenate(Rows(self.numbers, self.plain, self.codes), rows), mask


class ContextLearner(Supervised):
    """The plain learner, for a module whose `context` is a `ContextRows`."""

    def prepare(self) -> None:
        """Sample the context rows."""
        self.module.context.sample(self.train.rows, self.generator)  # type: ignore[operator, union-attr]
