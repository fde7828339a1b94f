"""TabM: an ensemble of MLPs in one network, which share most of their weights."""

import torch
from torch import Tensor, nn

from modernnca.core.rows import Rows
from modernnca.lab.peers.card import Peer, import_extra
from modernnca.lab.peers.inputs import Flat
from modernnca.lab.peers.net_model import TableShape, net_maker
from modernnca.lab.peers.supervised import Supervised
from modernnca.tune.space import Float, Int, LogFloat, Maybe


class TabM(nn.Module):
    """K members; the prediction is their mean."""

    eval_batch_size = 1024  # every row is repeated K times

    def __init__(
        self,
        shape: TableShape,
        *,
        n_members: int,
        n_blocks: int,
        d_block: int,
        dropout: float,
    ) -> None:
        super().__init__()
        tabm = import_extra("tabm", extra="peers")
        self.n_members = n_members
        self.flat = Flat(shape)
        self.nets = nn.Sequential(
            tabm.EnsembleView(k=n_members),
            tabm.make_tabm_backbone(
                d_in=self.flat.d_out,
                n_blocks=n_blocks,
                d_block=d_block,
                dropout=dropout,
                k=n_members,
                # Members differ at first by the signs of their inputs, one per column.
                start_scaling_init="random-signs",
                start_scaling_init_chunks=[
                    *[1] * (shape.n_numbers + shape.n_plain),
                    *shape.levels,
                ],
            ),
            tabm.LinearEnsemble(d_block, shape.d_out, k=n_members),
        )

    def members(self, rows: Rows) -> Tensor:
        """The output of each member for all rows, (B, K, d_out)."""
        return self.nets(self.flat(rows))

    def members_on_own_rows(self, rows: Rows) -> Tensor:
        """One output per row for B * K rows: row i goes to member i % K, (B, K, V)."""
        return self.nets(self.flat(rows).unflatten(0, (-1, self.n_members)))

    def forward(self, rows: Rows) -> Tensor:
        """The mean of the probabilities, as logits, or of the numbers, (B, d_out)."""
        outputs = self.members(rows)
        if outputs.shape[-1] == 1:
            return outputs.mean(1)
        return outputs.log_softmax(-1).logsumexp(1)  # up to a constant


class TabMLearner(Supervised):
    """Each member has its own loss on its own batch, as if trained separately."""

    module: TabM

    def prepare(self) -> None:
        """Shuffle the rows for each member: all see all rows, in other batches."""
        drawn = torch.rand(self.n_rows, self.module.n_members, generator=self.generator)
        self.orders = drawn.argsort(0).to(self.train.y.device)  # (N, K)

    def loss(self, batch: Tensor) -> Tensor:
        """The mean loss of the members."""
        rows, y = self.train.take(self.orders[batch].flatten())
        return self.criterion(self.module.members_on_own_rows(rows).flatten(0, 1), y)


PEER = Peer(
    name="tabm",
    title="TabM",
    paper="Gorishniy et al., 2025",
    source="the network of the authors' package, with our training; defaults as in "
    "their example and in pytabkit",
    differs="at most 1,000 epochs; the batches of a member are a fixed permutation of "
    "the shared ones",
    extra="peers",
    make=net_maker("tabm", TabM, TabMLearner),
    defaults={
        "n_members": 32,
        "n_blocks": 3,
        "d_block": 512,
        "dropout": 0.1,
        "learning_rate": 2e-3,
        "weight_decay": 0.0,
        "batch_size": 256,
        "max_epochs": 1000,
        "patience": 16,
        "numeric_transform": "quantile",
    },
    space={
        "n_blocks": Int(1, 5),
        "d_block": Int(64, 1024),
        "dropout": Maybe(Float(0.0, 0.5), 0.0),
        "learning_rate": LogFloat(1e-4, 5e-3),
        "weight_decay": Maybe(LogFloat(1e-6, 1e-3), 0.0),
    },
)
