"""Transforms of standardized numbers inside a network, by name.

Members of an ensemble may see the same table in different ways and err in different
places. Shapes: N rows, P columns. A transform learns in `prepare`, before training.
"""

import torch
from torch import Tensor, nn

_N_QUANTILES = 500
_MIN_SHARE = 1e-7  # of a normal distribution; what is farther out is clipped
_MAX_SCALED = 1e15  # the square of more overflows float32


class Transform(nn.Module):
    """The base of all transforms; it changes nothing."""

    def __init__(self, n_numbers: int) -> None:
        super().__init__()

    def prepare(self, numbers: Tensor) -> None:
        """Learn from the training numbers (N, P)."""

    def forward(self, numbers: Tensor) -> Tensor:
        """Transform the numbers (N, P)."""
        return numbers


class Clipped(Transform):
    """Numbers beyond the range seen in training become the nearest end of that range.

    A periodic encoding is arbitrary for numbers that it has never seen.

    >>> transform = Clipped(1)
    >>> transform.prepare(torch.tensor([[0.0], [1.0], [2.0]]))
    >>> transform(torch.tensor([[-9.0], [1.5], [9.0]])).T
    tensor([[0.0000, 1.5000, 2.0000]])
    """

    low: Tensor
    high: Tensor

    def __init__(self, n_numbers: int) -> None:
        super().__init__(n_numbers)
        self.register_buffer("low", torch.zeros(n_numbers))
        self.register_buffer("high", torch.zeros(n_numbers))

    def prepare(self, numbers: Tensor) -> None:
        """Learn the range of each column."""
        self.low, self.high = numbers.amin(0), numbers.amax(0)

    def forward(self, numbers: Tensor) -> Tensor:
        """Clip the numbers (N, P)."""
        return numbers.clamp(self.low, self.high)


class Squashed(Transform):
    """Scaled by the interquartile range, then softly clipped at 3.

    From RealMLP (Holzmüller et al., 2024).

    >>> transform = Squashed(1)
    >>> transform.prepare(torch.tensor([[0.0], [1.0], [2.0], [3.0], [1e9]]))
    >>> transform(torch.tensor([[0.0], [2.0], [1e9]])).T
    tensor([[-0.9487,  0.0000,  3.0000]])
    """

    median: Tensor
    scale: Tensor

    def __init__(self, n_numbers: int) -> None:
        super().__init__(n_numbers)
        self.register_buffer("median", torch.zeros(n_numbers))
        self.register_buffer("scale", torch.ones(n_numbers))

    def prepare(self, numbers: Tensor) -> None:
        """Learn the medians and scales of the columns."""
        low, lower, median, upper, high = _quantiles(numbers, 5)
        width = torch.where(upper > lower, upper - lower, (high - low) / 2)
        self.median = median
        self.scale = torch.where(width > 0, 1 / width, 0.0)

    def forward(self, numbers: Tensor) -> Tensor:
        """Scale and squash the numbers (N, P)."""
        scaled = ((numbers - self.median) * self.scale).clamp(-_MAX_SCALED, _MAX_SCALED)
        return scaled / (1 + (scaled / 3) ** 2).sqrt()


class Quantile(Transform):
    """Mapped to a normal distribution by rank, as scikit-learn's QuantileTransformer.

    >>> transform = Quantile(1)
    >>> transform.prepare(torch.arange(11.0)[:, None])
    >>> transform(torch.tensor([[-9.0], [5.0], [10.0]])).T.round(decimals=1)
    tensor([[-5.2000,  0.0000,  5.2000]])
    """

    quantiles: Tensor

    def __init__(self, n_numbers: int) -> None:
        super().__init__(n_numbers)
        self.register_buffer("quantiles", torch.zeros(n_numbers, _N_QUANTILES))

    def prepare(self, numbers: Tensor) -> None:
        """Learn the quantiles of the columns; of few rows few, and interpolate."""
        n_known = min(max(min(len(numbers) // 30, _N_QUANTILES), 10), len(numbers))
        known = _quantiles(numbers, n_known)
        self.quantiles = _quantiles(known, _N_QUANTILES).T.contiguous()

    def forward(self, numbers: Tensor) -> Tensor:
        """Map the numbers (N, P) to normal quantiles of their ranks."""
        columns = numbers.T.contiguous()  # (P, N)
        known, last = self.quantiles, _N_QUANTILES - 1
        below = torch.searchsorted(known, columns)  # quantiles below the number
        not_above = torch.searchsorted(known, columns, right=True)
        low = (below - 1).clamp(0, last)
        high = below.clamp(0, last)
        at_low, at_high = known.gather(1, low), known.gather(1, high)
        step = (columns - at_low) / (at_high - at_low).clamp_min(1e-30)
        between = low + step.clamp(0, 1).double()
        # A number that equals one or several quantiles gets the middle of their ranks.
        middle = (below + not_above - 1).double() / 2
        rank = torch.where(not_above > below, middle, between) / last
        rank = torch.where(columns <= known[:, :1], 0.0, rank)
        rank = torch.where(columns >= known[:, -1:], 1.0, rank)
        share = rank.clamp(_MIN_SHARE, 1 - _MIN_SHARE)
        return torch.special.ndtri(share).to(numbers.dtype).T


def _quantiles(numbers: Tensor, n: int) -> Tensor:
    """`n` quantiles at equal steps of each column, from least to largest: (n, P)."""
    ordered = numbers.sort(0).values
    places = torch.linspace(
        0, len(ordered) - 1, n, dtype=torch.float64, device=numbers.device
    )
    low = places.floor().long()
    high = (low + 1).clamp_max(len(ordered) - 1)
    share = (places - low).to(numbers.dtype)[:, None]
    return torch.lerp(ordered[low], ordered[high], share)


TRANSFORMS: dict[str, type[Transform]] = {
    "standard": Transform,
    "squashed": Squashed,
    "quantile": Quantile,
}
