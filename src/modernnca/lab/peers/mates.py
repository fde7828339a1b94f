"""Training rows that keep the asked ones company, in nets whose rows see each other."""

import torch
from torch import Tensor, nn

from modernnca.core.rows import Rows, concatenate
from modernnca.lab.peers.net_model import TableShape
from modernnca.lab.peers.supervised import Supervised


class Mates(nn.Module):
    """A fixed sample of training rows, by which every row is answered.

    In training the rows of a batch see each other. Were it so afterwards too, the
    answer for a row would depend on what else is asked; so these rows take the place
    of the others.
    """

    numbers: Tensor
    plain: Tensor
    codes: Tensor

    def __init__(self, shape: TableShape, n_mates: int) -> None:
        super().__init__()
        self.n_mates = n_mates
        self.register_buffer("numbers", torch.zeros(0, shape.n_numbers))
        self.register_buffer("plain", torch.zeros(0, shape.n_plain))
        self.register_buffer("codes", torch.zeros(0, len(shape.levels)).long())

    def keep(self, rows: Rows, generator: torch.Generator) -> None:
        """Choose them among the training rows."""
        order = torch.randperm(len(rows.numbers), generator=generator)[: self.n_mates]
        kept = rows.take(order.to(rows.numbers.device))
        self.numbers, self.plain, self.codes = kept[:3]

    def forward(self, rows: Rows) -> tuple[Rows, Tensor | None]:
        """Put them before the rows, and say who sees whom, None: all see all.

        The mask is (M + B, M + B): all see the M mates, and the B asked ones
        themselves too. In training there are no mates but the rows.
        """
        if self.training:
            return rows, None
        n_mates, n_asked = len(self.numbers), len(rows.numbers)
        mask = torch.eye(
            n_mates + n_asked, dtype=torch.bool, device=rows.numbers.device
        )
        mask[:, :n_mates] = True
        return concatenate(Rows(self.numbers, self.plain, self.codes), rows), mask


class WithMates(Supervised):
    """The plain learner, for a module with `mates`."""

    def begin(self) -> None:
        """Choose the rows that will keep the asked ones company."""
        self.module.mates.keep(self.fit.rows, self.generator)  # type: ignore[operator, union-attr]
