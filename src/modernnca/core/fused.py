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
from modernnca.core.kernels import hear_all, pull_all, usable
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
        most = 128 if points.device.type == "cpu" else 1024
        n_at_once = min(most, max(16, 2**22 // len(points)))
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
    # Scaled points have scaled distances: no pass over the pairs for the temperature.
    scale = 1 / temperature if geometry.root else temperature.rsqrt()
    middle = geometry.middle(points)
    values = torch.nn.functional.pad(batch.values, (0, 1), value=1.0)  # (M, V + 1)
    if batch.voices is not None:
        values = values * batch.voices[:, None]
    if batch.weights is None:
        weights = points.new_full((batch.n_queries,), 1 / batch.n_queries)
    else:
        weights = batch.weights / batch.weights.sum()
    scene = _Scene(geometry, vote_loss, batch.targets, values, weights)
    if usable(points, values.shape[1]):
        x = (points if middle is None else points - middle) * scale
        loss, slope, warmth = _by_kernels(x, scene)
    else:
        loss, slope, warmth = _by_chunks(points, middle, scale, scene, n_at_once)
    if geometry.norms and not geometry.root:
        scale = 2 * scale
    return loss, slope.mul_(scale), warmth / temperature


class _Scene(NamedTuple):
    """All that stands still while pairs are counted."""

    geometry: Geometry
    vote_loss: VoteLoss
    targets: Tensor  # (B, V)
    values: Tensor  # (M, V + 1) values and ones, times the points' voices
    weights: Tensor  # (B,) the queries' parts of the loss

    def answer(self, heard: Tensor, some: slice) -> tuple[Tensor, Tensor]:
        """From sums heard (b, V + 1): the loss, and the pull (b, V + 1) of values."""
        loud = heard[:, -1:]
        votes = heard[:, :-1] / loud
        losses, pull = _loss_of_votes(self.vote_loss, votes, self.targets[some])
        pull = pull * (self.weights[some, None] / loud)
        against = -(pull * votes).sum(1, keepdim=True)
        return losses @ self.weights[some], torch.cat([pull, against], 1)


def _floor(lengths: Tensor) -> Tensor:
    """Below this, a squared distance is the rounding of its parts (M,)."""
    return 4 * torch.finfo(lengths.dtype).eps * lengths.max()


def _by_kernels(x: Tensor, scene: _Scene) -> tuple[Tensor, Tensor, Tensor]:
    """Loss, slope by scaled points x (M, D), and the sum of h u: on a GPU."""
    n_queries, geometry = len(scene.weights), scene.geometry
    floor = _floor(torch.linalg.vecdot(x, x))
    norms, root, values = geometry.norms, geometry.root, scene.values
    heard, nearest, _ = hear_all(
        x[:n_queries], x, values, norms=norms, root=root, own=True, floor=floor
    )
    loss, pull = scene.answer(heard, slice(None))
    slope, warmth = pull_all(
        x, values, pull, nearest, norms=norms, root=root, floor=floor
    )
    return loss, slope, warmth


def _by_chunks(
    points: Tensor,
    middle: Tensor | None,
    scale: Tensor,
    scene: _Scene,
    n_at_once: int,
) -> tuple[Tensor, Tensor, Tensor]:
    """The same for some queries at a time, on any device."""
    (n_keys, dim), n_queries = points.shape, len(scene.weights)
    geometry, values = scene.geometry, scene.values
    # Side by side: the points, ones, squared lengths, and zeros up to a multiple of 8,
    # which keeps rows aligned. Distances do not change with the origin, so the shift to
    # the middle needs no gradient.
    keys = points.new_zeros(n_keys, -(-(dim + 2) // 8) * 8)  # (M, W)
    x = keys[:, :dim].copy_(points)
    x.sub_(0 if middle is None else middle).mul_(scale)
    lengths = torch.linalg.vecdot(x, x)  # (M,)
    keys[:, dim], keys[:, dim + 1] = 1.0, lengths
    asking = torch.zeros_like(keys[:n_queries])
    asking[:, :dim] = x[:n_queries] * (-2 if geometry.norms else -1)
    if geometry.norms:
        asking[:, dim], asking[:, dim + 1] = lengths[:n_queries], 1.0
    floor = _floor(lengths)

    n_at_once = min(n_at_once, n_queries)
    buffers = x.new_empty(3, n_at_once, n_keys)  # the only memory that pairs take
    loss, warmth = x.new_zeros(()), x.new_zeros(())
    slope = torch.zeros_like(keys)  # in column `dim`: the sums of what pulls a key
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
        part, pull = scene.answer(p @ values, some)
        loss += part
        torch.mm(pull, values.T, out=h).mul_(p)
        u[:, some].fill_diagonal_(1.0)  # where h is 0, and so is their product
        warmth += torch.dot(h.view(-1), u.view(-1))
        if geometry.root:
            h.div_(u)
        sums = h @ keys  # (b, W)
        slope[some, :dim] += sums[:, :dim]
        if geometry.norms:
            slope[some, :dim] -= x[some] * sums[:, dim : dim + 1]
        slope.addmm_(h.T, keys[some])
    gradient = slope[:, :dim]
    if geometry.norms:
        gradient.addcmul_(x, slope[:, dim : dim + 1], value=-1)
    return loss, gradient, warmth


def _loss_of_votes(
    vote_loss: VoteLoss, votes: Tensor, targets: Tensor
) -> tuple[Tensor, Tensor]:
    """The loss of each query, and its slope by the votes (b, V): small, so autograd."""
    with torch.enable_grad():
        votes = votes.detach().requires_grad_()
        losses = vote_loss(votes, targets)
        (slope,) = torch.autograd.grad(losses.sum(), votes)
    return losses.detach(), slope
