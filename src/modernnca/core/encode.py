"""One number to several: encodings of numerical columns, by name.

An encoding is a module that turns numbers (N, P) into (N, P * d), column by column,
so that the linear layer behind it can bend. Only the piecewise-linear one looks at
the training numbers first, in `prepare`.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn


@dataclass(frozen=True)
class EncodingShape:
    """Sizes of an encoding. The values are the paper's public defaults."""

    n_numbers: int
    n_frequencies: int = 77
    frequency_scale: float = 0.0443136
    d_encoding: int = 34
    n_bins: int = 48


class Encoding(nn.Module):
    """What all encodings share; this one leaves the numbers as they are.

    >>> Encoding(EncodingShape(2))(torch.tensor([[1.0, 2.0]]))
    tensor([[1., 2.]])
    """

    def __init__(self, shape: EncodingShape) -> None:
        super().__init__()
        self.d_out = shape.n_numbers  # width of the encoded row

    def prepare(self, numbers: Tensor) -> None:
        """Look at the training numbers (N, P) before training."""

    def forward(self, numbers: Tensor) -> Tensor:
        """Encode (N, P) as (N, d_out)."""
        return numbers


class Periodic(Encoding):
    """Cosines and sines of learned frequencies: (N, P) to (N, P * 2 * n_frequencies).

    Gorishniy et al. (2022), section 3.3.

    >>> Periodic(EncodingShape(2, n_frequencies=3))(torch.zeros(5, 2)).shape
    torch.Size([5, 12])
    """

    def __init__(self, shape: EncodingShape) -> None:
        super().__init__(shape)
        self.frequencies = nn.Parameter(
            torch.randn(shape.n_numbers, shape.n_frequencies) * shape.frequency_scale
        )
        self.d_out = shape.n_numbers * 2 * shape.n_frequencies

    def waves(self, numbers: Tensor) -> Tensor:
        """The waves of each column apart: (N, P, 2 * n_frequencies)."""
        angles = 2 * math.pi * self.frequencies * numbers[..., None]
        if torch.is_grad_enabled():
            return torch.cat([angles.cos(), angles.sin()], -1)
        # Without a gradient they are written where they belong: putting them together
        # took longer than the waves themselves.
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

    >>> PLRLite(EncodingShape(2))(torch.zeros(5, 2)).shape
    torch.Size([5, 68])
    """

    def __init__(self, shape: EncodingShape) -> None:
        super().__init__(shape)
        self.linear = nn.Linear(2 * shape.n_frequencies, shape.d_encoding)
        self.d_out = shape.n_numbers * shape.d_encoding

    def forward(self, numbers: Tensor) -> Tensor:
        """Encode (N, P) as (N, d_out)."""
        return self.linear(self.waves(numbers)).relu().flatten(1)


class PLR(Periodic):
    """Periodic, then a linear layer of each column's own, then ReLU.

    >>> PLR(EncodingShape(2))(torch.zeros(5, 2)).shape
    torch.Size([5, 68])
    """

    def __init__(self, shape: EncodingShape) -> None:
        super().__init__(shape)
        d_wave = 2 * shape.n_frequencies
        bound = d_wave**-0.5
        size = (shape.n_numbers, d_wave, shape.d_encoding)
        self.weight = nn.Parameter(torch.empty(size).uniform_(-bound, bound))
        self.bias = nn.Parameter(
            torch.empty(shape.n_numbers, shape.d_encoding).uniform_(-bound, bound)
        )
        self.d_out = shape.n_numbers * shape.d_encoding

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

    >>> PBLD(EncodingShape(2, d_encoding=4))(torch.ones(5, 2)).shape
    torch.Size([5, 8])
    """

    def __init__(self, shape: EncodingShape) -> None:
        super().__init__(shape)
        n, k, d = shape.n_numbers, shape.n_frequencies, shape.d_encoding - 1
        bound = k**-0.5
        self.frequencies = nn.Parameter(torch.randn(n, k) * shape.frequency_scale)
        self.phases = nn.Parameter(torch.empty(n, k).uniform_(-math.pi, math.pi))
        self.weight = nn.Parameter(torch.empty(n, k, d).uniform_(-bound, bound))
        self.bias = nn.Parameter(torch.empty(n, d).uniform_(-bound, bound))
        self.d_out = n * shape.d_encoding

    def forward(self, numbers: Tensor) -> Tensor:
        """Encode (N, P) as (N, d_out)."""
        x = numbers[..., None]  # (N, P, 1)
        waves = (2 * math.pi * self.frequencies * x + self.phases).cos()
        bent = torch.einsum("npk,pkd->npd", waves, self.weight) + self.bias
        return torch.cat([x, bent], -1).flatten(1)


class PLE(Encoding):
    """How far each bin of the column is filled: 1 below the number, 0 above it.

    Gorishniy et al. (2022), section 3.2, with bins at quantiles. The first and the last
    bin go on beyond their edges, so that far numbers stay apart.

    >>> ple = PLE(EncodingShape(1, n_bins=2))
    >>> ple.prepare(torch.tensor([[0.0], [1.0], [3.0]]))
    >>> ple(torch.tensor([[0.5], [2.0]]))
    tensor([[0.5000, 0.0000],
            [1.0000, 0.5000]])
    """

    left: Tensor
    slope: Tensor
    low: Tensor
    high: Tensor

    def __init__(self, shape: EncodingShape) -> None:
        super().__init__(shape)
        size = (shape.n_numbers, shape.n_bins)
        for name in ("left", "slope", "low", "high"):  # of each bin, (P, n_bins)
            self.register_buffer(name, torch.zeros(size))
        self.d_out = shape.n_numbers * shape.n_bins

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


ENCODINGS: dict[str, Callable[[EncodingShape], Encoding]] = {
    "plr-lite": PLRLite,
    "plr": PLR,
    "periodic": Periodic,
    "pbld": PBLD,
    "ple": PLE,
    "none": Encoding,
}
