"""DANets: layers that select groups of columns and abstract each into new ones."""

import torch
from torch import Tensor, nn
from torch.nn.functional import leaky_relu, linear

from modernnca.core.rows import Rows
from modernnca.lab.peers.card import Peer
from modernnca.lab.peers.entmax import entmax15
from modernnca.lab.peers.ghost_batch_norm import GhostBatchNorm
from modernnca.lab.peers.inputs import Flat
from modernnca.lab.peers.mlp import mlp_layers
from modernnca.lab.peers.net_model import TableShape, net_maker
from modernnca.tune.space import Float, Int, LogFloat, Maybe


class AbstractLayer(nn.Module):
    """The sum of gated layers, one for each group of columns: (B, d_in) to (B, d_out).

    A group is a learned sparse mask over the columns.

    >>> AbstractLayer(4, 3, n_groups=2, n_ghost=256)(torch.rand(5, 4)).shape
    torch.Size([5, 3])
    """

    def __init__(self, d_in: int, d_out: int, *, n_groups: int, n_ghost: int) -> None:
        super().__init__()
        self.choice = nn.Parameter(torch.rand(n_groups, d_in))
        # Large, since the masks shrink the input: the norm needs some variance.
        std = (4 / (n_groups * d_in)) ** 0.25
        self.weight = nn.Parameter(torch.randn(n_groups, 2 * d_out, d_in) * std)
        self.norm = GhostBatchNorm(n_groups * 2 * d_out, n_rows=n_ghost)

    def masks(self) -> Tensor:
        """The weight of each column in each group, (n_groups, d_in); most are zero."""
        return entmax15(self.choice)

    def forward(self, x: Tensor) -> Tensor:
        """Mask, map, gate and sum."""
        # Masking the weights equals masking the columns, without a copy for each group.
        weight = (self.weight * self.masks()[:, None]).flatten(0, 1)
        groups = self.norm(linear(x, weight)).unflatten(1, self.weight.shape[:2])
        gate, value = groups.chunk(2, dim=2)  # (B, n_groups, d_out)
        return (gate.sigmoid() * value).relu().sum(1)


class Block(nn.Module):
    """Two layers on the block's input, plus a shortcut layer on the raw columns."""

    def __init__(
        self, d_raw: int, d_in: int, d: int, *, dropout: float, **sizes: int
    ) -> None:
        super().__init__()
        self.main = nn.Sequential(
            AbstractLayer(d_in, d // 2, **sizes), AbstractLayer(d // 2, d, **sizes)
        )
        self.shortcut = nn.Sequential(
            nn.Dropout(dropout), AbstractLayer(d_raw, d, **sizes)
        )

    def forward(self, raw: Tensor, x: Tensor) -> Tensor:
        """From (B, d_raw) and (B, d_in) to (B, d)."""
        return leaky_relu(self.main(x) + self.shortcut(raw))


class DANet(nn.Module):
    """Blocks, each with a shortcut from the raw columns, then a small MLP."""

    def __init__(
        self,
        shape: TableShape,
        *,
        n_layers: int,
        d_block: int,
        dropout: float,
        n_groups: int,
        n_ghost: int,
    ) -> None:
        super().__init__()
        self.flat = Flat(shape)
        d_raw = self.flat.d_out
        self.blocks = nn.ModuleList(
            Block(
                d_raw,
                d_block if i else d_raw,
                d_block,
                dropout=dropout,
                n_groups=n_groups,
                n_ghost=n_ghost,
            )
            for i in range(n_layers // 2)
        )
        self.head = nn.Sequential(
            nn.Dropout(0.1), mlp_layers(d_block, (256, 512), shape.d_out, dropout=0.0)
        )

    def forward(self, rows: Rows) -> Tensor:
        """Predict each row, (B, d_out)."""
        raw = x = self.flat(rows)
        for block in self.blocks:
            x = block(raw, x)
        return self.head(x)


PEER = Peer(
    name="danets",
    title="DANets",
    paper="Chen et al., 2022",
    source="our implementation: the authors' code is a fork of a framework",
    differs="AdamW instead of QHAdam; the authors' learning rate unless a study asks "
    "for the benchmark's, which is 80 times lower",
    published={"learning_rate": 1e-4},
    make=net_maker("danets", DANet),
    defaults={
        "n_layers": 20,
        "d_block": 64,
        "dropout": 0.1,
        "n_groups": 5,
        "n_ghost": 256,
        "learning_rate": 0.008,
    },
    space={
        "n_layers": Int(6, 32),
        "d_block": Int(64, 128),
        "dropout": Maybe(Float(0.0, 0.5), 0.0),
        "learning_rate": LogFloat(1e-5, 0.1),
        "weight_decay": Maybe(LogFloat(1e-6, 1e-3), 0.0),
    },
)
