"""SAINT: attention between the columns of a row, then between the rows of a batch."""

from dataclasses import replace

import torch
from torch import Tensor, nn
from torch.nn.functional import gelu

from modernnca._named import named
from modernnca.core.rows import Rows
from modernnca.lab.peers.attention import (
    Attention,
    Layer,
    feed_forward,
    in_parts,
    rows_at_once,
)
from modernnca.lab.peers.card import Peer
from modernnca.lab.peers.inputs import Tokens
from modernnca.lab.peers.mates import Mates, WithMates
from modernnca.lab.peers.net_model import TableShape, net_maker
from modernnca.tune.space import Choice, Float, LogFloat, Maybe

# Who looks at whom in a block: columns at columns, rows at rows.
LOOKS = {"colrow": ("columns", "rows"), "col": ("columns",), "row": ("rows",)}

_MANY_COLUMNS = 100  # beyond, tokens are small, as in the authors' code
_FEW_NUMBERS = 8
_MOST_WEIGHTS = 2**23  # of a matrix of the feed-forward part of rows


class NumberTokens(nn.Module):
    """A small net of each column's own: (B, P + Q) numbers to (B, P + Q, d)."""

    def __init__(self, shape: TableShape, *, d_token: int, d_hidden: int = 100) -> None:
        super().__init__()
        self.hidden = Tokens(replace(shape, levels=()), d_token=d_hidden)
        edge = d_hidden**-0.5
        n_tokens = self.hidden.n_tokens
        self.weight = nn.Parameter(
            torch.empty(n_tokens, d_hidden, d_token).uniform_(-edge, edge)
        )
        self.bias = nn.Parameter(torch.zeros(n_tokens, 1, d_token))

    def forward(self, rows: Rows) -> Tensor:
        """Give each number of each row its vector."""
        hidden = self.hidden(rows).relu().transpose(0, 1)  # (P + Q, B, h)
        return torch.baddbmm(self.bias, hidden, self.weight).transpose(0, 1)


class SAINT(nn.Module):
    """Blocks in which columns look at columns and rows at rows; [CLS] is read."""

    n_at_once = 1024  # rows asked at once, since they make a mask with the mates

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
        if n_tokens > _MANY_COLUMNS:
            d_token = min(d_token, _FEW_NUMBERS)
        self.mates = Mates(shape, n_mates)
        self.cls = nn.Parameter(torch.randn(d_token))
        self.numbers = NumberTokens(shape, d_token=d_token) if n_numbers else None
        self.levels = (
            nn.Embedding(shape.n_levels + 1, d_token) if shape.n_levels else None
        )

        def columns() -> Layer:
            attention = Attention(
                d_token, n_heads=n_heads, d_head=16, dropout=attention_dropout
            )
            alone = feed_forward(d_token, 4 * d_token, gelu, ffn_dropout)
            return Layer(d_token, attention, alone)

        def rows() -> Layer:
            d_row = n_tokens * d_token
            attention = Attention(
                d_row, n_heads=n_heads, d_head=64, dropout=attention_dropout
            )
            d_hidden = min(4 * d_row, max(64, _MOST_WEIGHTS // d_row))
            alone = feed_forward(d_row, d_hidden, gelu, ffn_dropout)
            return Layer(d_row, attention, alone)

        makers = {"columns": columns, "rows": rows}
        self.looks = named("attention of SAINT", looks, LOOKS) * n_blocks
        self.layers = nn.ModuleList(makers[look]() for look in self.looks)
        self.n_in_parts = rows_at_once(n_tokens, d_token=d_token, n_layers=n_blocks)
        self.head = nn.Sequential(
            nn.LayerNorm(d_token),
            nn.Linear(d_token, 1000),
            nn.ReLU(),
            nn.Linear(1000, shape.d_out),
        )

    def forward(self, rows: Rows) -> Tensor:
        """Answer the rows; see `Mates` for whom they look at."""
        n_asked = len(rows.numbers)
        rows, mask = self.mates(rows)
        tokens = self._tokens(rows)  # (M + B, T, d)
        for look, layer in zip(self.looks, self.layers, strict=True):
            if look == "columns":
                tokens = in_parts(layer, tokens, self.n_in_parts)
            else:  # a row is one long token
                whole = layer(tokens.flatten(1)[None], mask=mask)
                tokens = whole.view_as(tokens)
        return self.head(tokens[-n_asked:, 0])

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
    source="written here: the authors' code is a program, not a package",
    differs=(
        "a row is answered among a fixed sample of training rows, so that the answer "
        "does not depend on what else is asked; no pretraining, as in the paper's "
        "benchmark; tokens are normalized before each part; on wide tables the "
        "feed-forward part of rows is narrower"
    ),
    make=net_maker("saint", SAINT, WithMates),
    defaults={
        "looks": "colrow",
        "n_blocks": 1,  # as the authors' code has it wherever rows look at rows
        "d_token": 32,
        "n_heads": 4,
        "attention_dropout": 0.0,
        "ffn_dropout": 0.0,
        "n_mates": 512,
        "learning_rate": 1e-4,
        "weight_decay": 0.01,
        "batch_size": 256,
    },
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
