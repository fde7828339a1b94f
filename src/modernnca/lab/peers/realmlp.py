"""RealMLP: an MLP with a bag of tricks and meta-tuned defaults."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, embedding_bag, mish, relu, selu

from modernnca._named import named
from modernnca.core.encodings import ENCODINGS, EncodingConfig
from modernnca.core.rows import Rows
from modernnca.core.transforms import Squashed
from modernnca.lab.peers.card import Peer, Report
from modernnca.lab.peers.net_model import NetModel, TableShape, net_maker
from modernnca.lab.peers.supervised import LabeledRows, Supervised
from modernnca.train.loop import Pace
from modernnca.tune.space import Choice, LogFloat

N_ONEHOT = 8  # columns with more levels than this are embedded
D_EMBEDDING = 8
N_FREQUENCIES, D_ENCODING = 16, 4
N_INIT_ROWS = 10_000  # rows for the data-driven initialization

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "selu": selu,
    "mish": mish,
    "relu": relu,
}


def flat_cos(progress: float) -> float:
    """1 in the first half, then a cosine decay to 0.

    >>> flat_cos(0.4), round(flat_cos(0.75), 3), flat_cos(1.0)
    (1.0, 0.5, 0.0)
    """
    return 0.5 + 0.5 * math.cos(math.pi * max(0.0, 2 * progress - 1))


def coslog4(progress: float) -> float:
    """Four cosine cycles from 0 to 1 and back, each twice as long as the previous.

    >>> [round(coslog4(progress), 3) for progress in (0, 1 / 15, 3 / 15, 7 / 15, 1)]
    [0.0, 0.0, 0.0, 0.0, 0.0]
    """
    return 0.5 - 0.5 * math.cos(2 * math.pi * math.log2(1 + 15 * progress))


def scale_rate(parameter: nn.Parameter, factor: float) -> nn.Parameter:
    """Multiply the learning rate and the weight decay of a parameter by `factor`.

    PAPER: in total its decay scales with the square of the factor, as in the authors'
    code.
    """
    parameter.rate_factor = factor  # type: ignore[attr-defined]
    parameter.decay_factor = factor  # type: ignore[attr-defined]
    return parameter


class NTKLinear(nn.Module):
    """x W / sqrt(d_in) + b: NTK parametrization; rates do not depend on the width."""

    def __init__(self, d_in: int, d_out: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(d_in, d_out))
        self.bias = nn.Parameter(torch.zeros(d_out))
        self.bias.rate_factor = 0.1  # type: ignore[attr-defined]

    def forward(self, x: Tensor) -> Tensor:
        """Map (B, d_in) to (B, d_out)."""
        return torch.addmm(
            self.bias, x, self.weight, alpha=self.weight.shape[0] ** -0.5
        )

    def initialize(self, x: Tensor) -> None:
        """Scale each output to a standard deviation of 1 on x (N, d_in), and shift it.

        The bias puts the zero at a random convex combination of five rows.
        """
        out = self(x)
        std = out.std(0, correction=0)
        scale = torch.where(std > 0, 1 / std.clamp_min(1e-12), 1.0)
        self.weight.mul_(scale)
        out = out * scale
        rows = torch.randint(len(x), (5, out.shape[1])).to(x.device)
        weights = -torch.rand(5, out.shape[1]).clamp_min(1e-12).log()
        weights = (weights / weights.sum(0)).to(x.device)
        self.bias.copy_(-(out.gather(0, rows) * weights).sum(0))


class ParametricActivation(nn.Module):
    """x + a (f(x) - x), with a learned `a` for each unit, 1 at first."""

    def __init__(self, f: Callable[[Tensor], Tensor], d: int) -> None:
        super().__init__()
        self.f = f
        self.weight = scale_rate(nn.Parameter(torch.ones(d)), 0.1)

    def forward(self, x: Tensor) -> Tensor:
        """Map (B, d) to (B, d)."""
        return x + self.weight * (self.f(x) - x)


class InputLayer(nn.Module):
    """A row as one vector: encoded numbers, scaled one-hots, embedded categories."""

    onehots: Tensor

    def __init__(
        self, shape: TableShape, *, encoding: str, frequency_scale: float
    ) -> None:
        super().__init__()
        build = named("encoding", encoding, ENCODINGS)
        config = EncodingConfig.defaults().updated(
            {
                "n_frequencies": N_FREQUENCIES,
                "frequency_scale": frequency_scale,
                "d_encoding": D_ENCODING,
            }
        )
        self.encode = build(shape.n_numbers, config)
        for parameter in self.encode.parameters():
            scale_rate(parameter, 0.1)
        onehots = _onehots(shape.levels)
        d_scaled = shape.n_plain + onehots.shape[1]
        self.register_buffer("onehots", onehots)
        self.squash = Squashed(d_scaled)
        self.large = [i for i, n in enumerate(shape.levels) if n > N_ONEHOT]
        self.levels = None
        if self.large:
            self.levels = nn.Embedding(shape.n_levels + 1, D_EMBEDDING)
            with torch.no_grad():
                self.levels.weight[-1] = 0.0  # unknown level
        self.d_out = self.encode.d_out + d_scaled + len(self.large) * D_EMBEDDING

    def initialize(self, rows: Rows) -> None:
        """Fit the robust scaling of plain columns and one-hots."""
        self.squash.prepare(self._unscaled(rows))

    def forward(self, rows: Rows) -> Tensor:
        """Concatenate the parts of each row, (B, d_out)."""
        parts = [self.encode(rows.numbers), self.squash(self._unscaled(rows))]
        if self.levels is not None:
            parts.append(self.levels(rows.codes[:, self.large]).flatten(1))
        return torch.cat(parts, 1)

    def _unscaled(self, rows: Rows) -> Tensor:
        """Plain columns and one-hots."""
        if not self.onehots.shape[1]:
            return rows.plain
        return torch.cat(
            [rows.plain, embedding_bag(rows.codes, self.onehots, mode="sum")], 1
        )


def _onehots(levels: Sequence[int]) -> Tensor:
    """The one-hot vector of each level, (n_levels + 1, d); a row has their sum.

    A binary column is one number, 1 or -1; levels of columns with many have zeros.

    >>> _onehots([2, 9, 3])[[0, 1, 2, 11, 13]].int().tolist()
    [[1, 0, 0, 0], [-1, 0, 0, 0], [0, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 1]]
    """
    parts = []
    for n in levels:
        onehot = torch.eye(n) if n != 2 else torch.tensor([[1.0], [-1.0]])
        parts.append(onehot if n <= N_ONEHOT else torch.zeros(n, 0))
    return torch.block_diag(*parts, torch.zeros(1, 0))


class RealMLP(nn.Module):
    """A learned scale for each input, then blocks of linear, activation and dropout."""

    low: Tensor
    high: Tensor

    def __init__(
        self,
        shape: TableShape,
        *,
        d_layers: Sequence[int],
        activation: str,
        encoding: str,
        frequency_scale: float,
        front_scale: bool,
        dropout: float,
        label_smoothing: float,
    ) -> None:
        super().__init__()
        self.dropout, self.label_smoothing = dropout, label_smoothing
        self.columns = InputLayer(
            shape, encoding=encoding, frequency_scale=frequency_scale
        )
        self.front: nn.Parameter | None = None
        if front_scale:
            self.front = scale_rate(nn.Parameter(torch.ones(self.columns.d_out)), 6.0)
        f = named("activation", activation, ACTIVATIONS)
        self.drop = nn.Dropout(dropout)
        self.layers = nn.ModuleList()
        d_in = self.columns.d_out
        for d_layer in d_layers:
            self.layers += [
                NTKLinear(d_in, d_layer),
                ParametricActivation(f, d_layer),
                self.drop,
            ]
            d_in = d_layer
        self.layers.append(NTKLinear(d_in, shape.d_out))
        self.register_buffer("low", torch.tensor(-torch.inf))
        self.register_buffer("high", torch.tensor(torch.inf))

    @torch.no_grad()
    def initialize(self, train: LabeledRows, generator: torch.Generator) -> None:
        """Initialize scales and weights on the training rows, layer by layer."""
        self.columns.initialize(train.rows)
        if train.y.is_floating_point():
            self.low.copy_(train.y.min())
            self.high.copy_(train.y.max())
        index = torch.randperm(train.n_rows, generator=generator)[:N_INIT_ROWS]
        x = self._front(train.rows.take(index.to(train.y.device)))
        for layer in self.layers:
            if isinstance(layer, NTKLinear):
                layer.initialize(x)
            x = layer(x)

    def forward(self, rows: Rows) -> Tensor:
        """Predict each row; numbers are clipped to the range of those in training."""
        x = self._front(rows)
        for layer in self.layers:
            x = layer(x)
        return x if self.training else x.clamp(self.low, self.high)

    def _front(self, rows: Rows) -> Tensor:
        x = self.columns(rows)
        return x if self.front is None else x * self.front


class RealMLPLearner(Supervised):
    """Label smoothing, with schedules of learning rate, weight decay and dropout."""

    module: RealMLP

    def prepare(self) -> None:
        """Initialize the weights on the training rows."""
        self.module.initialize(self.train, self.generator)

    def pace(self, progress: float) -> Pace:
        """Set the dropout, and return the factors of learning rate and weight decay."""
        self.module.drop.p = self.module.dropout * flat_cos(progress)
        return Pace(rate=coslog4(progress), decay=flat_cos(progress))

    def loss(self, batch: Tensor) -> Tensor:
        """The loss of the rows numbered in `batch`."""
        rows, y = self.take(batch)
        outputs = self.module(rows)
        if y.is_floating_point():
            return self.criterion(outputs, y)
        smoothing = self.module.label_smoothing
        return cross_entropy(outputs, y, label_smoothing=smoothing)


def make(
    task: str, seed: int, *, report: Report | None = None, **settings: Any
) -> NetModel:
    """A model; the default learning rate and activation depend on the task."""
    defaults = {"learning_rate": 0.04, "activation": "selu"}
    if task == "regression":
        defaults = {"learning_rate": 0.2, "activation": "mish"}
    build = net_maker("realmlp", RealMLP, RealMLPLearner)
    return build(task, seed, report=report, **{**defaults, **settings})


PEER = Peer(
    name="realmlp",
    title="RealMLP",
    paper="Holzmüller et al., 2024",
    source="our implementation, checked against the authors' pytabkit 1.7.3, which "
    "brings Lightning and its own training loop",
    make=make,
    defaults={  # for `learning_rate` and `activation` see `make`
        "d_layers": (256, 256, 256),
        "encoding": "pbld",
        "frequency_scale": 0.1,
        "front_scale": True,
        "dropout": 0.15,
        "label_smoothing": 0.1,
        "optimizer": "adamw-95",
        "weight_decay": 0.02,
        "batch_size": 256,
        "max_epochs": 256,
        "patience": 256,
        "numeric_transform": "squashed",
    },
    space={
        "d_layers": Choice(((256, 256, 256), (64, 64, 64, 64, 64), (512,))),
        "activation": Choice(("selu", "mish", "relu")),
        "encoding": Choice(("none", "pbld", "plr")),
        "frequency_scale": LogFloat(0.05, 0.5),
        "front_scale": Choice((True, False)),
        "dropout": Choice((0.0, 0.15, 0.3)),
        "label_smoothing": Choice((0.0, 0.1)),
        "learning_rate": LogFloat(0.02, 0.3),
        "weight_decay": Choice((0.0, 0.02)),
    },
    differs="keeps the last, smaller batch of an epoch; a missing category is a level; "
    "of epochs with equal scores the one with the lower loss is kept",
)
