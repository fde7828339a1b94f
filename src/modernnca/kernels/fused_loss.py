"""The loss of a batch and its gradient in one pass, in bounded memory.

The softmax of a query is complete once its row of distances is. So for some queries at
a time we compute the distances to all keys, the votes and the loss, and at once the
gradient with respect to queries and keys, and keep none of the pairs: the plain way
keeps several B x M matrices for the backward pass and reads them again and again.

With points x, key weights c, and the Euclidean distance u between scaled points:

    p_ij = c_j exp(-u_ij),  vote_i = sum_j p_ij v_j / sum_j p_ij,  G_i = dL_i / d vote_i
    h_ij = dL_i / d score_ij = p_ij / (sum_j p_ij) * (G_i . v_j - G_i . vote_i)
    w_ij = -h_ij / u_ij,  dx_i += x_i sum_j w_ij - sum_j w_ij x_j,  dx_j likewise

Columns of ones and of squared norms beside x and v let matrix products do the sums.
This file knows the distances that follow from inner products; `ensemble.learner` takes
the plain way for the others. The tests hold the one to the other.
"""

import math
from typing import Any, NamedTuple

import torch
from torch import Tensor

from modernnca.core.losses import GRADIENTS, VoteLoss
from modernnca.core.products import linear, matmul
from modernnca.kernels.geometry import Geometry
from modernnca.kernels.vote_kernels import (
    split_points,
    split_values,
    supported,
    vote_backward,
    vote_forward,
)

MIN_SCORE = -60.0  # relative to the nearest key; see `_pair_gradient`
# On a CPU 2^x takes half as long as e^x, so there distances are in units of ln 2.
LN2 = math.log(2.0)
_N_FOR_CENTER = 1024  # rows are enough to estimate the center
# Two different points are at least this far apart, squared: where all points coincide,
# a distance of zero would divide zero by zero in the gradient.
_MIN_SQUARED = 1e-30


