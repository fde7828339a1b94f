"""TabR: a network that retrieves the nearest training rows and attends to them.

Shapes: B query rows, M candidates (the training rows), K neighbors, D the width, H the
width of a block.
"""

import torch
from torch import Tensor, nn
from torch.nn.functional import embedding_bag, linear

from modernnca.core.embeddings import Residual
from modernnca.core.network import InputShape, Network, NetworkConfig
from modernnca.core.rows import Rows
from modernnca.lab.peers.attention import in_chunks
from modernnca.lab.peers.card import Peer
from modernnca.lab.peers.net_model import TableShape, net_maker
from modernnca.lab.peers.supervised import LabeledRows, Supervised
from modernnca.tune.space import Float, Int, LogFloat, Maybe

N_NEIGHBORS = 96
# Limits on what is in memory at once, in numbers.
MAX_DISTANCES, MAX_CELLS, MAX_DIFFERENCES = 2**24, 2**18, 2**22


def nearest(
    query: Tensor, keys: Tensor, n: int, *, exclude: Tensor | None = None
) -> Tensor:
    """The unordered indices (B, n) of the keys (M, D) nearest to each query (B, D).

    `exclude` (B,) is the index of a key that each query must not find: itself.

    >>> keys = torch.tensor([[0.0], [1.0], [3.0]])
    >>> nearest(keys, keys, 1, exclude=torch.arange(3)).T
    tensor([[1, 0, 1]])
    """
    keys = keys - (mean := keys.mean(0))  # near the origin, rounding errors are small
    norms = keys.square().sum(1)
    chunk_size = max(1, MAX_DISTANCES // len(keys))
    found = []
    for start in range(0, len(query), chunk_size):
        chunk = slice(start, start + chunk_size)
        scores = norms - 2 * (query[chunk] - mean) @ keys.T  # (b, M)
        if exclude is not None:
            scores.scatter_(1, exclude[chunk, None], torch.inf)
        found.append(scores.topk(n, largest=False, sorted=False).indices)
    return torch.cat(found)


class TabR(nn.Module):
    """Encode the row, retrieve its neighbors, add their values, predict.

    The value of neighbor i is W(y_i) + T(k - k_i), and its weight the softmax of
    -|k - k_i|^2. T is linear, ReLU, dropout, linear. The first layer can be applied
    before the difference, and the last one after the sum over neighbors: the result is
    the same, for a K-th of the work.
    """

    numbers: Tensor
    plain: Tensor
    codes: Tensor
    y: Tensor
    eval_batch_size = 2**15  # large, since each batch encodes all candidates

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

        # The input layers are those of ModernNCA: PLR lite and a linear layer.
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
        self.diff_in = nn.Linear(d_main, d_block)
        self.diff_out = nn.Linear(d_block, d_main, bias=False)
        self.context_dropout = nn.Dropout(context_dropout)

        self.predict = nn.Sequential(
            *[Residual(block(nn.LayerNorm(d_main))) for _ in range(n_predictor_blocks)],
            nn.LayerNorm(d_main),
            nn.ReLU(),
            nn.Linear(d_main, shape.d_out),
        )
        self.remember(_empty_rows(shape))

    def remember(self, train: LabeledRows) -> None:
        """Store the training rows as candidates."""
        rows = train.rows
        parts = {"numbers": rows.numbers, "plain": rows.plain, "codes": rows.codes}
        for name, part in {**parts, "y": train.y}.items():
            self.register_buffer(name, part)

    def forward(self, rows: Rows, exclude: Tensor | None = None) -> Tensor:
        """Predict each row; in training, `exclude` is its index among candidates."""
        x = self.encode(rows)
        key = self.to_key(x)
        with torch.no_grad():
            keys = self.keys(torch.arange(len(self.y), device=key.device))
        n = min(N_NEIGHBORS, len(keys) - (exclude is not None))
        if n > 0:
            neighbors = self.retrieve(key.detach(), keys, n, exclude)
            x = x + self.aggregate(key, neighbors, keys)
        return self.predict(x)

    def embed(self, rows: Rows) -> Tensor:
        """The keys by which neighbors are retrieved: (N, D)."""
        return self.to_key(self.encode(rows))

    def keys(self, index: Tensor) -> Tensor:
        """The keys of the candidates at `index`."""
        rows = Rows(self.numbers, self.plain, self.codes).take(index)
        return self.embed(rows)

    def encode(self, rows: Rows) -> Tensor:
        """Encode rows, in chunks if there are many: (N, D)."""
        n_rows, n_columns = rows.numbers.shape
        return in_chunks(
            lambda chunk: self.encoder(rows.take(chunk)),
            torch.arange(n_rows, device=rows.numbers.device),
            max(1, MAX_CELLS // max(1, n_columns)),
        )

    def retrieve(
        self, query: Tensor, keys: Tensor, n: int, exclude: Tensor | None = None
    ) -> Tensor:
        """The indices of the `n` nearest candidates of each query: (B, n)."""
        if self.training:
            return nearest(query, keys, n, exclude=exclude)
        # Double precision, so that rounding does not choose among near-duplicates: a
        # prediction must not depend on the other queries.
        return nearest(query.double(), keys.double(), n, exclude=exclude)

    def aggregate(self, key: Tensor, neighbors: Tensor, keys: Tensor) -> Tensor:
        """The weighted sum of the values of `neighbors` (B, K) for each key: (B, D)."""
        index, neighbors = neighbors.unique(return_inverse=True)
        # They were found without a gradient; encode them again with one.
        keys = self.keys(index) if torch.is_grad_enabled() else keys[index]
        hidden, hidden_keys = self.diff_in(key), linear(keys, self.diff_in.weight)
        labels = self.label(self.y[index])
        chunk_size = max(1, MAX_DIFFERENCES // (neighbors.shape[1] * hidden.shape[1]))
        chunks = torch.arange(len(key), device=key.device).split(chunk_size)
        return torch.cat(
            [
                self._aggregate(
                    key[chunk],
                    hidden[chunk],
                    neighbors[chunk],
                    keys,
                    hidden_keys,
                    labels,
                )
                for chunk in chunks
            ]
        )

    def _aggregate(
        self,
        key: Tensor,  # (b, D)
        hidden: Tensor,  # (b, H)
        neighbors: Tensor,  # (b, K), indices into the next three
        keys: Tensor,
        hidden_keys: Tensor,
        labels: Tensor,
    ) -> Tensor:
        scores = -(key[:, None] - keys[neighbors]).square().sum(-1)
        weights = self.context_dropout(scores.softmax(1))  # (b, K)
        diff = hidden[:, None] - hidden_keys[neighbors]  # (b, K, H)
        mean = (weights[:, None] @ (diff * self._relu_dropout_mask(diff))).squeeze(1)
        diff_value = self.diff_out(mean / (1 - self.dropout) if self.training else mean)
        label_value = embedding_bag(
            neighbors, labels, mode="sum", per_sample_weights=weights
        )
        return label_value + diff_value

    def _relu_dropout_mask(self, x: Tensor) -> Tensor:
        """Where both ReLU and dropout keep x.

        One mask for both, since this is most of the work: nn.Dropout is slow on a CPU.
        """
        mask = x > 0
        if self.training and self.dropout > 0:
            mask &= torch.rand_like(x) >= self.dropout
        return mask


class NumberEmbedding(nn.Module):
    """The embedding of a number y (M,): y w + b, initialized as in the paper's code."""

    def __init__(self, d_out: int) -> None:
        super().__init__()
        self.linear = nn.Linear(1, d_out)
        bound = 2**-0.5
        nn.init.uniform_(self.linear.weight, -bound, bound)
        nn.init.uniform_(self.linear.bias, -bound, bound)

    def forward(self, y: Tensor) -> Tensor:
        """Embed each number, (M, d_out)."""
        return self.linear(y[:, None])


def _label_encoder(n_values: int, d_out: int) -> nn.Module:
    if n_values == 1:
        return NumberEmbedding(d_out)
    embedding = nn.Embedding(n_values, d_out)
    nn.init.uniform_(embedding.weight, -1.0, 1.0)
    return embedding


def _empty_rows(shape: TableShape) -> LabeledRows:
    rows = Rows(
        torch.zeros(0, shape.n_numbers),
        torch.zeros(0, shape.n_plain),
        torch.zeros(0, len(shape.levels), dtype=torch.long),
    )
    y = torch.zeros(0, dtype=torch.float32 if shape.d_out == 1 else torch.long)
    return LabeledRows(rows, y)


class TabRLearner(Supervised):
    """The plain learner; the rows of a batch retrieve from all others."""

    module: TabR

    def prepare(self) -> None:
        """Store the training rows as candidates."""
        self.module.remember(self.train)

    def loss(self, batch: Tensor) -> Tensor:
        """The loss of the rows numbered in `batch`; no row retrieves itself."""
        rows, y = self.train.take(batch)
        return self.criterion(self.module(rows, exclude=batch), y)


PEER = Peer(
    name="tabr",
    title="TabR",
    paper="Gorishniy et al., 2024",
    source="our implementation: the authors have no package, and others need faiss",
    make=net_maker("tabr", TabR, TabRLearner),
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
    differs="exact search by matrix products in chunks; only the retrieved rows are "
    "encoded with a gradient, as in the paper's memory-efficient mode",
)
