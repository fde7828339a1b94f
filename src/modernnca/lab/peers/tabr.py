"""TabR: a row looks up its nearest training rows, and learns from how they differ.

Shapes: B asking rows, M remembered ones, K neighbors, D the width, H that of a block.
"""

import torch
from torch import Tensor, nn
from torch.nn.functional import embedding_bag, linear

from modernnca.core.embeddings import Residual
from modernnca.core.network import InputShape, Network, NetworkConfig
from modernnca.core.rows import Rows
from modernnca.lab.peers.attention import in_parts
from modernnca.lab.peers.card import Peer
from modernnca.lab.peers.net_model import TableShape, net_maker
from modernnca.lab.peers.supervised import Examples, Supervised
from modernnca.tune.space import Float, Int, LogFloat, Maybe

N_NEIGHBORS = 96
# What is held in memory at once, in numbers: distances, cells to encode, differences.
N_PAIRS, N_CELLS, N_DIFFERENCES = 2**24, 2**18, 2**22


def nearest(
    query: Tensor, keys: Tensor, n: int, *, own: Tensor | None = None
) -> Tensor:
    """The `n` nearest of the keys (M, D) to each query (B, D), in any order: (B, n).

    `own` (B,) is the key that is the query itself, which is not among them.

    >>> keys = torch.tensor([[0.0], [1.0], [3.0]])
    >>> nearest(keys, keys, 1, own=torch.arange(3)).T
    tensor([[1, 0, 1]])
    """
    keys = keys - (middle := keys.mean(0))  # near the origin few digits are lost
    norms = keys.square().sum(1)
    n_at_once = max(1, N_PAIRS // len(keys))
    found = []
    for start in range(0, len(query), n_at_once):
        some = slice(start, start + n_at_once)
        scores = norms - 2 * (query[some] - middle) @ keys.T  # (b, M)
        if own is not None:
            scores.scatter_(1, own[some, None], torch.inf)
        found.append(scores.topk(n, largest=False, sorted=False).indices)
    return torch.cat(found)


class TabR(nn.Module):
    """Encode, look up, mix what the neighbors say into the row, predict.

    The value of neighbor i is W(y_i) + T(k - k_i), and its share the softmax of
    -|k - k_i|^2. T is linear, ReLU, dropout, linear; so the first layer can be applied
    before the difference, and the last one after the sum over neighbors, which spares
    K times the work and gives the same.
    """

    numbers: Tensor
    plain: Tensor
    codes: Tensor
    y: Tensor
    n_at_once = 2**15  # rows that are answered at once: all keys are encoded for them

    def __init__(
        self,
        shape: TableShape,
        *,
        d_main: int,
        n_encoder_blocks: int,
        n_predictor_blocks: int,
        context_dropout: float,
        dropout: float,
        n_frequencies: int,
        frequency_scale: float,
        d_encoding: int,
        encoding: str = "plr-lite",
    ) -> None:
        super().__init__()
        d_block = 2 * d_main
        self.dropout = dropout

        def block(*norm: nn.Module) -> nn.Module:
            hidden = (nn.Linear(d_main, d_block), nn.ReLU(), nn.Dropout(dropout))
            return nn.Sequential(*norm, *hidden, nn.Linear(d_block, d_main))

        # The first layers are ModernNCA's: PLR lite and a linear layer.
        config = NetworkConfig.defaults().updated(
            {
                "encoding": encoding,
                "n_frequencies": n_frequencies,
                "frequency_scale": frequency_scale,
                "d_encoding": d_encoding,
                "dim": d_main,
                "n_blocks": 0,
                "clip_to_range": False,
                "column_scales": "none",
                "temperature": 1.0,
            }
        )
        inputs = InputShape(shape.n_numbers, shape.n_plain, shape.n_levels)
        first = Network(config, inputs)
        blocks = [
            Residual(block(*[nn.LayerNorm(d_main)] * (i > 0)))
            for i in range(n_encoder_blocks)
        ]
        self.encoder = nn.Sequential(first, *blocks)
        norm = [nn.LayerNorm(d_main)] if n_encoder_blocks else []
        self.to_key = nn.Sequential(*norm, nn.Linear(d_main, d_main))

        self.label = _label_encoder(shape.d_out, d_main)
        self.bend_in = nn.Linear(d_main, d_block)
        self.bend_out = nn.Linear(d_block, d_main, bias=False)
        self.context_dropout = nn.Dropout(context_dropout)

        self.predict = nn.Sequential(
            *[Residual(block(nn.LayerNorm(d_main))) for _ in range(n_predictor_blocks)],
            nn.LayerNorm(d_main),
            nn.ReLU(),
            nn.Linear(d_main, shape.d_out),
        )
        self.remember(_no_rows(shape))

    def remember(self, examples: Examples) -> None:
        """Keep the training rows, among which neighbors are looked up."""
        rows = examples.rows
        parts = {"numbers": rows.numbers, "plain": rows.plain, "codes": rows.codes}
        for name, part in {**parts, "y": examples.y}.items():
            self.register_buffer(name, part)

    def forward(self, rows: Rows, own: Tensor | None = None) -> Tensor:
        """Answer rows; those in training say which of the remembered rows they are."""
        x = self.encode(rows)
        key = self.to_key(x)
        with torch.no_grad():
            keys = self.keys(torch.arange(len(self.y), device=key.device))
        n = min(N_NEIGHBORS, len(keys) - (own is not None))
        if n > 0:
            x = x + self.hear(key, self.look_up(key.detach(), keys, n, own), keys)
        return self.predict(x)

    def embed(self, rows: Rows) -> Tensor:
        """The space in which neighbors are looked up: (N, D)."""
        return self.to_key(self.encode(rows))

    def keys(self, which: Tensor) -> Tensor:
        """The keys of remembered rows."""
        rows = Rows(self.numbers, self.plain, self.codes).take(which)
        return self.embed(rows)

    def encode(self, rows: Rows) -> Tensor:
        """Encode rows, some at a time where they are many: (N, D)."""
        n_rows, n_columns = rows.numbers.shape
        return in_parts(
            lambda some: self.encoder(rows.take(some)),
            torch.arange(n_rows, device=rows.numbers.device),
            max(1, N_CELLS // max(1, n_columns)),
        )

    def look_up(
        self, query: Tensor, keys: Tensor, n: int, own: Tensor | None = None
    ) -> Tensor:
        """The places of the `n` nearest rows of each query: (B, n)."""
        if self.training:
            return nearest(query, keys, n, own=own)
        # In double precision rounding does not choose among rows that are alike, so
        # that an answer does not depend on which other rows are asked for.
        return nearest(query.double(), keys.double(), n, own=own)

    def hear(self, key: Tensor, near: Tensor, keys: Tensor) -> Tensor:
        """What the neighbors `near` (B, K) say to the rows with these keys: (B, D)."""
        which, near = near.unique(return_inverse=True)
        # Looked up without a gradient, those found are encoded again with one.
        keys = self.keys(which) if torch.is_grad_enabled() else keys[which]
        own, bent = self.bend_in(key), linear(keys, self.bend_in.weight)
        labels = self.label(self.y[which])
        n_at_once = max(1, N_DIFFERENCES // (near.shape[1] * bent.shape[1]))
        parts = torch.arange(len(key), device=key.device).split(n_at_once)
        return torch.cat(
            [
                self._hear(key[some], own[some], near[some], keys, bent, labels)
                for some in parts
            ]
        )

    def _hear(
        self,
        key: Tensor,  # (b, D)
        own: Tensor,  # (b, H)
        near: Tensor,  # (b, K), places in the next three
        keys: Tensor,
        bent: Tensor,
        labels: Tensor,
    ) -> Tensor:
        scores = -(key[:, None] - keys[near]).square().sum(-1)
        shares = self.context_dropout(scores.softmax(1))  # (b, K)
        hidden = own[:, None] - bent[near]  # (b, K, H)
        mixed = (shares[:, None] @ (hidden * self._passing(hidden))).squeeze(1)
        bends = self.bend_out(mixed / (1 - self.dropout) if self.training else mixed)
        said = embedding_bag(near, labels, mode="sum", per_sample_weights=shares)
        return said + bends

    def _passing(self, hidden: Tensor) -> Tensor:
        """Where ReLU lets pass, and dropout too.

        As one mask, since this is most of the work: nn.Dropout draws slowly on a CPU.
        """
        passing = hidden > 0
        if self.training and self.dropout > 0:
            passing &= torch.rand_like(hidden) >= self.dropout
        return passing


class NumberLabel(nn.Module):
    """The vector of a number y (M,): y w + b, drawn as in the paper's code."""

    def __init__(self, d_out: int) -> None:
        super().__init__()
        self.linear = nn.Linear(1, d_out)
        edge = 2**-0.5
        nn.init.uniform_(self.linear.weight, -edge, edge)
        nn.init.uniform_(self.linear.bias, -edge, edge)

    def forward(self, y: Tensor) -> Tensor:
        """Give each number its vector, (M, d_out)."""
        return self.linear(y[:, None])


def _label_encoder(n_values: int, d_out: int) -> nn.Module:
    if n_values == 1:
        return NumberLabel(d_out)
    embedding = nn.Embedding(n_values, d_out)
    nn.init.uniform_(embedding.weight, -1.0, 1.0)
    return embedding


def _no_rows(shape: TableShape) -> Examples:
    rows = Rows(
        torch.zeros(0, shape.n_numbers),
        torch.zeros(0, shape.n_plain),
        torch.zeros(0, len(shape.levels), dtype=torch.long),
    )
    y = torch.zeros(0, dtype=torch.float32 if shape.d_out == 1 else torch.long)
    return Examples(rows, y)


class LookingUp(Supervised):
    """Learn while the rows of the batch look up all others."""

    module: TabR

    def begin(self) -> None:
        """Remember the training rows."""
        self.module.remember(self.fit)

    def loss(self, batch: Tensor) -> Tensor:
        """The loss of the rows numbered in `batch`, none of which finds itself."""
        rows, y = self.fit.take(batch)
        return self.criterion(self.module(rows, own=batch), y)


PEER = Peer(
    name="tabr",
    title="TabR",
    paper="Gorishniy et al., 2024",
    source="written here: there is no package by the authors, others need faiss",
    make=net_maker("tabr", TabR, LookingUp),
    defaults={
        "d_main": 265,
        "n_encoder_blocks": 0,
        "n_predictor_blocks": 1,
        "context_dropout": 0.38920071545944357,
        "dropout": 0.38852797479169876,
        "n_frequencies": 77,
        "frequency_scale": 0.04431360576139521,
        "d_encoding": 34,
        "learning_rate": 3.121273641315169e-4,
        "weight_decay": 1.2260352006404615e-6,
    },
    space={
        "d_main": Int(96, 384),
        "n_encoder_blocks": Int(0, 1),
        "n_predictor_blocks": Int(1, 2),
        "context_dropout": Float(0.0, 0.6),
        "dropout": Float(0.0, 0.6),
        "n_frequencies": Int(16, 96),
        "frequency_scale": LogFloat(0.01, 100.0),
        "d_encoding": Int(16, 64),
        "learning_rate": LogFloat(3e-5, 1e-3),
        "weight_decay": Maybe(LogFloat(1e-6, 1e-3), 0.0),
    },
    differs="the search is exact, by matrix products in parts; only rows that were "
    "found are encoded with a gradient, as in the paper's memory-efficient mode",
)
