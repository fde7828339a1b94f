"""TabM: many plain nets in one, which share weights but for a few of each one's own."""

from torch import Tensor, nn

from modernnca.core.rows import Rows
from modernnca.peers.base import Peer, imported
from modernnca.peers.mlp_plr import Encoded
from modernnca.peers.net import TableShape, net_maker
from modernnca.train.supervised import Supervised
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
        n_frequencies: int,
        frequency_scale: float,
        d_encoding: int,
    ) -> None:
        super().__init__()
        tabm = imported("tabm", extra="peers")
        self.encoded = Encoded(
            shape,
            n_frequencies=n_frequencies,
            frequency_scale=frequency_scale,
            d_encoding=d_encoding,
        )
        self.nets = nn.Sequential(
            tabm.EnsembleView(k=n_members),
            tabm.make_tabm_backbone(
                d_in=self.encoded.d_out,
                n_blocks=n_blocks,
                d_block=d_block,
                dropout=dropout,
                k=n_members,
                # Members begin with scales of their own, one for each column.
                start_scaling_init="normal" if shape.n_numbers else "random-signs",
                start_scaling_init_chunks=self.encoded.widths,
            ),
            tabm.LinearEnsemble(d_block, shape.d_out, k=n_members),
        )

    def members(self, rows: Rows) -> Tensor:
        """The answer of each member, (B, K, d_out)."""
        return self.nets(self.encoded(rows))

    def forward(self, rows: Rows) -> Tensor:
        """The mean of probabilities, as logits, or of numbers, (B, d_out)."""
        answers = self.members(rows)
        if answers.shape[-1] == 1:
            return answers.mean(1)
        return answers.log_softmax(-1).logsumexp(1)  # up to a constant


class EachMember(Supervised):
    """The loss of each member by itself: they are many nets, not one."""

    module: TabM

    def loss(self, batch: Tensor) -> Tensor:
        """The mean loss of the members."""
        rows, y = self.examples(batch)
        answers = self.module.members(rows)
        n_members = answers.shape[1]
        return self.criterion(answers.flatten(0, 1), y.repeat_interleave(n_members))


PEER = Peer(
    name="tabm",
    title="TabM",
    paper="Gorishniy et al., 2025",
    source="the members are the authors' package's; encoding and training are ours",
    differs="numbers encoded by PLR, members learn from the same batches",
    extra="peers",
    make=net_maker("tabm", TabM, EachMember),
    defaults={
        "n_members": 32,
        "n_blocks": 2,
        "d_block": 512,
        "dropout": 0.1,
        "n_frequencies": 77,
        "frequency_scale": 0.0443136,
        "d_encoding": 34,
        "learning_rate": 2e-3,
        "weight_decay": 3e-4,
    },
    space={
        "n_blocks": Int(1, 5),
        "d_block": Int(64, 1024),
        "dropout": Maybe(Float(0.0, 0.5), 0.0),
        "n_frequencies": Int(16, 96),
        "frequency_scale": LogFloat(0.005, 10.0),
        "d_encoding": Int(16, 64),
        "learning_rate": LogFloat(1e-4, 5e-3),
        "weight_decay": Maybe(LogFloat(1e-6, 1e-3), 0.0),
    },
)
