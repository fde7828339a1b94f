"""RealMLP: an MLP with a bag of tricks and defaults that were tuned on many tables."""

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
from modernnca.lab.peers.supervised import Examples, Supervised
from modernnca.train.loop import Pace
from modernnca.tune.space import Choice, LogFloat

N_ONEHOT = 8  # columns with more levels than this are embedded
D_EMBEDDING = 8
N_FREQUENCIES, D_ENCODING = 16, 4
N_SEEN = 10_000  # rows that the first weights are fitted to

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "selu": selu,
    "mish": mish,
    "relu": relu,
}


def flat_cos(progress: float) -> float:
    """1 in the first half, then down to 0 as half a cosine.

    >>> flat_cos(0.4), round(flat_cos(0.75), 3), flat_cos(1.0)
    (1.0, 0.5, 0.0)
    """
    return 0.5 + 0.5 * math.cos(math.pi * max(0.0, 2 * progress - 1))


def coslog4(progress: float) -> float:
    """Four waves from 0 to 1 and back, each twice as long as the one before.

    >>> [round(coslog4(progress), 3) for progress in (0, 1 / 15, 3 / 15, 7 / 15, 1)]
    [0.0, 0.0, 0.0, 0.0, 0.0]
    """
    return 0.5 - 0.5 * math.cos(2 * math.pi * math.log2(1 + 15 * progress))


def at_rate(parameter: nn.Parameter, factor: float) -> nn.Parameter:
    """Let a parameter learn at its own rate.

    PAPER: it is decayed by the square of the factor in all, as in the authors' code.
    """
    parameter.rate_factor = factor  # type: ignore[attr-defined]
    parameter.decay_factor = factor  # type: ignore[attr-defined]
    return parameter


class Linear(nn.Module):
    """x W / sqrt(d_in) + b: in this parametrization rates need not know the width."""

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

    def prepare(self, x: Tensor) -> None:
        """Give each output a deviation of 1 on x (N, d_in), and a zero within them.

        The zero lies where a random mean of five rows does.
        """
        out = self(x)
        std = out.std(0, correction=0)
        scale = torch.where(std > 0, 1 / std.clamp_min(1e-12), 1.0)
        self.weight.mul_(scale)
        out = out * scale
        rows = torch.randint(len(x), (5, out.shape[1])).to(x.device)
        shares = -torch.rand(5, out.shape[1]).clamp_min(1e-12).log()
        shares = (shares / shares.sum(0)).to(x.device)
        self.bias.copy_(-(out.gather(0, rows) * shares).sum(0))


class Activation(nn.Module):
    """x + a (f(x) - x), with an `a` for each unit, 1 at first."""

    def __init__(self, f: Callable[[Tensor], Tensor], d: int) -> None:
        super().__init__()
        self.f = f
        self.weight = at_rate(nn.Parameter(torch.ones(d)), 0.1)

    def forward(self, x: Tensor) -> Tensor:
        """Bend (B, d)."""
        return x + self.weight * (self.f(x) - x)


class Columns(nn.Module):
    """A row as one vector: encoded numbers, scaled one-hots, embedded categories."""

    onehots: Tensor
    middle: Tensor
    scale: Tensor

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
            at_rate(parameter, 0.1)
        onehots = _onehots(shape.levels)
        d_scaled = shape.n_plain + onehots.shape[1]
        self.register_buffer("onehots", onehots)
        self.squash = Squashed(d_scaled)
        self.large = [i for i, n in enumerate(shape.levels) if n > N_ONEHOT]
        self.levels = None
        if self.large:
            self.levels = nn.Embedding(shape.n_levels + 1, D_EMBEDDING)
            with torch.no_grad():
                self.levels.weight[-1] = 0.0  # none of the known
        self.d_out = self.encode.d_out + d_scaled + len(self.large) * D_EMBEDDING

    def prepare(self, rows: Rows) -> None:
        """Learn to scale what is not a number as numbers were: robustly."""
        self.squash.prepare(self._raw(rows))

    def forward(self, rows: Rows) -> Tensor:
        """Lay the parts of each row side by side, (B, d_out)."""
        parts = [self.encode(rows.numbers), self.squash(self._raw(rows))]
        if self.levels is not None:
            parts.append(self.levels(rows.codes[:, self.large]).flatten(1))
        return torch.cat(parts, 1)

    def _raw(self, rows: Rows) -> Tensor:
        """Plain columns and one-hots, as they are."""
        if not self.onehots.shape[1]:
            return rows.plain
        return torch.cat(
            [rows.plain, embedding_bag(rows.codes, self.onehots, mode="sum")], 1
        )


