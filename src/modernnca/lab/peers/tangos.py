"""TANGOS: an MLP whose last units shall look at few columns, and at different ones.

What a unit looks at in a row is its gradient with respect to the columns. Shapes: B
rows, d columns, H units.
"""

from typing import cast

import torch
from torch import Tensor, nn
from torch.nn.functional import cosine_similarity, dropout, linear

from modernnca.core.rows import Rows
from modernnca.lab.peers.card import Peer
from modernnca.lab.peers.inputs import Flat
from modernnca.lab.peers.net_model import TableShape, net_maker
from modernnca.lab.peers.supervised import Supervised
from modernnca.tune.space import Float, Int, LogFloat, Maybe

N_GRADIENTS = 2**14  # of rows by columns, that are looked at in one step


def specialization(gradients: Tensor) -> Tensor:
    """How much units look at columns at all: the mean size of (B, d, H) gradients."""
    return gradients.abs().mean()


def overlap(gradients: Tensor, pairs: Tensor) -> Tensor:
    """How much pairs (2, n) of units look at the same columns: the mean |cosine|."""
    left, right = gradients[:, :, pairs[0]], gradients[:, :, pairs[1]]
    return cosine_similarity(left, right, dim=1, eps=1e-6).abs().mean()


def draw_pairs(n_units: int, n_pairs: int, generator: torch.Generator) -> Tensor:
    """Pairs of different units, (2, n_pairs); all pairs if there are no more.

    >>> draw_pairs(3, 50, torch.Generator())
    tensor([[0, 0, 1],
            [1, 2, 2]])
    """
    if n_pairs >= n_units * (n_units - 1) // 2:
        return torch.combinations(torch.arange(n_units)).T
    first = torch.randint(n_units, (n_pairs,), generator=generator)
    ahead = torch.randint(1, n_units, (n_pairs,), generator=generator)
    return torch.stack([first, (first + ahead) % n_units])


class Tangos(nn.Module):
    """An MLP that can tell what its last units look at.

    Args:
        specialize: the weight of the penalty on looking at all.
        separate: the weight of the penalty on looking at the same.
        n_pairs: of units, drawn in each step to be compared.
    """

    def __init__(
        self,
        shape: TableShape,
        *,
        n_layers: int,
        d_layer: int,
        dropout: float,
        specialize: float,
        separate: float,
        n_pairs: int,
    ) -> None:
        super().__init__()
        self.flat, self.dropout = Flat(shape), dropout
        self.specialize, self.separate, self.n_pairs = specialize, separate, n_pairs
        self.layers = nn.ModuleList(
            nn.Linear(d_layer if i else self.flat.d_out, d_layer)
            for i in range(n_layers)
        )
        self.head = nn.Linear(d_layer, shape.d_out)

    def forward(self, rows: Rows) -> Tensor:
        """Answer the rows: (B, d_out)."""
        x = self.flat(rows)
        for layer in self.layers:
            x = dropout(layer(x).relu(), self.dropout, self.training)
        return self.head(x)

    def look(self, rows: Rows) -> Tensor:
        """The gradients of the last units with respect to the columns, (B, d, H).

        A gradient goes through the layers as a row does, with the same weights and the
        same gates: the gradients of all rows are one product of matrices a layer.
        """
        first, *others = cast(list[nn.Linear], self.layers)
        x = first(self.flat(rows))
        seen = first.weight.T.expand(len(x), -1, -1)
        for layer in others:
            gate = dropout((x > 0).to(x.dtype), self.dropout, self.training)
            x = layer(x * gate)
            seen = linear(seen * gate[:, None], layer.weight)
        return seen * (x > 0)[:, None]


class Tangent(Supervised):
    """The criterion, and two penalties on what the last units look at."""

    module: Tangos

    def loss(self, batch: Tensor) -> Tensor:
        """The loss of the rows numbered in `batch`."""
        rows, y = self.examples(batch)
        net = self.module
        # PAPER: looks at every row; the penalties are means over rows, and the first
        # ones of a batch in random order are enough where columns are many.
        n_looked_at = max(1, N_GRADIENTS // net.flat.d_out)
        seen = net.look(rows.take(slice(n_looked_at)))
        pairs = draw_pairs(seen.shape[2], net.n_pairs, self.generator).to(seen.device)
        return (
            self.criterion(net(rows), y)
            + net.specialize * specialization(seen)
            + net.separate * overlap(seen, pairs)
        )


PEER = Peer(
    name="tangos",
    title="TANGOS",
    paper="Jeffares et al., 2023",
    source="written here: the authors' code is an experiment, not a package",
    differs="gradients in closed form, of fewer rows of a batch where columns are many",
    make=net_maker("tangos", Tangos, Tangent),
    defaults={
        "n_layers": 3,
        "d_layer": 256,
        "dropout": 0.1,
        "specialize": 1.0,
        "separate": 0.01,
        "n_pairs": 50,
        "learning_rate": 1e-3,
        "batch_size": 256,
    },
    space={
        "n_layers": Int(1, 8),
        "d_layer": Int(64, 512),
        "dropout": Maybe(Float(0.0, 0.5), 0.0),
        "specialize": LogFloat(1e-3, 10.0),
        "separate": LogFloat(1e-4, 1.0),
        "n_pairs": Int(30, 100),
        "learning_rate": LogFloat(1e-4, 1e-3),
        "weight_decay": Maybe(LogFloat(1e-6, 1e-3), 0.0),
    },
)
