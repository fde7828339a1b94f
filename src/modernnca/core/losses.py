"""Losses of a batch whose neighbors have spoken, by name.

An objective sees the logarithm of each key's share of the vote, what the keys hold
and what the asking rows should hold; it gives one number for each asking row:

    objective(log_shares (B, M), values (M, V), targets (B, V)) -> (B,)

Classes come as one-hot rows (targets may be smoothed), numbers as one column. Shares
are logarithms because one objective (KL) needs them so, and -inf means silent.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from modernnca.core.softnn import Kernel, exponential, student

Objective = Callable[[Tensor, Tensor, Tensor], Tensor]
VoteLoss = Callable[[Tensor, Tensor], Tensor]

# The least probability that the log loss sees. As in the public code: with sampled
# neighbors, a class may have no voice at all, and the loss must stay finite.
FLOOR = 1e-7


def log_loss_of_votes(votes: Tensor, targets: Tensor) -> Tensor:
    """Minus the log of the vote (B, V) for the right class.

    >>> votes, targets = torch.tensor([[0.25, 0.75]]), torch.tensor([[0.0, 1.0]])
    >>> log_loss_of_votes(votes, targets).exp()
    tensor([1.3333])
    """
    return -(targets * (votes + FLOOR).log()).sum(1)


def squared_error_of_votes(votes: Tensor, targets: Tensor) -> Tensor:
    """The square of what the vote (B, V) misses the target by."""
    return (votes - targets).square().sum(1)


def missed_probability_of_votes(votes: Tensor, targets: Tensor) -> Tensor:
    """One minus the vote (B, V) for the right class."""
    return 1 - (votes * targets).sum(1)


def log_loss(log_shares: Tensor, values: Tensor, targets: Tensor) -> Tensor:
    """Minus the log of the vote for the right class."""
    return log_loss_of_votes(log_shares.exp() @ values, targets)


def squared_error(log_shares: Tensor, values: Tensor, targets: Tensor) -> Tensor:
    """The square of what the vote misses the target by."""
    return squared_error_of_votes(log_shares.exp() @ values, targets)


def missed_probability(log_shares: Tensor, values: Tensor, targets: Tensor) -> Tensor:
    """One minus the vote for the right class: the original NCA, which maximizes
    the sum of these probabilities (the expected leave-one-out accuracy).
    """
    return missed_probability_of_votes(log_shares.exp() @ values, targets)


# Objectives that look at the votes alone: `core.fused` has their gradient in one pass.
OF_VOTES: dict[Objective, VoteLoss] = {
    log_loss: log_loss_of_votes,
    squared_error: squared_error_of_votes,
    missed_probability: missed_probability_of_votes,
}


def kl_to_class(log_shares: Tensor, values: Tensor, targets: Tensor) -> Tensor:
    """How far the shares are from an even split among the rows of the same class.

    KL(even split | shares), as in MCML (Globerson and Roweis, 2005). Within a batch and
    with cosine distances it is, up to the constant log of the number of rows in the
    class, the supervised contrastive loss (Khosla et al., 2020), which TabCon uses.
    A row that meets nobody of its class has nothing to learn and a loss of zero. The
    split is even among rows, whatever their weights.
    """
    alike = (targets @ values.T).masked_fill(log_shares.isneginf(), 0)  # (B, M)
    total = alike.sum(1, keepdim=True)
    even = alike / total.clamp_min(torch.finfo(total.dtype).tiny)
    # xlogy(0, .) is 0; a silent row has even = 0 and must not bring in 0 * inf.
    finite = log_shares.masked_fill(log_shares.isneginf(), 0)
    return (torch.xlogy(even, even) - even * finite).sum(1)


@dataclass(frozen=True)
class Loss:
    """An objective for each kind of target, and the kernel it votes with."""

    classes: Objective
    numbers: Objective | None
    kernel: Kernel = exponential


LOSSES: dict[str, Loss] = {
    "log": Loss(log_loss, squared_error),
    "sum": Loss(missed_probability, None),
    "mcml": Loss(kl_to_class, None),
    "t-distribution": Loss(log_loss, squared_error, student),
}
