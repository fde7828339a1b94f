"""TabM: many plain nets in one, which share weights but for a few of each one's own."""

import torch
from torch import Tensor, nn

from modernnca.core.rows import Rows
from modernnca.lab.peers.card import Peer, import_extra
from modernnca.lab.peers.inputs import Flat
from modernnca.lab.peers.net_model import TableShape, net_maker
from modernnca.lab.peers.supervised import Supervised
from modernnca.tune.space import Float, Int, LogFloat, Maybe


class TabM(nn.Module):
    """K members, each with an answer; together they answer with the mean."""

    n_at_once = 1024  # every row is there K times

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
                # Members begin apart by the signs of their inputs, column by column.
                start_scaling_init="random-signs",
                start_scaling_init_chunks=[
                    *[1] * (shape.n_numbers + shape.n_plain),
                    *shape.levels,
                ],
            ),
            tabm.LinearEnsemble(d_block, shape.d_out, k=n_members),
        )

    def members(self, rows: Rows) -> Tensor:
        """The answer of each member to all rows, (B, K, d_out)."""
        return self.nets(self.flat(rows))

    def each_its_own(self, rows: Rows) -> Tensor:
        """Of B * K rows the first K ask the members in turn, and so on: (B, K, V)."""
        return self.nets(self.flat(rows).unflatten(0, (-1, self.n_members)))

    def forward(self, rows: Rows) -> Tensor:
        """The mean of probabilities, as logits, or of numbers, (B, d_out)."""
        answers = self.members(rows)
        if answers.shape[-1] == 1:
            return answers.mean(1)
        return answers.log_softmax(-1).logsumexp(1)  # up to a constant


class EachMember(Supervised):
    """The loss of each member by itself, on a batch of its own: many nets, not one."""

    module: TabM

    def begin(self) -> None:
        """Draw an order of the rows for each member: all see all, in other company."""
        drawn = torch.rand(self.n_rows, self.module.n_members, generator=self.generator)
        self.orders = drawn.argsort(0).to(self.fit.y.device)  # (N, K)

    def loss(self, batch: Tensor) -> Tensor:
        """The mean loss of the members."""
        rows, y = self.fit.take(self.orders[batch].flatten())
        return self.criterion(self.module.each_its_own(rows).flatten(0, 1), y)


PEER = Peer(
    name="tabm",
    title="TabM",
    paper="Gorishniy et al., 2025",
    source="the members are the authors' package's, the training is ours; defaults as "
    "in their example and in pytabkit",
    differs="at most 1,000 epochs; a member's batches are a fixed shuffling of the "
    "common ones",
    extra="peers",
    make=net_maker("tabm", TabM, EachMember),
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
