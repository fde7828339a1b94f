"""SwitchTab: rows have mutual and salient parts; pairs of rows switch the mutual."""

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import mse_loss

from modernnca.core.rows import Rows
from modernnca.lab.peers.card import Peer
from modernnca.lab.peers.context_rows import ContextLearner, ContextRows
from modernnca.lab.peers.inputs import Flat
from modernnca.lab.peers.net_model import TableShape, net_maker
from modernnca.tune.space import LogFloat

_MAX_D_ROW = 1024  # wider rows are projected: weights grow with the square


def corrupt(rows: Rows, rate: float) -> Rows:
    """Replace each cell, with probability `rate`, by a random cell of its column."""

    def replace(cells: Tensor) -> Tensor:
        drawn = torch.randint(len(cells), cells.shape, device=cells.device)
        keep = torch.rand(cells.shape, device=cells.device) >= rate
        return torch.where(keep, cells, cells.gather(0, drawn))

    return Rows(replace(rows.numbers), replace(rows.plain), replace(rows.codes))


class Parts(NamedTuple):
    """The information that rows share, and that specific to a row: (B, d) each."""

    mutual: Tensor
    salient: Tensor


class SwitchTab(nn.Module):
    """A transformer over rows, two projectors, a decoder, and a linear head.

    A row is one token, so the rows of a batch attend to each other; see `ContextRows`.
    """

    eval_batch_size = 1024  # bounds the attention mask over rows and context

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
        self.context = ContextRows(shape, n_mates)
        self.flat = Flat(shape)
        d_in = self.flat.d_out
        d_row = min(d_in, _MAX_D_ROW)
        d_row += -d_row % n_heads  # the heads split a row equally
        self.input_layer: nn.Module = (
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
        """Predict each row, (B, d_out)."""
        return self.head(self.encode(rows))

    def encode(self, rows: Rows) -> Tensor:
        """The rows after attention to each other, or to the context: (B, d)."""
        n_rows = rows.n_rows
        rows, mask = self.context(rows)
        src_mask = None if mask is None else ~mask  # True: do not attend
        x = self.input_layer(self.flat(rows))
        for layer in self.layers:
            x = layer(x, src_mask=src_mask)
        return x[-n_rows:]

    def parts(self, encoded: Tensor) -> Parts:
        """Split encoded rows."""
        return Parts(self.to_mutual(encoded), self.to_salient(encoded))

    def decode(self, mutual: Tensor, salient: Tensor) -> Tensor:
        """Reconstruct rows from their parts, in the format of `Flat`."""
        return self.decoder(torch.cat([mutual, salient], 1))


class SwitchTabLearner(ContextLearner):
    """The supervised loss, plus the errors of recovered and switched rows."""

    module: SwitchTab

    def loss(self, batch: Tensor) -> Tensor:
        """The loss of the rows in `batch`, each paired with a random row."""
        drawn = torch.randint(self.n_rows, batch.shape, generator=self.generator)
        net, x, encoded, losses = self.module, [], [], []
        for index in (batch, drawn.to(batch.device)):
            rows, y = self.take(index)
            x.append(net.flat(rows))
            encoded.append(net.encode(corrupt(rows, net.corruption)))
            losses.append(self.criterion(net.head(encoded[-1]), y))
        supervised = torch.stack(losses).sum()
        return self.reconstruction_loss(x, encoded) + net.alpha * supervised

    def reconstruction_loss(self, x: list[Tensor], encoded: list[Tensor]) -> Tensor:
        """The errors of two rows, each decoded with the mutual part of either row."""
        decode, parts = self.module.decode, [self.module.parts(z) for z in encoded]
        errors = [
            mse_loss(decode(parts[other].mutual, parts[row].salient), x[row])
            for row in (0, 1)
            for other in (0, 1)
        ]
        return torch.stack(errors).sum()


PEER = Peer(
    name="switchtab",
    title="SwitchTab",
    paper="Wu et al., 2024",
    source="our implementation: the authors published no code",
    differs=(
        "trained in one stage, with labels, as in the paper's benchmark; cells are "
        "corrupted by cells of their column, where the benchmark's code sets them to "
        "zero, and the true ones reconstructed; batches of 256 unless a study asks for "
        "the benchmark's; no "
        "sigmoid in the decoder, since standardized numbers are not between 0 and 1; "
        "pre-norm instead of post-norm, which preserves magnitudes in tables with few "
        "columns; AdamW instead of RMSprop; a row is predicted next to a fixed sample "
        "of training rows, so that its prediction does not depend on other queries"
    ),
    make=net_maker("switchtab", SwitchTab, SwitchTabLearner),
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
