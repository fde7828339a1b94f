"""Losses of a batch, given the votes of its neighbors, by name.

Most losses look at the votes alone:

    vote_loss(votes (B, V), targets (B, V)) -> (B,)

Only these have a fused gradient (`kernels.fused_loss`). One loss looks at the share of
each key in the vote, as a logarithm, since KL needs it so; -inf means masked:

    share_loss(log_shares (B, M), values (M, V), targets (B, V)) -> (B,)

Classes are one-hot rows (targets may be smoothed), numbers are one column.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from modernnca.core.softnn import Kernel, exponential, student

VoteLoss = Callable[[Tensor, Tensor], Tensor]
ShareLoss = Callable[[Tensor, Tensor, Tensor], Tensor]

# The least probability that the log loss sees, as in the public code: among sampled
# neighbors a class may be missing, and the loss must stay finite.
FLOOR = 1e-7


def log_loss(votes: Tensor, targets: Tensor) -> Tensor:
    """Minus the log of the vote (B, V) for the right class.

    >>> votes, targets = torch.tensor([[0.25, 0.75]]), torch.tensor([[0.0, 1.0]])
    >>> log_loss(votes, targets).exp()
    tensor([1.3333])
    """
    return -(targets * (votes + FLOOR).log()).sum(1)


def squared_error(votes: Tensor, targets: Tensor) -> Tensor:
    """The squared difference of vote (B, V) and target."""
    return (votes - targets).square().sum(1)


def log_loss_gradient(votes: Tensor, targets: Tensor) -> Tensor:
    """The gradient of `log_loss` by the votes (B, V)."""
    return -targets / (votes + FLOOR)


def squared_error_gradient(votes: Tensor, targets: Tensor) -> Tensor:
    """The gradient of `squared_error` by the votes (B, V)."""
    return 2 * (votes - targets)


# Those that are known; others are left to autograd.
GRADIENTS: dict[VoteLoss, VoteLoss] = {
    log_loss: log_loss_gradient,
    squared_error: squared_error_gradient,
}


def missed_probability(votes: Tensor, targets: Tensor) -> Tensor:
    """One minus the vote (B, V) for the right class.

    The loss of the original NCA, which maximizes the sum of these probabilities (the
    expected leave-one-out accuracy).
    """
    return 1 - (votes * targets).sum(1)


def kl_to_class(log_shares: Tensor, values: Tensor, targets: Tensor) -> Tensor:
    """The divergence of the shares from an even split among rows of the same class.

    KL(even split | shares), as in MCML (Globerson and Roweis, 2005). Within a batch and
    with cosine distances it is, up to the constant log of the number of rows in the
    class, the supervised contrastive loss (Khosla et al., 2020), which TabCon uses.
    A row without another row of its class has a loss of zero. The split is even among
    rows, whatever their weights.
    """
    alike = (targets @ values.T).masked_fill(log_shares.isneginf(), 0)  # (B, M)
    total = alike.sum(1, keepdim=True)
    even = alike / total.clamp_min(torch.finfo(total.dtype).tiny)
    # xlogy(0, .) is 0; a masked row has even = 0 and must not bring in 0 * inf.
    finite = log_shares.masked_fill(log_shares.isneginf(), 0)
    return (torch.xlogy(even, even) - even * finite).sum(1)


@dataclass(frozen=True)
class Loss:
    """A loss for each task, and the kernel of the vote it is made for."""

    classification: VoteLoss | None
    regression: VoteLoss | None
    kernel: Kernel = exponential
    of_shares: ShareLoss | None = None  # instead of the first


LOSSES: dict[str, Loss] = {
    "log": Loss(log_loss, squared_error),
    "sum": Loss(missed_probability, None),
    "mcml": Loss(None, None, of_shares=kl_to_class),
    "t-distribution": Loss(log_loss, squared_error, student),
}
