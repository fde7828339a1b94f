"""MLP-PLR: plain layers on columns of which the numbers are encoded by waves."""

from torch import Tensor, nn

from modernnca._named import named
from modernnca.core.encodings import ENCODINGS, EncodingConfig
from modernnca.core.rows import Rows
from modernnca.lab.peers.card import Peer
from modernnca.lab.peers.inputs import Flat
from modernnca.lab.peers.mlp import layers
from modernnca.lab.peers.net_model import TableShape, net_maker
from modernnca.tune.space import Float, Int, LogFloat, Maybe


class Encoded(nn.Module):
    """Encoded numbers, plain columns and one-hot categories side by side: (B, d_out).

    Attributes:
        widths: how many numbers each column became, in their order.
    """

    def __init__(
        self,
        shape: TableShape,
        *,
        encoding: str = "plr-lite",
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
        build = named("encoding", encoding, ENCODINGS)
        self.encode = build(shape.n_numbers, config)
        self.flat = Flat(shape)
        d_number = self.encode.d_out // max(1, shape.n_numbers)
        numbers, plain = [d_number] * shape.n_numbers, [1] * shape.n_plain
        self.widths = [*numbers, *plain, *shape.levels]
        self.d_out = sum(self.widths)

    def forward(self, rows: Rows) -> Tensor:
        """Encode the numbers, and lay the parts of each row side by side."""
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
    """Build the net."""
    encoded = Encoded(
        shape,
        n_frequencies=n_frequencies,
        frequency_scale=frequency_scale,
        d_encoding=d_encoding,
    )
    return nn.Sequential(
        encoded, layers(encoded.d_out, [d_layer] * n_layers, shape.d_out, dropout)
    )


PEER = Peer(
    name="mlp-plr",
    title="MLP-PLR",
    paper="Gorishniy et al., 2022",
    source="written here, on the encoding that ModernNCA has too",
    differs="layers of one width",
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
        "n_layers": Int(1, 8),
        "d_layer": Int(64, 512),
        "dropout": Maybe(Float(0.0, 0.5), 0.0),
        "n_frequencies": Int(16, 96),
        "frequency_scale": LogFloat(0.01, 100.0),
        "d_encoding": Int(16, 64),
        "learning_rate": LogFloat(1e-5, 1e-2),
        "weight_decay": Maybe(LogFloat(1e-6, 1e-3), 0.0),
    },
)
