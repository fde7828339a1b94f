"""The loss of a batch and its gradient in one pass, in bounded memory.

A query's softmax is complete once its row of distances is. So for some queries at a
time we count distances to all keys, votes and loss, and at once the gradient with
respect to queries and keys, and keep nothing of the pairs: the plain way keeps several
B x M matrices for the backward pass and reads them again and again.

With points x and keys' weights c, for the Euclidean distance u between scaled points:

    p_ij = c_j exp(-u_ij),  vote_i = sum_j p_ij v_j / sum_j p_ij,  G_i = dL_i / d vote_i
    h_ij = dL_i / d score_ij = p_ij / (sum_j p_ij) * (G_i . v_j - G_i . vote_i)
    w_ij = -h_ij / u_ij,  dx_i += x_i sum_j w_ij - sum_j w_ij x_j,  dx_j likewise

Columns of ones and of squared lengths beside x and v let matrix products do the sums.
This file knows the distances that follow from inner products; `core.learner` takes the
plain way for the others. The tests hold the one to the other.
"""

from typing import Any, NamedTuple

import torch
from torch import Tensor

from modernnca.core.geometry import Geometry
from modernnca.core.losses import VoteLoss


class Batch(NamedTuple):
    """What does not change while the net learns from one batch."""

    n_queries: int  # the first B of the M points ask; each is silent for itself
    values: Tensor  # (M, V) what the points vote for
    targets: Tensor  # (B, V)
    voices: Tensor | None  # (M,) how loud each point is; 0 is silent; None is all ones
    weights: Tensor | None  # (B,) how much each query counts in the loss


def fused_loss(
    points: Tensor,
    temperature: Tensor,
    batch: Batch,
    *,
    geometry: Geometry,
    vote_loss: VoteLoss,
    n_at_once: int | None = None,
) -> Tensor:
    """The mean loss of the queries among `points` (M, D), to be differentiated once.

    Some `n_at_once` queries are answered at a time; the memory is that times M.
    """
    if n_at_once is None:
        # Measured on two cores: 64 to 256 queries are best; a GPU wants more at once.
        most, n_pairs = (128, 2**26) if points.device.type == "cpu" else (1024, 2**22)
        n_at_once = min(most, max(1, n_pairs // len(points)))
    loss: Tensor = _FusedLoss.apply(
        geometry.place(points, None),
        temperature,
        batch,
        geometry,
        vote_loss,
        n_at_once,
    )
    return loss


class _FusedLoss(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        points: Tensor,
        temperature: Tensor,
        batch: Batch,
        geometry: Geometry,
        vote_loss: VoteLoss,
        n_at_once: int,
    ) -> Tensor:
        loss, *slopes = _loss_and_slopes(
            points, temperature, batch, geometry, vote_loss, n_at_once
        )
        ctx.save_for_backward(*slopes)
        return loss

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        slope, temperature_slope = ctx.saved_tensors
        (gradient,) = gradients
        return (slope * gradient, temperature_slope * gradient, None, None, None, None)


def _loss_and_slopes(
    points: Tensor,
    temperature: Tensor,
    batch: Batch,
    geometry: Geometry,
    vote_loss: VoteLoss,
    n_at_once: int,
) -> tuple[Tensor, Tensor, Tensor]:
    """The loss, and its slopes by points (M, D) and by temperature."""
    n_queries, (n_keys, dim) = batch.n_queries, points.shape
    # Scaled points have scaled distances: no pass over the pairs for the temperature.
    scale = 1 / temperature if geometry.root else temperature.rsqrt()
    # Side by side: the points, ones, squared lengths. Distances do not change with the
    # origin, so the shift to the middle needs no gradient.
    keys = points.new_ones(n_keys, dim + 2)
    x, x_one = keys[:, :dim], keys[:, : dim + 1]  # (M, D), (M, D + 1)
    middle = geometry.middle(points)
    torch.mul(points if middle is None else points - middle, scale, out=x)
    norms = torch.linalg.vecdot(x, x)  # (M,)
    keys[:, -1] = norms
    asking = -x[:n_queries]
    if geometry.norms:
        one = x.new_ones(n_queries, 1)
        asking = torch.cat([2 * asking, norms[:n_queries, None], one], 1)
    else:
        keys = x
    # Below this, a squared distance is the rounding of its parts.
    floor = 4 * torch.finfo(x.dtype).eps * norms.max()
    values = torch.cat([batch.values, x.new_ones(n_keys, 1)], 1)  # (M, V + 1)
    if batch.voices is not None:
        values = values * batch.voices[:, None]
    if batch.weights is None:
        weights = x.new_full((n_queries,), 1 / n_queries)
    else:
        weights = batch.weights / batch.weights.sum()

    n_at_once = min(n_at_once, n_queries)
    buffers = x.new_empty(3, n_at_once, n_keys)  # the only memory that pairs take
    loss, temperature_slope = x.new_zeros(()), x.new_zeros(())
    slope = torch.zeros_like(x_one)  # its last column sums up what keys are pulled by
    for start in range(0, n_queries, n_at_once):
        some = slice(start, min(start + n_at_once, n_queries))
        u, p, h = buffers[:, : some.stop - start]  # (b, M) each
        torch.mm(asking[some], keys.T, out=u)
        if geometry.norms:
            u.clamp_min_(floor)
        if geometry.root:
            u.sqrt_()
        u[:, some].fill_diagonal_(torch.inf)  # nobody answers itself
        torch.sub(u.amin(1, keepdim=True), u, out=p).exp_()
        heard = p @ values  # (b, V + 1)
        loud = heard[:, -1:]
        votes = heard[:, :-1] / loud
        losses, pull = _loss_of_votes(vote_loss, votes, batch.targets[some])
        loss += losses @ weights[some]
        pull = pull * (weights[some, None] / loud)  # (b, V)
        against = -(pull * votes).sum(1, keepdim=True)
        torch.mm(torch.cat([pull, against], 1), values.T, out=h).mul_(p)
        u[:, some].fill_diagonal_(1.0)  # where h is 0, and so is their product
        temperature_slope += torch.dot(h.view(-1), u.view(-1))
        if geometry.root:
            h.div_(u)
        sums = h @ x_one  # (b, D + 1)
        if geometry.norms:
            slope[some, :-1] += sums[:, :-1] - x[some] * sums[:, -1:]
        else:
            slope[some] += sums
        slope.addmm_(h.T, x_one[some])
    gradient = slope[:, :-1]
    if geometry.norms:
        gradient.addcmul_(x, slope[:, -1:], value=-1)
    if geometry.norms and not geometry.root:
        scale = 2 * scale
    return loss, gradient.mul_(scale), temperature_slope / temperature


def _loss_of_votes(
    vote_loss: VoteLoss, votes: Tensor, targets: Tensor
) -> tuple[Tensor, Tensor]:
    """The loss of each query, and its slope by the votes (b, V): small, so autograd."""
    with torch.enable_grad():
        votes = votes.detach().requires_grad_()
        losses = vote_loss(votes, targets)
        (slope,) = torch.autograd.grad(losses.sum(), votes)
    return losses.detach(), slope
