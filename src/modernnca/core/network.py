"""The network: encoding and embedding of a row as one module, built from a config."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn

from modernnca._config import FLAG, Number, OneOf, option
from modernnca.core.distances import DISTANCES
from modernnca.core.embeddings import (
    EMBEDDINGS,
    BlockConfig,
    CodedLinear,
    Dropout,
    learned_scale,
)
from modernnca.core.encodings import ENCODINGS, EncodingConfig
from modernnca.core.rows import Rows
from modernnca.core.transforms import TRANSFORMS, Clipped

COLUMN_SCALES = ("none", "learned", "importance")
_COSINE_TEMPERATURE = 0.1  # cosines differ by 2 at most: 1 would not tell rows apart


class InputShape(NamedTuple):
    """How many columns of each kind an encoded table has; see `core.rows.Rows`."""

    n_numbers: int
    n_plain: int
    n_levels: int  # of all columns of codes together
    encode_numbers: bool = True  # False: too many to be encoded

    @property
    def width(self) -> int:
        """The width of a row with its categories one-hot."""
        return self.n_numbers + self.n_plain + self.n_levels


@dataclass(frozen=True, kw_only=True)
class NetworkConfig(EncodingConfig, BlockConfig):
    """All that a network is built from, besides the columns of the table."""

    numeric_transform: str = option(
        "standard",
        OneOf(TRANSFORMS),
        "What a network sees of a number: standard, squashed (a robust scale and a "
        "soft clip) or quantile (its rank, as a normal quantile).",
    )
    clip_to_range: bool = option(
        True, FLAG, "Clip standard numbers to the range seen in training."
    )
    column_scales: str = option(
        "importance",
        OneOf(COLUMN_SCALES),
        "A learned scale for each column and level: none; learned, from 1; or "
        "importance, from the feature importances of a forest.",
    )
    encoding: str = option("plr-lite", OneOf(ENCODINGS), "Encoding of numbers.")
    embedding: str = option("mlp", OneOf(EMBEDDINGS), "The kind of phi.")
    cap_dim: bool = option(
        False, FLAG, "Take no more dimensions than columns, as the NCA of 2004."
    )
    temperature: float | str = option(
        "learned",
        Number(0, above=True, also=("learned",)),
        'What distances are divided by: a number, or "learned".',
    )
    distance: str = option(
        "euclidean", OneOf(DISTANCES), "The distance between embeddings."
    )


class Network(nn.Module):
    """The embedding phi, and the temperature that its distances are divided by.

    >>> config = NetworkConfig.defaults().updated({"dim": 8})
    >>> network = Network(config, InputShape(n_numbers=2, n_plain=0, n_levels=0))
    >>> none = torch.zeros(5, 0)
    >>> network(Rows(torch.zeros(5, 2), none, none.long())).shape
    torch.Size([5, 8])
    """

    log_temperature: Tensor

    def __init__(
        self,
        config: NetworkConfig,
        shape: InputShape,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        if config.cap_dim:
            config = config.updated({"dim": min(config.dim, shape.width)})
        if not shape.encode_numbers:
            config = config.updated({"encoding": "none"})
        self.config, self.shape = config, shape
        scaled = config.column_scales != "none"
        self.encode = ENCODINGS[config.encoding](shape.n_numbers, config, generator)
        transform = TRANSFORMS[config.numeric_transform]
        if config.numeric_transform == "standard" and config.clip_to_range:
            transform = Clipped
        self.transform = transform(shape.n_numbers)
        self.scale: nn.Parameter | None = None  # in front of the encoding
        if scaled:
            self.scale = learned_scale(shape.n_numbers)
        self.linear = CodedLinear(
            d_in=self.encode.d_out + shape.n_plain,
            n_levels=shape.n_levels,
            d_out=config.dim,
            n_scaled=shape.n_plain if scaled else None,
            generator=generator,
        )
        self.blocks = EMBEDDINGS[config.embedding](config, generator)
        self._set_temperature(config)

    def _set_temperature(self, config: NetworkConfig) -> None:
        learned = config.temperature == "learned"
        start = _COSINE_TEMPERATURE if config.distance == "cosine" else 1.0
        if not learned:
            start = float(config.temperature)
        log_temperature = torch.tensor(start).log()
        if not learned:
            self.register_buffer("log_temperature", log_temperature)
            return
        self.log_temperature = nn.Parameter(log_temperature)
        # One number against thousands: it may move faster, and is not decayed to zero.
        self.log_temperature.rate_factor = 3.0  # type: ignore[attr-defined]

    @property
    def temperature(self) -> Tensor:
        """What distances are divided by; always positive."""
        return self.log_temperature.exp()

    def forward(self, rows: Rows) -> Tensor:
        """Embed N rows: (N, D)."""
        return self.blocks(self.first_layer(rows))

    def first_layer(self, rows: Rows) -> Tensor:
        """The sum over what the cells of each row add, which the blocks see: (N, D)."""
        encoded = self._encode(rows.numbers)
        if rows.plain.shape[1]:
            encoded = torch.cat([encoded, rows.plain], 1)
        return self.linear(encoded, rows.codes)

    def cell_products(self, direction: Tensor, rows: Rows) -> Tensor:
        """The inner product of `direction` (N, D) with what each cell adds: (N, F).

        The F cells of a row are its numbers, plain columns and codes, in this order.
        Over all cells, and with that of the bias, it is the product with the first
        layer.
        """
        n_numbers = rows.numbers.shape[1]
        along = direction @ self.linear.weight  # (N, d_in)
        encoded = self._encode(rows.numbers)
        products = (encoded * along[:, : encoded.shape[1]]).unflatten(
            1, (n_numbers, encoded.shape[1] // max(1, n_numbers))
        )
        plain = rows.plain * along[:, encoded.shape[1] :]
        if self.linear.scale is not None:
            plain = plain * self.linear.scale
        levels = self.linear.known_levels()[rows.codes]  # (N, C, D)
        of_codes = (levels * direction[:, None]).sum(2)
        return torch.cat([products.sum(2), plain, of_codes], 1)

    def _encode(self, numbers: Tensor) -> Tensor:
        """Transform, scale and encode numbers (N, P)."""
        seen = self.transform(numbers)
        return self.encode(seen if self.scale is None else seen * self.scale)

    def prepare(self, numbers: Tensor) -> None:
        """Learn from the training numbers (N, P) what is learned before any step."""
        self.transform.prepare(numbers)
        self.encode.prepare(self.transform(numbers))

    @torch.no_grad()
    def init_scales(self, scales: Tensor, codes: Tensor) -> None:
        """Set the scales of numbers, plain columns and columns of codes (N, C)."""
        assert self.scale is not None
        sizes = (self.shape.n_numbers, self.shape.n_plain, codes.shape[1])
        numbers, plain, of_codes = scales.split(sizes)
        self.scale.copy_(numbers)
        self.linear.init_scales(plain, of_codes, codes)

    def draw_dropout_from(self, generator: torch.Generator | None) -> None:
        """Let dropout draw from `generator`, which is on the device of the network."""
        for module in self.modules():
            if isinstance(module, Dropout):
                module.generator = generator

    def knot_table(self, knots: Tensor) -> Tensor:
        """What a cell that lies on a knot adds to the first layer: (P * K, D).

        See `kernels.knots`; `knots` is (K, P).
        """
        n_columns = knots.shape[1]
        encoded = self._encode(knots).unflatten(1, (n_columns, -1))  # (K, P, d)
        weight = self.linear.weight[:, : self.encode.d_out]
        weight = weight.unflatten(1, (n_columns, -1))  # (D, P, d)
        return torch.einsum("kpd,opd->pko", encoded, weight).flatten(0, 1)

    def forward_cells(self, summed: Tensor, rows: Rows) -> Tensor:
        """Embed N rows, given the sum over their encoded numbers (N, D): (N, D)."""
        return self.blocks(self.linear.add_last(summed, rows.plain, rows.codes))


@contextmanager
def evaluating(module: nn.Module) -> Iterator[None]:
    """Without a gradient and in evaluation mode; afterwards as before."""
    was_training = module.training
    module.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        module.train(was_training)


def in_parts(embed: Callable[[slice], Tensor], n_rows: int, n_at_once: int) -> Tensor:
    """Concatenate what `embed` gives for some rows at a time; once for no rows."""
    starts = range(0, max(1, n_rows), n_at_once)
    return torch.cat([embed(slice(start, start + n_at_once)) for start in starts])


def embed_rows(module: nn.Module, rows: Rows, *, width: int | None = None) -> Tensor:
    """Embed many rows without a gradient, some at a time, in evaluation mode.

    `width` is what a row costs in memory: as many numbers as it has, unless given.
    """
    n_at_once = max(1, 2**18 // max(1, width or rows.numbers.shape[1]))
    with evaluating(module):
        return in_parts(lambda some: module(rows.take(some)), rows.n_rows, n_at_once)
