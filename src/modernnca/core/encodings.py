"""Encodings of numerical columns, one number to several, by name.

An encoding is a module that turns numbers (N, P) into (N, P * d), column by column, so
that the linear layer behind it can be non-linear in each number. Only the
piecewise-linear encoding looks at the training numbers first, in `prepare`.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from modernnca._config import COUNT, POSITIVE, Config, Number, option
from modernnca.core.init import Linear, uniform


@dataclass(frozen=True, kw_only=True)
class EncodingConfig(Config):
    """Sizes of an encoding. The values are the defaults of the paper's public code."""

    n_frequencies: int = option(16, COUNT, "Frequencies of a periodic encoding.")
    frequency_scale: float = option(
        0.05, POSITIVE, "Standard deviation of the initial frequencies."
    )
    d_encoding: int = option(
        8, Number(2, integer=True), "Outputs of plr-lite, plr and pbld per column."
    )
    n_bins: int = option(48, Number(2, integer=True), "Bins of ple per column.")


class Encoding(nn.Module):
    """The base of all encodings; it leaves the numbers as they are.

    Args:
        n_numbers: how many columns (P).
        config: the sizes.
        generator: of the initial weights.

    >>> Encoding(2, EncodingConfig())(torch.tensor([[1.0, 2.0]]))
    tensor([[1., 2.]])
    """

    def __init__(
        self,
        n_numbers: int,
        config: EncodingConfig,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        self.d_out = self._build(n_numbers, config, generator)  # width of the output

    def _build(
        self, n: int, config: EncodingConfig, generator: torch.Generator | None
    ) -> int:
        """Make the weights of n columns; return the width of the output."""
        return n

    def prepare(self, numbers: Tensor) -> None:
        """Look at the training numbers (N, P) before training."""

    def forward(self, numbers: Tensor) -> Tensor:
        """Encode (N, P) as (N, d_out)."""
        return numbers


class Periodic(Encoding):
    """Cosines and sines of learned frequencies: (N, P) to (N, P * 2 * n_frequencies).

    Gorishniy et al. (2022), section 3.3.

    >>> config = EncodingConfig(n_frequencies=3, frequency_scale=1.0)
    >>> Periodic(2, config)(torch.zeros(5, 2)).shape
    torch.Size([5, 12])
    """

    def _build(
        self, n: int, config: EncodingConfig, generator: torch.Generator | None
    ) -> int:
        self.frequencies = nn.Parameter(
            torch.randn(n, config.n_frequencies, generator=generator)
            * config.frequency_scale
        )
        return n * 2 * config.n_frequencies

    def waves(self, numbers: Tensor) -> Tensor:
        """The waves of each column apart: (N, P, 2 * n_frequencies)."""
        angles = 2 * math.pi * self.frequencies * numbers[..., None]
        if torch.is_grad_enabled():
            return torch.cat([angles.cos(), angles.sin()], -1)
        # Without a gradient they are written in place: concatenating them took longer
        # than the waves themselves.
        n_waves = angles.shape[-1]
        waves = angles.new_empty(*angles.shape[:-1], 2 * n_waves)
        torch.cos(angles, out=waves[..., :n_waves])
        torch.sin(angles, out=waves[..., n_waves:])
        return waves

    def forward(self, numbers: Tensor) -> Tensor:
        """Encode (N, P) as (N, d_out)."""
        return self.waves(numbers).flatten(1)


class PLRLite(Periodic):
    """Periodic, then one linear layer shared by all columns, then ReLU.

    >>> PLRLite(2, EncodingConfig.defaults())(torch.zeros(5, 2)).shape
    torch.Size([5, 16])
    """

    def _build(
        self, n: int, config: EncodingConfig, generator: torch.Generator | None
    ) -> int:
        super()._build(n, config, generator)
        self.linear = Linear(2 * config.n_frequencies, config.d_encoding, generator)
        return n * config.d_encoding

    def forward(self, numbers: Tensor) -> Tensor:
        """Encode (N, P) as (N, d_out)."""
        return self.linear(self.waves(numbers)).relu().flatten(1)


class PLR(Periodic):
    """Periodic, then a linear layer of each column's own, then ReLU.

    >>> PLR(2, EncodingConfig.defaults())(torch.zeros(5, 2)).shape
    torch.Size([5, 16])
    """

    def _build(
        self, n: int, config: EncodingConfig, generator: torch.Generator | None
    ) -> int:
        super()._build(n, config, generator)
        d_wave, d_out = 2 * config.n_frequencies, config.d_encoding
        bound = d_wave**-0.5
        self.weight = uniform((n, d_wave, d_out), bound, generator)
        self.bias = uniform((n, d_out), bound, generator)
        return n * d_out

    def forward(self, numbers: Tensor) -> Tensor:
        """Encode (N, P) as (N, d_out)."""
        waves = self.waves(numbers)
        return (
            (torch.einsum("npw,pwd->npd", waves, self.weight) + self.bias)
            .relu()
            .flatten(1)
        )


class PBLD(Encoding):
    """Shifted cosines, a linear layer of each column's own, and the number itself.

    Holzmüller et al. (2024): periodic, bias, linear, DenseNet. Of the `d_encoding`
    outputs of a column, the first is the number.

    >>> config = EncodingConfig.defaults().updated({"d_encoding": 4})
    >>> PBLD(2, config)(torch.ones(5, 2)).shape
    torch.Size([5, 8])
    """

    def _build(
        self, n: int, config: EncodingConfig, generator: torch.Generator | None
    ) -> int:
        k, d = config.n_frequencies, config.d_encoding - 1
        bound = k**-0.5
        self.frequencies = nn.Parameter(
            torch.randn(n, k, generator=generator) * config.frequency_scale
        )
        self.phases = uniform((n, k), math.pi, generator)
        self.weight = uniform((n, k, d), bound, generator)
        self.bias = uniform((n, d), bound, generator)
        return n * config.d_encoding

    def forward(self, numbers: Tensor) -> Tensor:
        """Encode (N, P) as (N, d_out)."""
        x = numbers[..., None]  # (N, P, 1)
        waves = (2 * math.pi * self.frequencies * x + self.phases).cos()
        outputs = torch.einsum("npk,pkd->npd", waves, self.weight) + self.bias
        return torch.cat([x, outputs], -1).flatten(1)


class PLE(Encoding):
    """How full each bin of the column is: 1 below the number, 0 above it.

    Gorishniy et al. (2022), section 3.2, with bins at quantiles. The first and the last
    bin extend beyond their edges, so that far numbers stay apart.

    >>> ple = PLE(1, EncodingConfig(n_bins=2))
    >>> ple.prepare(torch.tensor([[0.0], [1.0], [3.0]]))
    >>> ple(torch.tensor([[0.5], [2.0]]))
    tensor([[0.5000, 0.0000],
            [1.0000, 0.5000]])
    """

    left: Tensor
    slope: Tensor
    low: Tensor
    high: Tensor

    def _build(
        self, n: int, config: EncodingConfig, generator: torch.Generator | None
    ) -> int:
        size = (n, config.n_bins)
        for name in ("left", "slope", "low", "high"):  # of each bin, (P, n_bins)
            self.register_buffer(name, torch.zeros(size))
        return n * config.n_bins

    def prepare(self, numbers: Tensor) -> None:
        """Place the bins; a column with few values has fewer, the rest stay zero."""
        for buffer in (self.left, self.slope, self.low, self.high):
            buffer.zero_()
        n_bins = self.left.shape[1]
        marks = torch.linspace(0, 1, n_bins + 1, dtype=torch.float64)
        for j, column in enumerate(numbers.T):
            # torch.quantile refuses more than 16 million numbers; sorting does not.
            ordered = column.double().sort().values
            at = marks.to(ordered.device) * (len(ordered) - 1)
            edges = ordered[at.round().long()].to(self.left.dtype).unique()
            n = len(edges) - 1
            if n < 1:
                continue
            self.left[j, :n] = edges[:-1]
            self.slope[j, :n] = 1 / (edges[1:] - edges[:-1])
            self.high[j, :n] = 1
            self.low[j, 0] = -torch.inf
            self.high[j, n - 1] = torch.inf

    def forward(self, numbers: Tensor) -> Tensor:
        """Encode (N, P) as (N, d_out)."""
        filled = (numbers[..., None] - self.left) * self.slope
        return torch.minimum(torch.maximum(filled, self.low), self.high).flatten(1)


ENCODINGS: dict[str, type[Encoding]] = {
    "plr-lite": PLRLite,
    "plr": PLR,
    "periodic": Periodic,
    "pbld": PBLD,
    "ple": PLE,
    "none": Encoding,
}
