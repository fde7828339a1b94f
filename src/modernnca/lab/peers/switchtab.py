"""SwitchTab: rows in two parts, one of which must still do when two rows switch it."""

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import mse_loss

from modernnca.core.rows import Rows
from modernnca.lab.peers.card import Peer
from modernnca.lab.peers.inputs import Flat
from modernnca.lab.peers.mates import Mates, WithMates
from modernnca.lab.peers.net_model import TableShape, net_maker
from modernnca.tune.space import LogFloat

_WIDEST = 1024  # a wider row is projected first: weights grow with the square


def corrupt(rows: Rows, rate: float) -> Rows:
    """Replace cells, each with the chance `rate`, by that of some row of the column."""

    def some(cells: Tensor) -> Tensor:
        drawn = torch.randint(len(cells), cells.shape, device=cells.device)
        keep = torch.rand(cells.shape, device=cells.device) >= rate
        return torch.where(keep, cells, cells.gather(0, drawn))

    return Rows(*(some(part) for part in rows[:3] if part is not None))


class Parts(NamedTuple):
    """What a row has in common with others, and what is its own: (B, d) each."""

    mutual: Tensor
    salient: Tensor


class SwitchTab(nn.Module):
    """A transformer over rows, two projectors, a decoder, and a linear answer.

    A row is one token, so the rows of a batch attend to each other; see `Mates`.
    """

    n_at_once = 1024  # rows asked at once, since they make a mask with the mates

    def __init__(
        self,
        shape: TableShape,
        *,
        n_layers: int,
        n_heads: int,
        dropout: float,
        alpha: float,
        corruption: float,
        n_mates: int,
    ) -> None:
        super().__init__()
        self.alpha, self.corruption = alpha, corruption
        self.mates = Mates(shape, n_mates)
        self.flat = Flat(shape)
        d_in = self.flat.d_out
        d_row = min(d_in, _WIDEST)
        d_row += -d_row % n_heads  # the heads share a row in equal parts
        self.fit_in: nn.Module = (
            nn.Linear(d_in, d_row) if d_in > d_row else nn.ZeroPad1d((0, d_row - d_in))
        )
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(d_row, n_heads, dropout=dropout, norm_first=True)
            for _ in range(n_layers)
        )
        self.to_mutual = nn.Sequential(nn.Linear(d_row, d_row), nn.Sigmoid())
        self.to_salient = nn.Sequential(nn.Linear(d_row, d_row), nn.Sigmoid())
        self.decoder = nn.Linear(2 * d_row, d_in)
        self.head = nn.Linear(d_row, shape.d_out)

    def forward(self, rows: Rows) -> Tensor:
        """Answer the rows."""
        return self.head(self.encode(rows))

    def encode(self, rows: Rows) -> Tensor:
        """The rows as they see each other, (B, d)."""
        n_asked = len(rows.numbers)
        rows, mask = self.mates(rows)
        hidden = None if mask is None else ~mask  # torch asks who is not seen
        x = self.fit_in(self.flat(rows))
        for layer in self.layers:
            x = layer(x, src_mask=hidden)
        return x[-n_asked:]

    def parts(self, encoded: Tensor) -> Parts:
        """Take encoded rows apart."""
        return Parts(self.to_mutual(encoded), self.to_salient(encoded))

    def decode(self, mutual: Tensor, salient: Tensor) -> Tensor:
        """The row that has these parts, as `Flat` lays it out."""
        return self.decoder(torch.cat([mutual, salient], 1))


class SwitchLearner(WithMates):
    """The loss of the answers, and of rows rebuilt with their own and lent parts."""

    module: SwitchTab

    def loss(self, batch: Tensor) -> Tensor:
        """Of the rows in `batch`, each beside another one drawn from all."""
        drawn = torch.randint(self.n_rows, batch.shape, generator=self.generator)
        net, x, seen, losses = self.module, [], [], []
        for index in (batch, drawn.to(batch.device)):
            rows, y = self.examples(index)
            x.append(net.flat(rows))
            seen.append(net.encode(corrupt(rows, net.corruption)))
            losses.append(self.criterion(net.head(seen[-1]), y))
        return self.rebuilt(x, seen) + net.alpha * torch.stack(losses).sum()

    def rebuilt(self, x: list[Tensor], seen: list[Tensor]) -> Tensor:
        """The errors of two rows, each rebuilt with either's mutual part."""
        parts = [self.module.parts(z) for z in seen]
        errors = [
            mse_loss(self.module.decode(parts[lent].mutual, parts[own].salient), x[own])
            for own in (0, 1)
            for lent in (0, 1)
        ]
        return torch.stack(errors).sum()


PEER = Peer(
    name="switchtab",
    title="SwitchTab",
    paper="Wu et al., 2024",
    source="written here: the authors published no code",
    differs=(
        "learned in one go with the labels, as in the paper's benchmark; cells are "
        "corrupted by cells of their column, and the true ones rebuilt; no sigmoid in "
        "the decoder, since standardized numbers are not between 0 and 1; normalized "
        "before each part, not after, so that few columns keep their sizes; AdamW, not "
        "RMSprop; a row is answered among a fixed sample of training rows, so that "
        "the answer does not depend on what else is asked"
    ),
    make=net_maker("switchtab", SwitchTab, SwitchLearner),
    defaults={
        "n_layers": 3,
        "n_heads": 2,
        "dropout": 0.0,
        "alpha": 1.0,
        "corruption": 0.3,
        "n_mates": 512,
        "learning_rate": 3e-4,
        "batch_size": 256,
    },
    space={
        "alpha": LogFloat(0.01, 100.0),
        "learning_rate": LogFloat(1e-6, 1e-3),
        "weight_decay": LogFloat(1e-6, 1e-3),
    },
)
