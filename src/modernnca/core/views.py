"""How a net sees numbers: as they are, clipped, bent toward the middle, or by rank.

Members of an ensemble may look at the same table in different ways, and err in other
places. Shapes: N rows, P columns. What a view learns, it learns in `prepare`.
"""

import torch
from torch import Tensor, nn

_N_QUANTILES = 500
_LEAST_SHARE = 1e-7  # of a normal distribution; what is farther out is cut


class AsIs(nn.Module):
    """No change; the other views are this one with something learned."""

    def __init__(self, n_numbers: int) -> None:
        super().__init__()

    def prepare(self, numbers: Tensor) -> None:
        """Learn nothing."""

    def forward(self, numbers: Tensor) -> Tensor:
        """Give the numbers (N, P) back."""
        return numbers


class Clipped(AsIs):
    """Numbers beyond those of the rows learned from are taken as the nearest of them.

    A periodic encoding says anything at all of numbers that it has never seen.

    >>> view = Clipped(1)
    >>> view.prepare(torch.tensor([[0.0], [1.0], [2.0]]))
    >>> view(torch.tensor([[-9.0], [1.5], [9.0]])).T
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


class Bent(AsIs):
    """Scaled by the middle half, far ones bent toward 3; see `table.numbers.Robust`.

    >>> view = Bent(1)
    >>> view.prepare(torch.tensor([[0.0], [1.0], [2.0], [3.0], [1e9]]))
    >>> view(torch.tensor([[0.0], [2.0], [1e9]])).T
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
        """Scale and bend the numbers (N, P)."""
        scaled = (numbers - self.median) * self.scale
        return scaled / (1 + (scaled / 3) ** 2).sqrt()


class Ranked(AsIs):
    """Given a normal distribution, by rank; see `table.numbers.Quantile`.

    >>> view = Ranked(1)
    >>> view.prepare(torch.arange(11.0)[:, None])
    >>> view(torch.tensor([[-9.0], [5.0], [10.0]])).T.round(decimals=1)
    tensor([[-5.2000,  0.0000,  5.2000]])
    """

    quantiles: Tensor

    def __init__(self, n_numbers: int) -> None:
        super().__init__(n_numbers)
        self.register_buffer("quantiles", torch.zeros(n_numbers, _N_QUANTILES))

    def prepare(self, numbers: Tensor) -> None:
        """Learn quantiles of the columns; of few rows, few, with steps in between."""
        n_known = min(max(min(len(numbers) // 30, _N_QUANTILES), 10), len(numbers))
        known = _quantiles(numbers, n_known)
        self.quantiles = _quantiles(known, _N_QUANTILES).T.contiguous()

    def forward(self, numbers: Tensor) -> Tensor:
        """Give the numbers (N, P) the place of their rank in a normal distribution."""
        asked = numbers.T.contiguous()  # (P, N)
        known, last = self.quantiles, _N_QUANTILES - 1
        below = torch.searchsorted(known, asked)  # quantiles below the number
        not_above = torch.searchsorted(known, asked, right=True)
        low = (below - 1).clamp(0, last)
        high = below.clamp(0, last)
        at_low, at_high = known.gather(1, low), known.gather(1, high)
        step = (asked - at_low) / (at_high - at_low).clamp_min(1e-30)
        between = low + step.clamp(0, 1).double()
        # A number that is a quantile, or several: the middle of their ranks.
        middle = (below + not_above - 1).double() / 2
        rank = torch.where(not_above > below, middle, between) / last
        rank = torch.where(asked <= known[:, :1], 0.0, rank)
        rank = torch.where(asked >= known[:, -1:], 1.0, rank)
        share = rank.clamp(_LEAST_SHARE, 1 - _LEAST_SHARE)
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


VIEWS: dict[str, type[AsIs]] = {
    "as-is": AsIs,
    "clipped": Clipped,
    "bent": Bent,
    "ranked": Ranked,
}
