"""ExcelFormer: columns in the order of what they tell, each hearing those before it."""

import math
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import one_hot

from modernnca._named import named
from modernnca.core.rows import Rows
from modernnca.lab.peers.attention import (
    Attention,
    Gated,
    Layer,
    in_parts,
    rows_at_once,
)
from modernnca.lab.peers.card import Peer
from modernnca.lab.peers.information import informations
from modernnca.lab.peers.inputs import Tokens
from modernnca.lab.peers.net_model import TableShape, net_maker
from modernnca.lab.peers.supervised import Supervised
from modernnca.tune.space import Choice, Float, Int, LogFloat, Maybe


class Mixed(NamedTuple):
    """Tokens of rows that were mixed with those of others."""

    tokens: Tensor  # (B, T, d)
    own: Tensor  # (B,) the share of each row that is its own
    other: Tensor  # (B,) the row that the rest is of


def mix_none(tokens: Tensor, share: Tensor) -> Mixed:
    """Leave every row as it is."""
    own = torch.ones(len(tokens), device=tokens.device)
    return Mixed(tokens, own, torch.arange(len(tokens), device=tokens.device))


def mix_feat(tokens: Tensor, share: Tensor) -> Mixed:
    """Take some columns of another row: Feat-Mix.

    What is left of a row is what its own columns tell, `share` (T,), not their number.
    """
    rate, other = _draw(tokens)
    keep = torch.rand(tokens.shape[:2], device=tokens.device) < rate[:, None]
    own = keep.to(share.dtype) @ share
    return Mixed(torch.where(keep[:, :, None], tokens, tokens[other]), own, other)


def mix_hidden(tokens: Tensor, share: Tensor) -> Mixed:
    """Take some of the d numbers of every token of another row: Hidden-Mix."""
    rate, other = _draw(tokens)
    n_rows, _, d_token = tokens.shape
    keep = torch.rand(n_rows, 1, d_token, device=tokens.device) < rate[:, None, None]
    return Mixed(torch.where(keep, tokens, tokens[other]), rate, other)


def _draw(tokens: Tensor) -> tuple[Tensor, Tensor]:
    """How much each row keeps, of the Beta(1/2, 1/2) law, and another row for each."""
    n_rows = len(tokens)
    angles = torch.rand(n_rows, device=tokens.device) * (math.pi / 2)
    return angles.sin().square(), torch.randperm(n_rows, device=tokens.device)


MIXES: dict[str, Callable[[Tensor, Tensor], Mixed]] = {
    "none": mix_none,
    "feat": mix_feat,
    "hidden": mix_hidden,
}


class ExcelFormer(nn.Module):
    """Gated tokens in order, semi-permeable attention, and an output in two stages."""

    order: Tensor
    share: Tensor

    def __init__(
        self,
        shape: TableShape,
        *,
        n_layers: int,
        d_token: int,
        n_heads: int,
        attention_dropout: float,
        ffn_dropout: float,
        residual_dropout: float,
        mix: str,
        init_scale: float = 0.01,
    ) -> None:
        super().__init__()
        self.mix, self.d_out = named("mix", mix, MIXES), shape.d_out
        self.signal = Tokens(shape, d_token=d_token)
        self.gate = Tokens(shape, d_token=d_token)
        n_tokens = self.signal.n_tokens
        # Learned from the training rows: the columns from the most telling on, and the
        # share of what all tell, in that order.
        self.register_buffer("order", torch.arange(n_tokens))
        self.register_buffer("share", torch.full((n_tokens,), 1 / n_tokens))

        def layer(first: bool) -> Layer:
            attention = Attention(d_token, n_heads=n_heads, dropout=attention_dropout)
            wide = nn.Linear(d_token, 2 * d_token)
            for linear in (attention.asks, attention.tells, wide):
                _attenuate(linear, init_scale)
            alone = nn.Sequential(wide, Gated(torch.tanh), nn.Dropout(ffn_dropout))
            return Layer(
                d_token, attention, alone, dropout=residual_dropout, first=first
            )

        self.layers = nn.ModuleList(layer(i == 0) for i in range(n_layers))
        self.gather = nn.Linear(n_tokens, 1)  # the columns to one
        self.head = nn.Sequential(
            nn.LayerNorm(d_token), nn.PReLU(), nn.Linear(d_token, shape.d_out)
        )
        self.n_at_once = rows_at_once(n_tokens, d_token=d_token, n_layers=n_layers)

    def forward(self, rows: Rows) -> Tensor:
        """Answer the rows."""
        return self.answer(self.tokens(rows))

    def tokens(self, rows: Rows) -> Tensor:
        """The tokens of the columns in order, (B, T, d)."""
        return (self.signal(rows) * self.gate(rows).tanh())[:, self.order]

    def answer(self, tokens: Tensor) -> Tensor:
        """Answer by tokens in order: (B, T, d) to (B, d_out)."""
        return in_parts(self._answer, tokens, self.n_at_once)

    def _answer(self, tokens: Tensor) -> Tensor:
        for layer in self.layers:
            tokens = layer(tokens, causal=True)
        return self.head(self.gather(tokens.transpose(1, 2)).squeeze(2))


