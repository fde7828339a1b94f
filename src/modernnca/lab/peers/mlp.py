"""MLP: linear layers, ReLU and dropout on the encoded columns."""

from collections.abc import Sequence

from torch import nn

from modernnca.lab.peers.card import Peer
from modernnca.lab.peers.inputs import Flat
from modernnca.lab.peers.net_model import TableShape, net_maker
from modernnca.tune.space import Float, Int, LogFloat, Maybe


def mlp_layers(
    d_in: int, d_layers: Sequence[int], d_out: int, dropout: float
) -> nn.Module:
    """Linear, ReLU and dropout for each width, and a last linear layer."""
    parts: list[nn.Module] = []
    for d_layer in d_layers:
        parts += [nn.Linear(d_in, d_layer), nn.ReLU(), nn.Dropout(dropout)]
        d_in = d_layer
    return nn.Sequential(*parts, nn.Linear(d_in, d_out))


def build(
    shape: TableShape, *, n_layers: int, d_layer: int, dropout: float
) -> nn.Module:
    """Build the network."""
    flat = Flat(shape)
    return nn.Sequential(
        flat, mlp_layers(flat.d_out, [d_layer] * n_layers, shape.d_out, dropout)
    )


PEER = Peer(
    name="mlp",
    title="MLP",
    paper="Gorishniy et al., 2021",
    source="our implementation: a dozen lines",
    make=net_maker("mlp", build),
    defaults={
        "n_layers": 2,
        "d_layer": 384,
        "dropout": 0.1,
        "learning_rate": 3e-4,
        "batch_size": 256,
    },
    published={"weight_decay": 1e-5},
    differs="batches of 256 and a larger weight decay unless a study asks for the "
    "benchmark's",
    space={
        "n_layers": Int(1, 8),
        "d_layer": Int(64, 512),
        "dropout": Maybe(Float(0.0, 0.5), 0.0),
        "learning_rate": LogFloat(1e-5, 1e-2),
        "weight_decay": Maybe(LogFloat(1e-6, 1e-3), 0.0),
    },
)
