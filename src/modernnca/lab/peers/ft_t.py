"""FT-Transformer: attention over one token per column and a [CLS] token."""

import math

import torch
from torch import Tensor, nn

from modernnca.core.rows import Rows
from modernnca.lab.peers.attention import (
    Attention,
    TransformerLayer,
    feed_forward,
    in_chunks,
    rows_per_chunk,
)
from modernnca.lab.peers.card import Peer
from modernnca.lab.peers.inputs import FeatureTokenizer
from modernnca.lab.peers.net_model import TableShape, net_maker
from modernnca.tune.space import Choice, Float, Int, LogFloat, Maybe


class FTTransformer(nn.Module):
    """Transformer layers over the tokens; the head reads [CLS]."""

    def __init__(
        self,
        shape: TableShape,
        *,
        n_layers: int,
        d_token: int,
        n_heads: int,
        d_ffn_factor: float,
        attention_dropout: float,
        ffn_dropout: float,
        residual_dropout: float,
    ) -> None:
        super().__init__()
        self.tokens = FeatureTokenizer(shape, d_token=d_token)
        bound = 1 / math.sqrt(d_token)
        self.cls = nn.Parameter(torch.empty(d_token).uniform_(-bound, bound))
        self.layers = nn.ModuleList(
            TransformerLayer(
                d_token,
                Attention(d_token, n_heads=n_heads, dropout=attention_dropout),
                feed_forward(
                    d_token, int(d_token * d_ffn_factor), torch.relu, ffn_dropout
                ),
                dropout=residual_dropout,
                first=i == 0,
            )
            for i in range(n_layers)
        )
        self.head = nn.Sequential(
            nn.LayerNorm(d_token), nn.ReLU(), nn.Linear(d_token, shape.d_out)
        )
        self.eval_batch_size = rows_per_chunk(
            self.tokens.n_tokens + 1, d_token=d_token, n_layers=n_layers
        )

    def forward(self, rows: Rows) -> Tensor:
        """Predict each row, (B, d_out)."""
        return in_chunks(self.forward_tokens, self.tokens(rows), self.eval_batch_size)

    def forward_tokens(self, tokens: Tensor) -> Tensor:
        """Predict from the tokens of the columns: (B, T, d) to (B, d_out)."""
        cls = self.cls.expand(len(tokens), 1, -1)
        tokens = torch.cat([cls, tokens], 1)
        *layers, last = self.layers
        for layer in layers:
            tokens = layer(tokens)
        return self.head(last(tokens, n_queries=1).squeeze(1))


PEER = Peer(
    name="ft-t",
    title="FT-Transformer",
    paper="Gorishniy et al., 2021",
    source="our implementation: two other methods share its attention",
    differs=(
        "attention dropout drops tokens, not pairs of tokens, which is several times "
        "faster on wide tables; the batch size is 256 for all tables "
        "unless a study asks for the benchmark's"
    ),
    make=net_maker("ft-t", FTTransformer),
    defaults={
        "n_layers": 3,
        "d_token": 192,
        "n_heads": 8,
        "d_ffn_factor": 4 / 3,
        "attention_dropout": 0.2,
        "ffn_dropout": 0.1,
        "residual_dropout": 0.0,
        "learning_rate": 1e-4,
        "weight_decay": 1e-5,
        "batch_size": 256,
    },
    space={
        "n_layers": Int(1, 4),
        "d_token": Choice((8, 16, 32, 64, 128)),
        "d_ffn_factor": Float(2 / 3, 8 / 3),
        "attention_dropout": Float(0.0, 0.5),
        "ffn_dropout": Float(0.0, 0.5),
        "residual_dropout": Maybe(Float(0.0, 0.2), 0.0),
        "learning_rate": LogFloat(1e-5, 1e-3),
        "weight_decay": LogFloat(1e-6, 1e-3),
    },
)
