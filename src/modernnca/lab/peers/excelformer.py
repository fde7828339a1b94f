"""ExcelFormer: columns attend only to more informative ones."""

import math
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import one_hot

from modernnca._named import named
from modernnca.core.rows import Rows
from modernnca.lab.peers.attention import (
    GLU,
    Attention,
    TransformerLayer,
    in_chunks,
    rows_per_chunk,
)
from modernnca.lab.peers.card import Peer
from modernnca.lab.peers.inputs import FeatureTokenizer
from modernnca.lab.peers.mutual_information import column_information
from modernnca.lab.peers.net_model import TableShape, net_maker
from modernnca.lab.peers.supervised import Supervised
from modernnca.tune.space import Choice, Float, Int, LogFloat, Maybe


class Mixed(NamedTuple):
    """Tokens of rows, each mixed with those of a partner row."""

    tokens: Tensor  # (B, T, d)
    weight: Tensor  # (B,) the weight of each row's own target
    partner: Tensor  # (B,) the index of the partner


def mix_none(tokens: Tensor, importance: Tensor) -> Mixed:
    """Do not mix."""
    weight = torch.ones(len(tokens), device=tokens.device)
    return Mixed(tokens, weight, torch.arange(len(tokens), device=tokens.device))


def mix_feat(tokens: Tensor, importance: Tensor) -> Mixed:
    """Feat-Mix: take some columns from the partner.

    The weight of a row is the `importance` (T,) of the columns it keeps.
    """
    rate, partner = _draw(tokens)
    keep = torch.rand(tokens.shape[:2], device=tokens.device) < rate[:, None]
    weight = keep.to(importance.dtype) @ importance
    mixed = torch.where(keep[:, :, None], tokens, tokens[partner])
    return Mixed(mixed, weight, partner)


def mix_hidden(tokens: Tensor, importance: Tensor) -> Mixed:
    """Hidden-Mix: take some of the d dimensions of every token from the partner."""
    rate, partner = _draw(tokens)
    n_rows, _, d_token = tokens.shape
    keep = torch.rand(n_rows, 1, d_token, device=tokens.device) < rate[:, None, None]
    return Mixed(torch.where(keep, tokens, tokens[partner]), rate, partner)


def _draw(tokens: Tensor) -> tuple[Tensor, Tensor]:
    """The rate that each row keeps, from Beta(1/2, 1/2), and a partner for each row."""
    n_rows = len(tokens)
    angles = torch.rand(n_rows, device=tokens.device) * (math.pi / 2)
    return angles.sin().square(), torch.randperm(n_rows, device=tokens.device)


MIXES: dict[str, Callable[[Tensor, Tensor], Mixed]] = {
    "none": mix_none,
    "feat": mix_feat,
    "hidden": mix_hidden,
}


class ExcelFormer(nn.Module):
    """Gated tokens in order, semi-permeable attention, and a two-stage output."""

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
        self.signal = FeatureTokenizer(shape, d_token=d_token)
        self.gate = FeatureTokenizer(shape, d_token=d_token)
        n_tokens = self.signal.n_tokens
        # Learned from the training rows: the columns by decreasing mutual information
        # with the target, and the share of each in the total, in that order.
        self.register_buffer("order", torch.arange(n_tokens))
        self.register_buffer("share", torch.full((n_tokens,), 1 / n_tokens))

        def layer(first: bool) -> TransformerLayer:
            attention = Attention(d_token, n_heads=n_heads, dropout=attention_dropout)
            hidden = nn.Linear(d_token, 2 * d_token)
            for linear in (attention.query, attention.key_value, hidden):
                _attenuate(linear, init_scale)
            ffn = nn.Sequential(hidden, GLU(torch.tanh), nn.Dropout(ffn_dropout))
            return TransformerLayer(
                d_token, attention, ffn, dropout=residual_dropout, first=first
            )

        self.layers = nn.ModuleList(layer(i == 0) for i in range(n_layers))
        self.gather = nn.Linear(n_tokens, 1)  # over the columns
        self.head = nn.Sequential(
            nn.LayerNorm(d_token), nn.PReLU(), nn.Linear(d_token, shape.d_out)
        )
        self.eval_batch_size = rows_per_chunk(
            n_tokens, d_token=d_token, n_layers=n_layers
        )

    def forward(self, rows: Rows) -> Tensor:
        """Predict each row, (B, d_out)."""
        return self.forward_tokens(self.tokens(rows))

    def tokens(self, rows: Rows) -> Tensor:
        """The gated tokens of the columns in order, (B, T, d)."""
        return (self.signal(rows) * self.gate(rows).tanh())[:, self.order]

    def forward_tokens(self, tokens: Tensor) -> Tensor:
        """Predict from tokens in order: (B, T, d) to (B, d_out)."""
        return in_chunks(self._forward_chunk, tokens, self.eval_batch_size)

    def _forward_chunk(self, tokens: Tensor) -> Tensor:
        for layer in self.layers:
            tokens = layer(tokens, causal=True)
        return self.head(self.gather(tokens.transpose(1, 2)).squeeze(2))


def _attenuate(linear: nn.Linear, scale: float) -> None:
    """Start with small weights, so that columns hardly interact at first."""
    with torch.no_grad():
        linear.weight.mul_(scale)
        linear.bias.zero_()


class ExcelFormerLearner(Supervised):
    """Order the columns first; then train on mixed rows, if set."""

    module: ExcelFormer

    def prepare(self) -> None:
        """Order the columns by their mutual information with the target."""
        information = column_information(self.train)
        self.module.order = information.argsort(descending=True, stable=True)
        # If no column is informative, all have equal shares.
        information = information[self.module.order] + 1e-9
        self.module.share = information / information.sum()

    def loss(self, batch: Tensor) -> Tensor:
        """The loss of mixed rows, each with its own mixture of two targets."""
        rows, y = self.take(batch)
        mixed = self.module.mix(self.module.tokens(rows), self.module.share)
        if y.is_floating_point():
            target, weight = y, mixed.weight
        else:  # cross-entropy is linear in the class probabilities
            target = one_hot(y, self.module.d_out).float()
            weight = mixed.weight[:, None]
        target = weight * target + (1 - weight) * target[mixed.partner]
        return self.criterion(self.module.forward_tokens(mixed.tokens), target)


PEER = Peer(
    name="excelformer",
    title="ExcelFormer",
    paper="Chen et al., 2024",
    source="our implementation: the authors' code is a program, not a package",
    differs=(
        "each level of a category has an embedding, where the original uses target "
        "encoding; mutual information is estimated from bins, where the original uses "
        "nearest neighbors; attention dropout drops tokens, not pairs of tokens; "
        "batches of 256 unless a study asks for the benchmark's"
    ),
    make=net_maker("excelformer", ExcelFormer, ExcelFormerLearner),
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
        "n_heads": Choice((8,)),  # the default, 32, does not divide all of these
        "attention_dropout": Float(0.0, 0.5),
        "ffn_dropout": Float(0.0, 0.5),
        "residual_dropout": Maybe(Float(0.0, 0.5), 0.0),
        "mix": Choice(("none", "feat", "hidden")),
        "learning_rate": LogFloat(1e-5, 1e-3),
        "weight_decay": LogFloat(1e-6, 1e-3),
    },
)
