"""SAINT: attention between the columns of a row, then between the rows of a batch."""

from dataclasses import replace

import torch
from torch import Tensor, nn
from torch.nn.functional import gelu

from modernnca._named import named
from modernnca.core.rows import Rows
from modernnca.lab.peers.attention import (
    Attention,
    TransformerLayer,
    feed_forward,
    in_chunks,
    rows_per_chunk,
)
from modernnca.lab.peers.card import Peer
from modernnca.lab.peers.context_rows import ContextLearner, ContextRows
from modernnca.lab.peers.inputs import FeatureTokenizer
from modernnca.lab.peers.net_model import TableShape, net_maker
from modernnca.tune.space import Choice, Float, LogFloat, Maybe

# What a block attends over, in this order: the columns of a row, the rows of a batch.
ATTENTION_AXES = {"colrow": ("columns", "rows"), "col": ("columns",), "row": ("rows",)}

_WIDE_TABLE = 100  # with more tokens, tokens are small, as in the authors' code
_WIDE_TABLE_D_TOKEN = 8
_MAX_FFN_WEIGHTS = 2**23  # in one matrix of the feed-forward network over rows


class NumberTokenizer(nn.Module):
    """A small MLP for each column: (B, P + Q) numbers to (B, P + Q, d) tokens."""

    def __init__(self, shape: TableShape, *, d_token: int, d_hidden: int = 100) -> None:
        super().__init__()
        self.hidden = FeatureTokenizer(replace(shape, levels=()), d_token=d_hidden)
        bound = d_hidden**-0.5
        n_tokens = self.hidden.n_tokens
        self.weight = nn.Parameter(
            torch.empty(n_tokens, d_hidden, d_token).uniform_(-bound, bound)
        )
        self.bias = nn.Parameter(torch.zeros(n_tokens, 1, d_token))

    def forward(self, rows: Rows) -> Tensor:
        """The tokens of the numbers of each row."""
        hidden = self.hidden(rows).relu().transpose(0, 1)  # (P + Q, B, h)
        return torch.baddbmm(self.bias, hidden, self.weight).transpose(0, 1)


class SAINT(nn.Module):
    """Blocks of attention over columns and over rows; the head reads [CLS]."""

    eval_batch_size = 1024  # bounds the attention mask over rows and context

    def __init__(
        self,
        shape: TableShape,
        *,
        looks: str,
        n_blocks: int,
        d_token: int,
        n_heads: int,
        attention_dropout: float,
        ffn_dropout: float,
        n_mates: int,
    ) -> None:
        super().__init__()
        n_numbers = shape.n_numbers + shape.n_plain
        n_tokens = n_numbers + len(shape.levels) + 1
        if n_tokens > _WIDE_TABLE:
            d_token = min(d_token, _WIDE_TABLE_D_TOKEN)
        self.context = ContextRows(shape, n_mates)
        self.cls = nn.Parameter(torch.randn(d_token))
        self.numbers = NumberTokenizer(shape, d_token=d_token) if n_numbers else None
        self.levels = (
            nn.Embedding(shape.n_levels + 1, d_token) if shape.n_levels else None
        )

        def column_layer() -> TransformerLayer:
            attention = Attention(
                d_token, n_heads=n_heads, d_head=16, dropout=attention_dropout
            )
            ffn = feed_forward(d_token, 4 * d_token, gelu, ffn_dropout)
            return TransformerLayer(d_token, attention, ffn)

        def row_layer() -> TransformerLayer:
            d_row = n_tokens * d_token
            attention = Attention(
                d_row, n_heads=n_heads, d_head=64, dropout=attention_dropout
            )
            d_hidden = min(4 * d_row, max(64, _MAX_FFN_WEIGHTS // d_row))
            ffn = feed_forward(d_row, d_hidden, gelu, ffn_dropout)
            return TransformerLayer(d_row, attention, ffn)

        layers = {"columns": column_layer, "rows": row_layer}
        self.axes = named("attention of SAINT", looks, ATTENTION_AXES) * n_blocks
        self.layers = nn.ModuleList(layers[axis]() for axis in self.axes)
        self.chunk_size = rows_per_chunk(n_tokens, d_token=d_token, n_layers=n_blocks)
        self.head = nn.Sequential(
            nn.LayerNorm(d_token),
            nn.Linear(d_token, 1000),
            nn.ReLU(),
            nn.Linear(1000, shape.d_out),
        )

    def forward(self, rows: Rows) -> Tensor:
        """Predict each row, (B, d_out); in inference, next to the context rows."""
        n_rows = rows.n_rows
        rows, mask = self.context(rows)
        tokens = self._tokens(rows)  # (M + B, T, d)
        for axis, layer in zip(self.axes, self.layers, strict=True):
            if axis == "columns":
                tokens = in_chunks(layer, tokens, self.chunk_size)
            else:  # a row is one long token
                flat = layer(tokens.flatten(1)[None], mask=mask)
                tokens = flat.view_as(tokens)
        return self.head(tokens[-n_rows:, 0])

    def _tokens(self, rows: Rows) -> Tensor:
        tokens = [self.cls.expand(len(rows.numbers), 1, -1)]
        if self.levels is not None:
            tokens.append(self.levels(rows.codes))
        if self.numbers is not None:
            tokens.append(self.numbers(rows))
        return torch.cat(tokens, 1)


PEER = Peer(
    name="saint",
    title="SAINT",
    paper="Somepalli et al., 2021",
    source="our implementation: the authors' code is a program, not a package",
    differs=(
        "a row is predicted next to a fixed sample of training rows, so that its "
        "prediction does not depend on other queries; no pretraining, as in the "
        "paper's benchmark; one block of four heads, as in the authors' code, unless a "
        "study asks for the benchmark's six of eight; pre-norm; on wide tables "
        "the feed-forward network over rows is narrower"
    ),
    make=net_maker("saint", SAINT, ContextLearner),
    defaults={
        "looks": "colrow",
        "n_blocks": 1,  # as in the authors' code wherever rows attend to rows
        "d_token": 32,
        "n_heads": 4,
        "attention_dropout": 0.0,
        "ffn_dropout": 0.0,
        "n_mates": 512,
        "learning_rate": 1e-4,
        "weight_decay": 0.01,
        "batch_size": 256,
    },
    published={"n_blocks": 6, "n_heads": 8},
    space={
        "looks": Maybe(Choice(("colrow", "row", "col")), "colrow"),
        "n_blocks": Choice((1, 4, 6)),
        "d_token": Choice((16, 32, 64)),
        "n_heads": Choice((4, 8)),
        "attention_dropout": Float(0.0, 0.5),
        "ffn_dropout": Float(0.0, 0.5),
        "learning_rate": LogFloat(3e-5, 1e-3),
        "weight_decay": Maybe(LogFloat(1e-6, 1e-4), 0.0),
    },
)
