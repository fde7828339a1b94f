"""Encode, then embed: a row of a table to a point, as one module built from a shape."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from modernnca._named import named
from modernnca.core.embed import EMBEDDINGS, BlockShape, CodedLinear, learned_scale
from modernnca.core.encode import ENCODINGS, EncodingShape
from modernnca.core.knots import Cells
from modernnca.core.leaves import Leaves
from modernnca.core.rows import Rows
from modernnca.core.views import VIEWS


@dataclass(frozen=True)
class NetShape:
    """All that is needed to build a net, besides its weights."""

    n_numbers: int
    n_plain: int
    n_levels: int
    view: str = "as-is"
    scale_columns: bool = False
    encoding: str = "plr-lite"
    n_frequencies: int = 77
    frequency_scale: float = 0.0443136
    d_encoding: int = 34
    n_bins: int = 48
    embedding: str = "mlp"
    dim: int = 128
    n_blocks: int = 0
    d_block: int = 512
    dropout: float = 0.1
    temperature: float = 1.0
    learn_temperature: bool = False


class Net(nn.Module):
    """The embedding phi, and the temperature that reads its distances.

    >>> net = Net(NetShape(n_numbers=2, n_plain=0, n_levels=0, dim=8))
    >>> none = torch.zeros(5, 0)
    >>> net(Rows(torch.zeros(5, 2), none, none.long())).shape
    torch.Size([5, 8])
    """

    log_temperature: Tensor

    def __init__(self, shape: NetShape) -> None:
        super().__init__()
        self.shape = shape
        encoding = named("encoding", shape.encoding, ENCODINGS)
        embedding = named("embedding", shape.embedding, EMBEDDINGS)
        self.encode = encoding(
            EncodingShape(
                shape.n_numbers,
                shape.n_frequencies,
                shape.frequency_scale,
                shape.d_encoding,
                shape.n_bins,
            )
        )
        self.view = named("view", shape.view, VIEWS)(shape.n_numbers)
        self.scale: nn.Parameter | None = None
        if shape.scale_columns:
            self.scale = learned_scale(shape.n_numbers)  # in front of the encoding
        self.linear = CodedLinear(
            d_in=self.encode.d_out + shape.n_plain,
            n_levels=shape.n_levels,
            d_out=shape.dim,
            n_scaled=shape.n_plain if shape.scale_columns else None,
        )
        self.blocks = embedding(
            BlockShape(shape.dim, shape.n_blocks, shape.d_block, shape.dropout)
        )
        log_temperature = torch.tensor(float(shape.temperature)).log()
        if shape.learn_temperature:
            self.log_temperature = nn.Parameter(log_temperature)
            # One number against thousands: it may move faster, and zero is no goal.
            self.log_temperature.rate_factor = 3.0  # type: ignore[attr-defined]
        else:
            self.register_buffer("log_temperature", log_temperature)

    @property
    def temperature(self) -> Tensor:
        """What distances are divided by; always positive."""
        return self.log_temperature.exp()

    @property
    def n_cells(self) -> int:
        """What a row costs: an encoded number takes hundreds of bytes."""
        return max(1, self.shape.n_numbers)

    def forward(self, rows: Rows) -> Tensor:
        """Embed N rows: (N, D)."""
        encoded = self._encode(rows.numbers)
        if rows.plain.shape[1]:
            encoded = torch.cat([encoded, rows.plain], 1)
        return self.blocks(self.linear(encoded, rows.codes))

    def _encode(self, numbers: Tensor) -> Tensor:
        """See numbers (N, P), scale each column if that is learned, encode."""
        seen = self.view(numbers)
        return self.encode(seen if self.scale is None else seen * self.scale)

    def prepare(self, numbers: Tensor) -> None:
        """Learn what is to be learned from the training numbers before any step."""
        self.view.prepare(numbers)
        self.encode.prepare(self.view(numbers))

    @torch.no_grad()
    def start_scales(self, scales: Tensor, codes: Tensor) -> None:
        """Begin with scales of numbers, plain columns and columns of codes (N, C)."""
        assert self.scale is not None
        sizes = (self.shape.n_numbers, self.shape.n_plain, codes.shape[1])
        numbers, plain, columns = scales.split(sizes)
        self.scale.copy_(numbers)
        self.linear.start_scales(plain, columns, codes)

    def knot_table(self, knots: Tensor) -> Tensor:
        """What a cell that lies on a knot adds to the first layer: (P * K, D).

        See `core.knots`; `knots` is (K, P).
        """
        n_columns = knots.shape[1]
        encoded = self._encode(knots).unflatten(1, (n_columns, -1))  # (K, P, d)
        weight = self.linear.weight[:, : self.encode.d_out]
        weight = weight.unflatten(1, (n_columns, -1))  # (D, P, d)
        return torch.einsum("kpd,opd->pko", encoded, weight).flatten(0, 1)

    def forward_cells(self, summed: Tensor, rows: Rows) -> Tensor:
        """Embed N rows by what their cells found between knots (N, D): (N, D)."""
        return self.blocks(self.linear.add_last(summed, rows.plain, rows.codes))


Embedding = Net | Leaves


@contextmanager
def evaluating(net: Embedding) -> Iterator[None]:
    """Without a gradient and in evaluation mode; afterwards as before."""
    was_training = net.training
    net.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        net.train(was_training)


def _embed_in_parts(
    embed: Callable[[slice], Tensor], n_rows: int, n_at_once: int
) -> Tensor:
    """Embed some rows at a time; no rows make no part, but a shape."""
    starts = range(0, max(1, n_rows), n_at_once)
    return torch.cat([embed(slice(start, start + n_at_once)) for start in starts])


def embed_all(net: Embedding, rows: Rows, *, n_cells: int = 2**18) -> Tensor:
    """Embed many rows without a gradient, some at a time, in evaluation mode."""
    n_at_once = max(1, n_cells // net.n_cells)
    with evaluating(net):
        return _embed_in_parts(
            lambda some: net(rows.take(some)), len(rows.codes), n_at_once
        )


def embed_cells(net: Net, rows: Rows, knots: Tensor, cells: Cells) -> Tensor:
    """The same by the places of cells between knots (K, P)."""
    with evaluating(net):
        table = net.knot_table(knots)
        return _embed_in_parts(
            lambda some: net.forward_cells(
                cells.take(some).look_up(table), rows.take(some)
            ),
            len(rows.codes),
            2**16,
        )
