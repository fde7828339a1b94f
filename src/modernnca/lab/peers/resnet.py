"""ResNet: residual blocks on the encoded columns."""

from torch import Tensor, nn

from modernnca.lab.peers.card import Peer
from modernnca.lab.peers.inputs import Flat
from modernnca.lab.peers.net_model import TableShape, net_maker
from modernnca.tune.space import Float, Int, LogFloat, Maybe


class Block(nn.Module):
    """x + dropout(linear(dropout(relu(linear(norm(x)))))), (B, d) to (B, d)."""

    def __init__(
        self, d: int, d_hidden: int, *, hidden_dropout: float, residual_dropout: float
    ) -> None:
        super().__init__()
        self.change = nn.Sequential(
            nn.BatchNorm1d(d),
            nn.Linear(d, d_hidden),
            nn.ReLU(),
            nn.Dropout(hidden_dropout),
            nn.Linear(d_hidden, d),
            nn.Dropout(residual_dropout),
        )

    def forward(self, x: Tensor) -> Tensor:
        """Add the output of the block to x."""
        return x + self.change(x)


def build(
    shape: TableShape,
    *,
    n_blocks: int,
    d: int,
    hidden_factor: float,
    hidden_dropout: float,
    residual_dropout: float,
) -> nn.Module:
    """Build the network."""
    blocks = [
        Block(
            d,
            int(d * hidden_factor),
            hidden_dropout=hidden_dropout,
            residual_dropout=residual_dropout,
        )
        for _ in range(n_blocks)
    ]
    return nn.Sequential(
        Flat(shape),
        nn.Linear(shape.d_flat, d),
        *blocks,
        nn.BatchNorm1d(d),
        nn.ReLU(),
        nn.Linear(d, shape.d_out),
    )


PEER = Peer(
    name="resnet",
    title="ResNet",
    paper="Gorishniy et al., 2021",
    source="our implementation: a block of a dozen lines, the same as the authors'",
    make=net_maker("resnet", build),
    defaults={
        "n_blocks": 2,
        "d": 192,
        "hidden_factor": 2.0,
        "hidden_dropout": 0.3,
        "residual_dropout": 0.0,
        "learning_rate": 3e-4,
        "batch_size": 256,
    },
    published={"weight_decay": 1e-5},
    differs="batches of 256 and a larger weight decay unless a study asks for the "
    "benchmark's",
    space={
        "n_blocks": Int(1, 8),
        "d": Int(64, 512),
        "hidden_factor": Float(1.0, 4.0),
        "hidden_dropout": Float(0.0, 0.5),
        "residual_dropout": Maybe(Float(0.0, 0.5), 0.0),
        "learning_rate": LogFloat(1e-5, 1e-2),
        "weight_decay": Maybe(LogFloat(1e-6, 1e-3), 0.0),
    },
)
