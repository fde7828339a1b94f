"""NODE: layers of oblivious trees that are soft enough to be learned by gradients.

Shapes: T trees of depth D, C answers of each tree, B rows. Inside, rows are the last
axis, so that every step runs along memory.
"""

from typing import cast

import torch
from torch import Tensor, nn

from modernnca.core.rows import Rows
from modernnca.lab.peers.card import Peer
from modernnca.lab.peers.inputs import Flat
from modernnca.lab.peers.net_model import TableShape, net_maker
from modernnca.lab.peers.sparse import entmax15, entmoid15
from modernnca.lab.peers.supervised import Supervised
from modernnca.tune.space import Choice, Int, LogFloat, Maybe

N_FIRST = 2048  # rows by which thresholds are placed


def paths(right: Tensor) -> Tensor:
    """How far each row goes down each path: (T, D, B) to (T, 2^D, B).

    `right` says how far it goes to the right at each depth. Bit d of a path's number
    is set where the path goes to the right at depth d.

    >>> paths(torch.tensor([[[1.0], [0.25]]])).flatten()
    tensor([0.0000, 0.7500, 0.0000, 0.2500])
    """
    weights = right.new_ones(len(right), 1, right.shape[2])
    for sides in torch.stack([1 - right, right], 2).unbind(1):  # (T, 2, B)
        weights = (sides[:, :, None] * weights[:, None]).flatten(1, 2)
    return weights


class Trees(nn.Module):
    """Oblivious trees: the same question for all nodes of a depth. (d, B) to (T, C, B).

    A question is whether a sparse mean of the columns lies above a threshold.
    """

    def __init__(self, d_in: int, *, n_trees: int, depth: int, d_answer: int) -> None:
        super().__init__()
        self.choice = nn.Parameter(torch.rand(n_trees * depth, d_in))
        self.threshold = nn.Parameter(torch.zeros(n_trees * depth, 1))
        self.log_temperature = nn.Parameter(torch.zeros(n_trees * depth, 1))
        self.answer = nn.Parameter(torch.randn(n_trees, d_answer, 2**depth))
        # PAPER: one small rate, for many thousand steps. The mean of many trees moves
        # no faster than one of them, and a small table has few steps.
        self.answer.rate_factor = 10.0  # type: ignore[attr-defined]
        # All leaves of all trees for all rows would fill the memory. So the first
        # depths and the others are multiplied out apart; they meet in the answers.
        self.n_first = min(
            range(depth + 1), key=lambda k: 2**k + (d_answer + 1) * 2 ** (depth - k)
        )

    def forward(self, x: Tensor) -> Tensor:
        """What each tree answers to each row."""
        n_trees, d_answer = self.answer.shape[:2]
        asked = entmax15(self.choice) @ x - self.threshold
        right = entmoid15(asked * (-self.log_temperature).exp())  # (T * D, B)
        right = right.view(n_trees, -1, x.shape[1])
        first, rest = paths(right[:, : self.n_first]), paths(right[:, self.n_first :])
        answer = self.answer.view(n_trees, -1, first.shape[1]) @ first
        answer = answer.view(n_trees, d_answer, -1, x.shape[1])  # of each rest
        return (answer * rest[:, None]).sum(2)

    @torch.no_grad()
    def prepare(self, x: Tensor) -> None:
        """Put thresholds at random quantiles of what is asked; no row is cut off yet.

        Beyond one temperature from its threshold no row lies, and the soft step is
        flat beyond two.
        """
        asked = entmax15(self.choice) @ x  # (T * D, B)
        place = torch.randint(x.shape[1], (len(asked), 1)).to(x.device)
        self.threshold.copy_(asked.gather(1, place))
        reach = (asked - self.threshold).abs().amax(1, keepdim=True)
        self.log_temperature.copy_(torch.where(reach > 1e-6, reach, 1.0).log())


class NODE(nn.Module):
    """Layers of trees; each reads the columns and what all layers before it answered.

    The answer is the mean of all trees, in which only the first `d_out` numbers count.
    """

    n_at_once = 1024

    def __init__(
        self, shape: TableShape, *, n_layers: int, n_trees: int, depth: int, d_tree: int
    ) -> None:
        super().__init__()
        self.flat, self.d_out = Flat(shape), shape.d_out
        d_answer = max(d_tree, shape.d_out)
        self.layers = nn.ModuleList(
            Trees(
                self.flat.d_out + i * n_trees * d_answer,
                n_trees=n_trees,
                depth=depth,
                d_answer=d_answer,
            )
            for i in range(n_layers)
        )

    def forward(self, rows: Rows) -> Tensor:
        """Answer the rows: (B, d_out)."""
        return self._run(rows, prepare=False)

    def prepare(self, rows: Rows) -> None:
        """Let each layer see the rows before it is asked for the first time."""
        with torch.no_grad():
            self._run(rows, prepare=True)

    def _run(self, rows: Rows, *, prepare: bool) -> Tensor:
        x = self.flat(rows).T  # (d, B)
        answers: list[Tensor] = []
        for layer in cast(list[Trees], self.layers):
            if prepare:
                layer.prepare(x)
            answers.append(layer(x))
            x = torch.cat([x, answers[-1].flatten(0, 1)])
        return torch.cat(answers)[:, : self.d_out].mean(0).T


class Prepared(Supervised):
    """Thresholds and temperatures come from rows, before the first step."""

    module: NODE

    def begin(self) -> None:
        """Show the net some of the rows."""
        some = torch.randperm(len(self.fit), generator=self.generator)[:N_FIRST]
        self.module.prepare(self.fit.take(some.to(self.fit.y.device)).rows)


PEER = Peer(
    name="node",
    title="NODE",
    paper="Popov et al., 2020",
    source="written here: packages that have it bring a framework of their own",
    differs="AdamW for QHAdam, at higher rates for fewer steps",
    make=net_maker("node", NODE, Prepared),
    defaults={
        "n_layers": 1,
        "n_trees": 1024,
        "depth": 6,
        "d_tree": 2,
        "learning_rate": 0.01,
        "weight_decay": 0.0,
    },
    space={
        "n_layers": Int(1, 4),
        "n_trees": Choice((512, 1024)),
        "depth": Int(4, 6),
        "d_tree": Int(2, 3),
        "learning_rate": LogFloat(1e-5, 0.1),
        "weight_decay": Maybe(LogFloat(1e-6, 1e-3), 0.0),
    },
)