def _attenuate(linear: nn.Linear, scale: float) -> None:
    """Begin with small weights, so that columns begin almost alone."""
    with torch.no_grad():
        linear.weight.mul_(scale)
        linear.bias.zero_()


class MixLearner(Supervised):
    """Learns the order of the columns first, and by mixed rows where asked for."""

    module: ExcelFormer

    def begin(self) -> None:
        """Order the columns by what they tell of the target."""
        told = informations(self.fit)
        self.module.order = told.argsort(descending=True, stable=True)
        told = told[self.module.order] + 1e-9  # where none tells anything, all share
        self.module.share = told / told.sum()

    def loss(self, batch: Tensor) -> Tensor:
        """The loss of mixed rows, each with its own shares of two targets."""
        rows, y = self.examples(batch)
        mixed = self.module.mix(self.module.tokens(rows), self.module.share)
        if y.is_floating_point():
            goal, own = y, mixed.own
        else:  # cross-entropy is linear in the shares of the classes
            goal, own = one_hot(y, self.module.d_out).float(), mixed.own[:, None]
        goal = own * goal + (1 - own) * goal[mixed.other]
        return self.criterion(self.module.answer(mixed.tokens), goal)


PEER = Peer(
    name="excelformer",
    title="ExcelFormer",
    paper="Chen et al., 2024",
    source="written here: the authors' code is a program, not a package",
    differs=(
        "levels of categories have tokens of their own, where the original encodes "
        "them by the target; mutual information by counts in bins, where the original "
        "uses neighbors; attention is dropped by token, not by pair of tokens"
    ),
    make=net_maker("excelformer", ExcelFormer, MixLearner),
    defaults={
        "n_layers": 3,
        "d_token": 256,
        "n_heads": 32,
        "attention_dropout": 0.3,
        "ffn_dropout": 0.0,
        "residual_dropout": 0.0,
        "mix": "none",
        "learning_rate": 1e-4,
        "weight_decay": 0.0,
        "batch_size": 256,
    },
    space={
        "n_layers": Int(2, 5),
        "d_token": Choice((8, 16, 32, 64, 128)),
        "n_heads": Choice((8,)),  # 32, as in the defaults, do not divide all of these
        "attention_dropout": Float(0.0, 0.5),
        "ffn_dropout": Float(0.0, 0.5),
        "residual_dropout": Maybe(Float(0.0, 0.5), 0.0),
        "mix": Choice(("none", "feat", "hidden")),
        "learning_rate": LogFloat(1e-5, 1e-3),
        "weight_decay": LogFloat(1e-6, 1e-3),
    },
)
