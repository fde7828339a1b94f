"""MLP-PLR: an MLP on numbers with a periodic encoding (PLR)."""

from torch import Tensor, nn

from modernnca.core.encodings import ENCODINGS, EncodingConfig
from modernnca.core.rows import Rows
from modernnca.lab.peers.card import Peer
from modernnca.lab.peers.inputs import Flat
from modernnca.lab.peers.mlp import PEER as MLP
from modernnca.lab.peers.mlp import mlp_layers
from modernnca.lab.peers.net_model import TableShape, net_maker
from modernnca.tune.space import Int, LogFloat


class EncodedInput(nn.Module):
    """PLR-encoded numbers, plain columns and one-hot categories: (B, d_out)."""

    def __init__(
        self,
        shape: TableShape,
        *,
        n_frequencies: int,
        frequency_scale: float,
        d_encoding: int,
    ) -> None:
        super().__init__()
        config = EncodingConfig.defaults().updated(
            {
                "n_frequencies": n_frequencies,
                "frequency_scale": frequency_scale,
                "d_encoding": d_encoding,
            }
        )
        self.encode = ENCODINGS["plr-lite"](shape.n_numbers, config)
        self.flat = Flat(shape)
        self.d_out = self.encode.d_out + shape.n_plain + shape.n_levels

    def forward(self, rows: Rows) -> Tensor:
        """Encode the numbers, and concatenate the parts of each row."""
        return self.flat(rows._replace(numbers=self.encode(rows.numbers)))


def build(
    shape: TableShape,
    *,
    n_layers: int,
    d_layer: int,
    dropout: float,
    n_frequencies: int,
    frequency_scale: float,
    d_encoding: int,
) -> nn.Module:
    """Build the network."""
    encoded = EncodedInput(
        shape,
        n_frequencies=n_frequencies,
        frequency_scale=frequency_scale,
        d_encoding=d_encoding,
    )
    return nn.Sequential(
        encoded, mlp_layers(encoded.d_out, [d_layer] * n_layers, shape.d_out, dropout)
    )


PEER = Peer(
    name="mlp-plr",
    title="MLP-PLR",
    paper="Gorishniy et al., 2022",
    source="our implementation, with ModernNCA's PLR encoding",
    differs="all layers have the same width, 384, where the benchmark's have 510, 263 "
    "and 363; batches of 256 and a smaller learning rate unless a study asks for the "
    "benchmark's",
    published={"learning_rate": 1e-3},
    make=net_maker("mlp-plr", build),
    defaults={
        "n_layers": 3,
        "d_layer": 384,
        "dropout": 0.2,
        "n_frequencies": 77,
        "frequency_scale": 0.0443136,
        "d_encoding": 34,
        "learning_rate": 3e-4,
        "batch_size": 256,
    },
    space={
        **MLP.space,
        "n_frequencies": Int(16, 96),
        "frequency_scale": LogFloat(0.01, 100.0),
        "d_encoding": Int(16, 64),
    },
)
