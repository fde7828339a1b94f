"""DCNv2: cross layers, which multiply columns, in parallel to an MLP."""

import torch
from torch import Tensor, nn

from modernnca.core.rows import Rows
from modernnca.lab.peers.card import Peer
from modernnca.lab.peers.inputs import Flat
from modernnca.lab.peers.net_model import TableShape, net_maker
from modernnca.tune.space import Float, Int, LogFloat, Maybe

# Products of outliers explode: for one row of Brazilian_houses, at 19 standard
# deviations, the prediction was off by fifty standard deviations of the target.
_CLIP = 10.0  # standard deviations


class Cross(nn.Module):
    """Cross layers, x = x0 * (W x + b) + x: (B, d) to (B, d).

    After l layers x holds products of up to l + 1 inputs.
    """

    def __init__(self, d: int, *, n_layers: int, dropout: float) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(d, d) for _ in range(n_layers)])
        self.dropout = nn.Dropout(dropout)

    def forward(self, x0: Tensor) -> Tensor:
        """Cross the input with itself."""
        x = x0
        for layer in self.layers:
            x = self.dropout(x0 * layer(x)) + x
        return x


class DCNv2(nn.Module):
    """Cross layers and an MLP in parallel, then one linear layer over both."""

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
        """Predict each row, (B, d_out)."""
        x = self.first(rows._replace(numbers=rows.numbers.clamp(-_CLIP, _CLIP)))
        return self.last(torch.cat([self.cross(x), self.deep(x)], 1))


PEER = Peer(
    name="dcnv2",
    title="DCNv2",
    paper="Wang et al., 2021; Gorishniy et al., 2021",
    source="our implementation of the paper: existing packages are for click logs",
    differs="a linear layer maps the columns to width d before the cross layers, as in "
    "the benchmark, and so embeds the one-hot categories; numbers are clipped at ten "
    "standard deviations, so that their products do not explode; batches of 256 and a "
    "higher learning rate unless a study asks for the benchmark's",
    published={"learning_rate": 1e-4},
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
