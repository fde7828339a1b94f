"""DCNv2: products of columns, of a degree that grows by layer, beside plain layers."""

import torch
from torch import Tensor, nn

from modernnca.core.rows import Rows
from modernnca.lab.peers.card import Peer
from modernnca.lab.peers.inputs import Flat
from modernnca.lab.peers.net_model import TableShape, net_maker
from modernnca.tune.space import Float, Int, LogFloat, Maybe

# Crossed, a number that far from the mean has no scale any more: of one row at 19
# deviations (Brazilian_houses) the answer was wrong by fifty deviations of the target.
_FAR = 10.0  # deviations


class Cross(nn.Module):
    """x becomes first * (W x + b) + x, again and again: (B, d) to (B, d).

    After l layers x holds the products of up to l + 1 of the numbers it began with.
    """

    def __init__(self, d: int, *, n_layers: int, dropout: float) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(d, d) for _ in range(n_layers)])
        self.dropout = nn.Dropout(dropout)

    def forward(self, first: Tensor) -> Tensor:
        """Cross what is given with itself."""
        x = first
        for layer in self.layers:
            x = self.dropout(first * layer(x)) + x
        return x


class DCNv2(nn.Module):
    """Cross layers and plain layers side by side, then one linear layer for both."""

    def __init__(
        self,
        shape: TableShape,
        *,
        d: int,
        n_cross: int,
        n_hidden: int,
        cross_dropout: float,
        hidden_dropout: float,
    ) -> None:
        super().__init__()
        self.first = nn.Sequential(Flat(shape), nn.Linear(shape.d_flat, d))
        self.cross = Cross(d, n_layers=n_cross, dropout=cross_dropout)
        hidden = [
            (nn.Linear(d, d), nn.ReLU(), nn.Dropout(hidden_dropout))
            for _ in range(n_hidden)
        ]
        self.deep = nn.Sequential(*(part for parts in hidden for part in parts))
        self.last = nn.Linear(2 * d, shape.d_out)

    def forward(self, rows: Rows) -> Tensor:
        """Answer each row, (B, d_out)."""
        near = rows._replace(numbers=rows.numbers.clamp(-_FAR, _FAR))
        x = self.first(near)
        return self.last(torch.cat([self.cross(x), self.deep(x)], 1))


PEER = Peer(
    name="dcnv2",
    title="DCNv2",
    paper="Wang et al., 2021; Gorishniy et al., 2021",
    source="written here from the paper: the packages are for click logs",
    differs="columns are mixed to a width d before they are crossed, as in the "
    "benchmark; this also embeds the categories, which come one-hot; numbers end at "
    "ten deviations from the mean, lest their products explode",
    make=net_maker("dcnv2", DCNv2),
    defaults={
        "d": 512,
        "n_cross": 3,
        "n_hidden": 2,
        "cross_dropout": 0.1,
        "hidden_dropout": 0.1,
        "learning_rate": 3e-4,
        "batch_size": 256,
    },
    space={
        "d": Int(64, 512),
        "n_cross": Int(1, 8),
        "n_hidden": Int(1, 8),
        "cross_dropout": Maybe(Float(0.0, 0.5), 0.0),
        "hidden_dropout": Maybe(Float(0.0, 0.5), 0.0),
        "learning_rate": LogFloat(1e-5, 1e-2),
        "weight_decay": Maybe(LogFloat(1e-6, 1e-3), 0.0),
    },
)
