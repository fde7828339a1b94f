"""DANets: layers that pick groups of columns and abstract each group to new ones."""

import torch
from torch import Tensor, nn
from torch.nn.functional import leaky_relu, linear

from modernnca.core.rows import Rows
from modernnca.lab.peers.card import Peer
from modernnca.lab.peers.ghost import GhostBatchNorm
from modernnca.lab.peers.inputs import Flat
from modernnca.lab.peers.mlp import layers
from modernnca.lab.peers.net_model import TableShape, net_maker
from modernnca.lab.peers.sparse import entmax15
from modernnca.tune.space import Float, Int, LogFloat, Maybe


class AbstractLayer(nn.Module):
    """Some groups of columns, each abstracted by its own gated layer, summed.

    A group is a sparse mask over the columns, and it is learned. (B, d_in) to (B,
    d_out).

    >>> AbstractLayer(4, 3, n_groups=2, n_ghost=256)(torch.rand(5, 4)).shape
    torch.Size([5, 3])
    """

    def __init__(self, d_in: int, d_out: int, *, n_groups: int, n_ghost: int) -> None:
        super().__init__()
        self.choice = nn.Parameter(torch.rand(n_groups, d_in))
        # Large, since the masks shrink what comes in: the norm must not see nothing.
        std = (4 / (n_groups * d_in)) ** 0.25
        self.weight = nn.Parameter(torch.randn(n_groups, 2 * d_out, d_in) * std)
        self.norm = GhostBatchNorm(n_groups * 2 * d_out, n_rows=n_ghost)

    def masks(self) -> Tensor:
        """The share of each column in each group, (n_groups, d_in); most are zero."""
        return entmax15(self.choice)

    def forward(self, x: Tensor) -> Tensor:
        """Mask, abstract, gate, sum."""
        # A mask on the columns is one on the weights: no copy of the rows per group.
        weight = (self.weight * self.masks()[:, None]).flatten(0, 1)
        groups = self.norm(linear(x, weight)).unflatten(1, self.weight.shape[:2])
        gate, value = groups.chunk(2, dim=2)  # (B, n_groups, d_out)
        return (gate.sigmoid() * value).relu().sum(1)


class Block(nn.Module):
    """Two layers on what came before, and one on the raw columns beside them."""

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
    """Blocks, each with the raw columns at hand, and a small MLP at the end."""

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
            nn.Dropout(0.1), layers(d_block, (256, 512), shape.d_out, dropout=0.0)
        )

    def forward(self, rows: Rows) -> Tensor:
        """Answer the rows: (B, d_out)."""
        raw = x = self.flat(rows)
        for block in self.blocks:
            x = block(raw, x)
        return self.head(x)


PEER = Peer(
    name="danets",
    title="DANets",
    paper="Chen et al., 2022",
    source="written here: the authors' code is a fork of a framework",
    differs="AdamW for QHAdam, at the authors' rate",
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