def _onehots(levels: Sequence[int]) -> Tensor:
    """What each level adds to the one-hots of a row, (n_levels + 1, d).

    Two levels share one number, 1 or -1; the levels of large columns add nothing.

    >>> _onehots([2, 9, 3])[[0, 1, 2, 11, 13]].int().tolist()
    [[1, 0, 0, 0], [-1, 0, 0, 0], [0, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 1]]
    """
    parts = []
    for n in levels:
        own = torch.eye(n) if n != 2 else torch.tensor([[1.0], [-1.0]])
        parts.append(own if n <= N_ONEHOT else torch.zeros(n, 0))
    return torch.block_diag(*parts, torch.zeros(1, 0))


class RealMLP(nn.Module):
    """A scale for each input, then blocks of linear, activation and dropout."""

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
        self.columns = Columns(
            shape, encoding=encoding, frequency_scale=frequency_scale
        )
        self.front: nn.Parameter | None = None
        if front_scale:
            self.front = at_rate(nn.Parameter(torch.ones(self.columns.d_out)), 6.0)
        f = named("activation", activation, ACTIVATIONS)
        self.drop = nn.Dropout(dropout)
        self.layers = nn.ModuleList()
        d_in = self.columns.d_out
        for d_layer in d_layers:
            self.layers += [Linear(d_in, d_layer), Activation(f, d_layer), self.drop]
            d_in = d_layer
        self.layers.append(Linear(d_in, shape.d_out))
        self.register_buffer("low", torch.tensor(-torch.inf))
        self.register_buffer("high", torch.tensor(torch.inf))

    @torch.no_grad()
    def prepare(self, fit: Examples, generator: torch.Generator) -> None:
        """Fit scales and first weights to the training rows, layer by layer."""
        self.columns.prepare(fit.rows)
        if fit.y.is_floating_point():
            self.low.copy_(fit.y.min())
            self.high.copy_(fit.y.max())
        seen = torch.randperm(len(fit), generator=generator)[:N_SEEN]
        x = self._front(fit.rows.take(seen.to(fit.y.device)))
        for layer in self.layers:
            if isinstance(layer, Linear):
                layer.prepare(x)
            x = layer(x)

    def forward(self, rows: Rows) -> Tensor:
        """Answer rows; numbers stay within those of training."""
        x = self._front(rows)
        for layer in self.layers:
            x = layer(x)
        return x if self.training else x.clamp(self.low, self.high)

    def _front(self, rows: Rows) -> Tensor:
        x = self.columns(rows)
        return x if self.front is None else x * self.front


class Scheduled(Supervised):
    """Learn with smoothed labels, while rate, decay and dropout come and go."""

    module: RealMLP

    def begin(self) -> None:
        """Fit the first weights to the rows."""
        self.module.prepare(self.fit, self.generator)

    def pace(self, progress: float) -> Pace:
        """Set the dropout, and say the pace."""
        self.module.drop.p = self.module.dropout * flat_cos(progress)
        return Pace(rate=coslog4(progress), decay=flat_cos(progress))

    def loss(self, batch: Tensor) -> Tensor:
        """The loss of the rows numbered in `batch`."""
        rows, y = self.examples(batch)
        answers = self.module(rows)
        if y.is_floating_point():
            return self.criterion(answers, y)
        smoothing = self.module.label_smoothing
        return cross_entropy(answers, y, label_smoothing=smoothing)


def make(
    task: str, seed: int, *, report: Report | None = None, **settings: Any
) -> NetModel:
    """A model; rate and activation depend on the task where they are not given."""
    own = {"learning_rate": 0.04, "activation": "selu"}
    if task == "regression":
        own = {"learning_rate": 0.2, "activation": "mish"}
    build = net_maker("realmlp", RealMLP, Scheduled)
    return build(task, seed, report=report, **{**own, **settings})


PEER = Peer(
    name="realmlp",
    title="RealMLP",
    paper="Holzmüller et al., 2024",
    source="written here, held to the authors' pytabkit 1.7.3, which brings Lightning "
    "and a loop of its own",
    make=make,
    defaults={  # beside `learning_rate` and `activation`, see `make`
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
    differs="the last rows of an epoch are used even if they are few; a gap among "
    "categories is a level; of equal epochs the one with the lower loss is kept",
)
