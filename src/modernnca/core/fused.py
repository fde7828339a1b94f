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
from modernnca.core.kernels import halve_all, halve_values, hear_all, steer_all, usable
from modernnca.core.losses import VoteLoss

_LEAST = -60.0
_MANY = 1024  # rows say well enough where the middle is


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
        if points.device.type == "cpu":
            n_at_once = min(128, max(16, 2**22 // len(points)))
        else:
            n_at_once = min(1024, max(128, 2**22 // len(points)))
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
        if slope.is_cuda and torch.cuda.is_current_stream_capturing():
            slope.mul_(gradient)  # a recorded step runs backward once: save the memory
        else:
            slope = slope * gradient
        return (slope, temperature_slope * gradient, None, None, None, None)


def _loss_and_slopes(
    points: Tensor,
    temperature: Tensor,
    batch: Batch,
    geometry: Geometry,
    vote_loss: VoteLoss,
    n_at_once: int,
) -> tuple[Tensor, Tensor, Tensor]:
    """The loss, and its slopes by points (M, D) and by temperature."""
    values = torch.nn.functional.pad(batch.values, (0, 1), value=1.0)  # (M, V + 1)
    if batch.voices is not None:
        values = values * batch.voices[:, None]
    if batch.weights is None:
        weights = points.new_full((batch.n_queries,), 1 / batch.n_queries)
    else:
        weights = batch.weights / batch.weights.sum()
    scene = _Scene(geometry, vote_loss, batch.targets, values, weights)
    if usable(points, values.shape[1]):
        loss, slope, warmth = _by_kernels(points, 1 / temperature, scene)
        return loss, slope, warmth / temperature
    # Scaled points have scaled distances: no pass over the pairs for the temperature.
    scale = 1 / temperature if geometry.root else temperature.rsqrt()
    loss, slope, warmth = _by_chunks(points, scale, scene, n_at_once)
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


class _Pairs(NamedTuple):
    """Points, ready to be multiplied with each other."""

    keys: Tensor  # (M, W) scaled points, ones, squared lengths, zeros for alignment
    asking: Tensor  # (B, W) times keys: squared distances, or negative products
    points: Tensor  # (M, D) the scaled points, as a part of `keys`
    lengths: Tensor  # (M,) squared
    floor: Tensor  # (B, 1) a query's squared distances below it are mere rounding


def _make_pairs(points: Tensor, scale: Tensor, scene: _Scene) -> _Pairs:
    """Place, scale and widen points (M, D)."""
    n_keys, dim = points.shape
    n_queries, geometry = len(scene.weights), scene.geometry
    # Distances do not change with the origin, so the shift needs no gradient.
    middle = geometry.middle(points)
    keys = points.new_zeros(n_keys, -(-(dim + 2) // 8) * 8)
    x = keys[:, :dim].copy_(points)
    if middle is not None:
        x.sub_(middle)
    x.mul_(scale)
    lengths = torch.linalg.vecdot(x, x)
    keys[:, dim], keys[:, dim + 1] = 1.0, lengths
    asking = torch.zeros_like(keys[:n_queries])
    asking[:, :dim] = x[:n_queries] * (-2 if geometry.norms else -1)
    if geometry.norms:
        asking[:, dim], asking[:, dim + 1] = lengths[:n_queries], 1.0
    # Two near points have about the same length, which is what their distance is
    # rounded by. One floor for all, from the longest, would blur the near rows of the
    # others: on cpu_act the longest is 25 times the median.
    floor = 2 * torch.finfo(x.dtype).eps * lengths[:n_queries, None]
    return _Pairs(keys, asking, x, lengths, floor)


def _by_kernels(
    points: Tensor, sharp: Tensor, scene: _Scene
) -> tuple[Tensor, Tensor, Tensor]:
    """Loss, slope by points (M, D), and sum(h u): no pair is ever in memory."""
    geometry, n_queries = scene.geometry, len(scene.weights)
    points = points.contiguous()
    # Any middle will do, and that of a thousand rows is near that of all.
    halves = halve_all(points, geometry.middle(points[: max(n_queries, _MANY)]))
    norms, root = geometry.norms, geometry.root
    words = halve_values(scene.values)
    heard, nearest, _ = hear_all(
        halves.first(n_queries),
        halves,
        words,
        sharp=sharp,
        norms=norms,
        root=root,
        alone=True,
    )
    loss, pull = scene.answer(heard, slice(None))
    slope, warmth = steer_all(
        points,
        halves,
        scene.values,
        pull,
        nearest,
        largest=words.largest,
        sharp=sharp,
        norms=norms,
        root=root,
    )
    return loss, slope, warmth


def _by_chunks(
    points: Tensor, scale: Tensor, scene: _Scene, n_at_once: int
) -> tuple[Tensor, Tensor, Tensor]:
    """Loss, slope by scaled points (M, D), and sum(h u): some queries at a time."""
    (n_keys, dim), n_queries = points.shape, len(scene.weights)
    pairs = _make_pairs(points, scale, scene)
    keys, x = pairs.keys, pairs.points
    n_at_once = min(n_at_once, n_queries)
    # The only memory that pairs take.
    room = x.new_empty(3, n_at_once, n_keys)
    loss, warmth = x.new_zeros(()), x.new_zeros(())
    slope = torch.zeros_like(keys)  # in column `dim`: the sums of what pulls a key
    for start in range(0, n_queries, n_at_once):
        some = slice(start, min(start + n_at_once, n_queries))
        part, h = _count(pairs, scene, room[:, : some.stop - start], some)
        sums = h @ keys  # (b, W)
        # What asks times the keys is the squared distance (or the product) itself, so
        # this is the sum over pairs, without another pass over them.
        loss, warmth = loss + part, warmth + (pairs.asking[some] * sums).sum()
        slope[some, :dim] += sums[:, :dim]
        if scene.geometry.norms:
            slope[some, :dim] -= x[some] * sums[:, dim : dim + 1]
        slope.addmm_(h.T, keys[some])
    gradient = slope[:, :dim]
    if scene.geometry.norms:
        gradient.addcmul_(x, slope[:, dim : dim + 1], value=-1)
    return loss, gradient, warmth


def _count(
    pairs: _Pairs, scene: _Scene, room: Tensor, some: slice
) -> tuple[Tensor, Tensor]:
    """The loss of some queries, and h / u (b, M); h where u has no root."""
    u, p, h = room  # (b, M) each
    torch.mm(pairs.asking[some], pairs.keys.T, out=u)
    if scene.geometry.norms:
        torch.maximum(u, pairs.floor[some], out=u)
    if scene.geometry.root:
        u.sqrt_()
    u[:, some].fill_diagonal_(torch.inf)  # nobody answers itself
    # Weights below the least normal number would slow a CPU down several times over
    # (adult: from 2.3 s an epoch to 6 s as distances grow); e^-60 of the nearest row's
    # weight is as good as nothing.
    torch.sub(u.amin(1, keepdim=True), u, out=p).clamp_min_(_LEAST).exp_()
    p[:, some].fill_diagonal_(0.0)
    loss, pull = scene.answer(p @ scene.values, some)
    torch.mm(pull, scene.values.T, out=h).mul_(p)
    if scene.geometry.root:
        u[:, some].fill_diagonal_(1.0)  # where h is 0
        h.div_(u)
    return loss, h


def _loss_of_votes(
    vote_loss: VoteLoss, votes: Tensor, targets: Tensor
) -> tuple[Tensor, Tensor]:
    """The loss of each query, and its slope by the votes (b, V): small, so autograd."""
    with torch.enable_grad():
        votes = votes.detach().requires_grad_()
        losses = vote_loss(votes, targets)
        (slope,) = torch.autograd.grad(losses.sum(), votes)
    return losses.detach(), slope
