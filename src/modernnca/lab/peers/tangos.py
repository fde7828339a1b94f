"""TANGOS: an MLP whose hidden units are regularized to use few, different columns.

The attribution of a unit in a row is its gradient with respect to the columns. Shapes:
B rows, d columns, H units of the last hidden layer.
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

MAX_GRADIENTS = 2**14  # rows times columns whose attributions are penalized per step


def specialization(attributions: Tensor) -> Tensor:
    """The mean absolute attribution, of attributions (B, d, H)."""
    return attributions.abs().mean()


def orthogonalization(attributions: Tensor, pairs: Tensor) -> Tensor:
    """The mean |cosine| between the attributions of pairs (2, n) of units."""
    left, right = attributions[:, :, pairs[0]], attributions[:, :, pairs[1]]
    return cosine_similarity(left, right, dim=1, eps=1e-6).abs().mean()


def draw_pairs(n_units: int, n_pairs: int, generator: torch.Generator) -> Tensor:
    """Draw pairs of different units, (2, n_pairs); all pairs if there are fewer.

    >>> draw_pairs(3, 50, torch.Generator())
    tensor([[0, 0, 1],
            [1, 2, 2]])
    """
    if n_pairs >= n_units * (n_units - 1) // 2:
        return torch.combinations(torch.arange(n_units)).T
    first = torch.randint(n_units, (n_pairs,), generator=generator)
    offset = torch.randint(1, n_units, (n_pairs,), generator=generator)
    return torch.stack([first, (first + offset) % n_units])


class TANGOS(nn.Module):
    """An MLP that computes the attributions of its last hidden units.

    Args:
        specialize: the weight of the specialization penalty.
        separate: the weight of the orthogonalization penalty.
        n_pairs: how many pairs of units to draw in each step.
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
        """Predict each row, (B, d_out)."""
        x = self.flat(rows)
        for layer in self.layers:
            x = dropout(layer(x).relu(), self.dropout, self.training)
        return self.head(x)

    def attributions(self, rows: Rows) -> Tensor:
        """The gradients of the last hidden units by the columns, (B, d, H).

        Computed forward with the rows: each layer multiplies by its weights and masks
        by its ReLU and dropout, one matrix product for all rows.
        """
        first, *others = cast(list[nn.Linear], self.layers)
        x = first(self.flat(rows))
        gradients = first.weight.T.expand(len(x), -1, -1)
        for layer in others:
            gate = dropout((x > 0).to(x.dtype), self.dropout, self.training)
            x = layer(x * gate)
            gradients = linear(gradients * gate[:, None], layer.weight)
        return gradients * (x > 0)[:, None]


class TANGOSLearner(Supervised):
    """The criterion, plus two penalties on attributions."""

    module: TANGOS

    def loss(self, batch: Tensor) -> Tensor:
        """The loss of the rows numbered in `batch`."""
        rows, y = self.take(batch)
        net = self.module
        # PAPER: penalizes every row. The penalties are means over rows, so for wide
        # tables we use only the first rows of a batch, whose order is random.
        n_rows = max(1, MAX_GRADIENTS // net.flat.d_out)
        attributions = net.attributions(rows.take(slice(n_rows)))
        n_units = attributions.shape[2]
        pairs = draw_pairs(n_units, net.n_pairs, self.generator).to(rows.device)
        return (
            self.criterion(net(rows), y)
            + net.specialize * specialization(attributions)
            + net.separate * orthogonalization(attributions, pairs)
        )


PEER = Peer(
    name="tangos",
    title="TANGOS",
    paper="Jeffares et al., 2023",
    source="our implementation: the authors' code is an experiment, not a package",
    differs="gradients in closed form, and for fewer rows of a batch on wide tables; "
    "batches of 256 unless a study asks for the benchmark's",
    make=net_maker("tangos", TANGOS, TANGOSLearner),
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