class Batch(NamedTuple):
    """What does not change while the network learns from one batch."""

    n_queries: int  # the first B of the M points are queries; none votes on itself
    values: Tensor  # (M, V) what the points vote for
    targets: Tensor  # (B, V)
    key_weights: Tensor | None  # (M,) of the points; 0 is masked; None is all ones
    query_weights: Tensor | None  # (B,) of the queries in the loss


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

    With points (G, M, D) and temperatures (G,) of several networks it is the sum of
    their losses, so that each has its own gradient. `n_at_once` queries are processed
    at a time; the memory is that times M.
    """
    if n_at_once is None:
        # Measured on one core: large chunks cost fewer calls, and little cache.
        n_keys = points.shape[-2]
        if points.device.type == "cpu":
            n_at_once = min(512, max(16, 2**20 // n_keys))
        else:
            n_at_once = min(1024, max(128, 2**22 // n_keys))
    loss: Tensor = _FusedLoss.apply(
        geometry.prepare(points, None),
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
        head = _make_head(batch, points, geometry, vote_loss)
        if points.dim() == 2:
            loss, *gradients = _loss_and_gradients(points, temperature, head, n_at_once)
        else:
            parts = [
                _loss_and_gradients(own, own_temperature, head, n_at_once)
                for own, own_temperature in zip(points, temperature, strict=True)
            ]
            loss = torch.stack([part[0] for part in parts]).sum()
            gradients = [torch.stack([part[i] for part in parts]) for i in (1, 2)]
        ctx.save_for_backward(*gradients)
        return loss

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        of_points, of_temperature = ctx.saved_tensors
        (gradient,) = gradients
        if of_points.is_cuda and torch.cuda.is_current_stream_capturing():
            of_points.mul_(gradient)  # a graph runs backward once: save the memory
        else:
            of_points = of_points * gradient
        return (of_points, of_temperature * gradient, None, None, None, None)


def _make_head(
    batch: Batch, points: Tensor, geometry: Geometry, vote_loss: VoteLoss
) -> "_Head":
    """What the losses of all networks share."""
    values = torch.nn.functional.pad(batch.values, (0, 1), value=1.0)  # (M, V + 1)
    if batch.key_weights is not None:
        values = values * batch.key_weights[:, None]
    if batch.query_weights is None:
        weights = points.new_full((batch.n_queries,), 1 / batch.n_queries)
    else:
        weights = batch.query_weights / batch.query_weights.sum()
    # Products with few columns are eight times as fast along rows of the transpose.
    transposed = values.T.contiguous()
    return _Head(geometry, vote_loss, batch.targets, values, transposed, weights)


def _loss_and_gradients(
    points: Tensor, temperature: Tensor, head: "_Head", n_at_once: int
) -> tuple[Tensor, Tensor, Tensor]:
    """The loss, and its gradients by points (M, D) and by temperature."""
    geometry = head.geometry
    if supported(points, head.values.shape[1]):
        loss, gradient, score_sum = _by_kernels(points, 1 / temperature, head)
        return loss, gradient, score_sum / temperature
    # Scaled points have scaled distances: no pass over the pairs for the temperature.
    inverse = 1 / (temperature.to(points.dtype) * LN2)
    scale = inverse if geometry.root else inverse.sqrt()
    loss, gradient, score_sum = _by_chunks(points, scale, head, n_at_once)
    scale = scale * (2 * LN2 if geometry.norms and not geometry.root else LN2)
    return loss, gradient.mul_(scale), score_sum * (LN2 / temperature)


class _Head(NamedTuple):
    """What turns sums over keys into a loss; the same for all pairs."""

    geometry: Geometry
    vote_loss: VoteLoss
    targets: Tensor  # (B, V)
    values: Tensor  # (M, V + 1) values and ones, times the weights of the keys
    transposed: Tensor  # (V + 1, M) the same
    weights: Tensor  # (B,) of the queries in the loss, out of 1

    def loss(self, sums: Tensor, some: slice) -> tuple[Tensor, Tensor]:
        """The loss of weighted sums of values (b, V + 1), and its gradient by them."""
        total = sums[:, -1:]
        votes = sums[:, :-1] / total
        losses, gradient = _loss_of_votes(self.vote_loss, votes, self.targets[some])
        gradient = gradient * (self.weights[some, None] / total)
        of_total = -(gradient * votes).sum(1, keepdim=True)
        return losses @ self.weights[some], torch.cat([gradient, of_total], 1)


class _Pairs(NamedTuple):
    """Points, ready to be multiplied with each other."""

    keys: Tensor  # (M, W) scaled points, ones, squared norms, zeros for alignment
    queries: Tensor  # (B, W) times keys: squared distances, or negative products
    points: Tensor  # (M, D) the scaled points, as a part of `keys`
    floor: Tensor  # (B, 1) a query's squared distances below it are mere rounding


def _make_pairs(points: Tensor, scale: Tensor, head: _Head) -> _Pairs:
    """Center, scale and extend points (M, D)."""
    n_keys, dim = points.shape
    n_queries, geometry = len(head.weights), head.geometry
    # Distances do not depend on the origin, so the shift needs no gradient.
    center = geometry.center(points)
    keys = points.new_zeros(n_keys, -(-(dim + 2) // 8) * 8)
    x = keys[:, :dim].copy_(points)
    if center is not None:
        x.sub_(center)
    x.mul_(scale)
    norms = torch.linalg.vecdot(x, x)
    keys[:, dim], keys[:, dim + 1] = 1.0, norms
    queries = torch.zeros_like(keys[:n_queries])
    queries[:, :dim] = x[:n_queries] * (-2 if geometry.norms else -1)
    if geometry.norms:
        queries[:, dim], queries[:, dim + 1] = norms[:n_queries], 1.0
    # Two near points have about the same norm, which is what their distance is rounded
    # by. One floor for all, from the largest norm, would blur the near rows of the
    # others: on cpu_act the largest is 25 times the median.
    floor = 2 * torch.finfo(x.dtype).eps * norms[:n_queries, None]
    return _Pairs(keys, queries, x, floor.clamp_min_(_MIN_SQUARED))


def _by_kernels(
    points: Tensor, inverse_temperature: Tensor, head: _Head
) -> tuple[Tensor, Tensor, Tensor]:
    """Loss, gradient by points (M, D), and sum(h u): no pair is ever in memory."""
    geometry, n_queries = head.geometry, len(head.weights)
    points = points.contiguous()
    center = geometry.center(points[: max(n_queries, _N_FOR_CENTER)])
    split = split_points(points, center)
    norms, root = geometry.norms, geometry.root
    values = split_values(head.values)
    forward = vote_forward(
        split.first(n_queries),
        split,
        values,
        inverse_temperature=inverse_temperature,
        norms=norms,
        root=root,
        exclude_self=True,
    )
    loss, of_values = head.loss(forward.sums, slice(None))
    gradient, score_sum = vote_backward(
        points,
        split,
        head.values,
        of_values,
        forward.min_distance,
        max_value=values.max_value,
        inverse_temperature=inverse_temperature,
        norms=norms,
        root=root,
    )
    return loss, gradient, score_sum


def _by_chunks(
    points: Tensor, scale: Tensor, head: _Head, n_at_once: int
) -> tuple[Tensor, Tensor, Tensor]:
    """Loss, gradient by scaled points (M, D), and sum(h u): some queries at a time."""
    (n_keys, dim), n_queries = points.shape, len(head.weights)
    pairs = _make_pairs(points, scale, head)
    keys, x = pairs.keys, pairs.points
    n_at_once = min(n_at_once, n_queries)
    # Of what pairs take, what is used again.
    buffers = x.new_empty(2, n_at_once, n_keys)
    loss, score_sum = x.new_zeros(()), x.new_zeros(())
    gradient = torch.zeros_like(keys)  # in column `dim`: the sums of w over queries
    for start in range(0, n_queries, n_at_once):
        some = slice(start, min(start + n_at_once, n_queries))
        part, h = _pair_gradient(pairs, head, buffers[:, : some.stop - start], some)
        sums = matmul(h, keys)  # (b, W)
        # Queries times keys is the squared distance (or the product) itself, so this is
        # the sum over pairs, without another pass over them.
        loss, score_sum = loss + part, score_sum + (pairs.queries[some] * sums).sum()
        gradient[some, :dim] += sums[:, :dim]
        if head.geometry.norms:
            gradient[some, :dim] -= x[some] * sums[:, dim : dim + 1]
        gradient += matmul(keys[some].T, h).T
    of_points = gradient[:, :dim]
    if head.geometry.norms:
        of_points.addcmul_(x, gradient[:, dim : dim + 1], value=-1)
    return loss, of_points, score_sum


def _pair_gradient(
    pairs: _Pairs, head: _Head, buffers: Tensor, some: slice
) -> tuple[Tensor, Tensor]:
    """The loss of some queries, and h / u (b, M); h where u has no root."""
    p, h = buffers  # (b, M) each
    u = linear(pairs.queries[some], pairs.keys)
    if head.geometry.norms:
        torch.maximum(u, pairs.floor[some], out=u)
    if head.geometry.root:
        u.sqrt_()
    u[:, some].fill_diagonal_(torch.inf)  # no row votes on itself
    # Denormal weights would slow a CPU down several times over (adult: from 2.3 s an
    # epoch to 6 s as distances grow); e^-60 of the nearest row's weight is negligible.
    torch.sub(u.amin(1, keepdim=True), u, out=p).clamp_min_(MIN_SCORE / LN2).exp2_()
    p[:, some].fill_diagonal_(0.0)
    loss, of_values = head.loss((head.transposed @ p.T).T, some)
    torch.mm(of_values, head.transposed, out=h).mul_(p)
    if head.geometry.root:
        u[:, some].fill_diagonal_(1.0)  # where h is 0
        h.div_(u)
    return loss, h


def _loss_of_votes(
    vote_loss: VoteLoss, votes: Tensor, targets: Tensor
) -> tuple[Tensor, Tensor]:
    """The loss of each query, and its gradient by the votes (b, V)."""
    if vote_loss in GRADIENTS:
        return vote_loss(votes, targets), GRADIENTS[vote_loss](votes, targets)
    with torch.enable_grad():
        votes = votes.detach().requires_grad_()
        losses = vote_loss(votes, targets)
        (gradient,) = torch.autograd.grad(losses.sum(), votes)
    return losses.detach(), gradient
