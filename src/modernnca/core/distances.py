"""Pairwise distances, by name.

Each takes queries (..., B, D) and keys (..., M, D) and gives (..., B, M). Smaller means
nearer; a distance may be negative (cosine, dot), since only differences reach the
softmax.
"""

from collections.abc import Callable

import torch
from torch import Tensor

Distance = Callable[[Tensor, Tensor], Tensor]

# Below this, two rows count as one point: the square root is not differentiable there,
# and its gradient is taken as zero.
_COINCIDING = 1e-24

_DIFFERENCES = "donot_use_mm_for_euclid_dist"  # slower than a product, and exact


def squared_euclidean(query: Tensor, keys: Tensor) -> Tensor:
    """Sum of squared differences.

    >>> squared_euclidean(torch.tensor([[0.0, 0.0]]), torch.tensor([[3.0, 4.0]]))
    tensor([[25.]])
    """
    # |q - k|^2 = |q|^2 + |k|^2 - 2qk is one matrix product, but it cancels digits when
    # the points lie far from the origin. Distances do not depend on the origin, so we
    # move it to the mean of the keys; for the same reason the shift needs no gradient.
    # (torch.cdist does not shift: identical float32 rows around 10 get 0.1.)
    center = keys.detach().mean(-2, keepdim=True)
    given, (query, keys) = (query, keys), (query - center, keys - center)
    norms = query.square().sum(-1, keepdim=True) + keys.square().sum(-1).unsqueeze(-2)
    squared = norms - 2 * (query @ keys.mT)  # (B, M)
    if not squared.requires_grad:
        recompute_near_pairs(squared, norms, *given, center)
    return squared.clamp_min(0)


def recompute_near_pairs(
    squared: Tensor,
    norms: Tensor,
    query: Tensor,
    keys: Tensor,
    center: Tensor | float = 0.0,
) -> None:
    """Recompute, from differences, the pairs that lost most digits; in place.

    These are pairs much nearer to each other than to the origin: without this, a
    float32 row is some 0.001 away from itself, and its vote changes with the rest of
    the batch. In training such noise is harmless, and the gradient does not need it.
    `norms` are those of points less `center`, but differences are taken before it is
    subtracted, which would round them.
    """
    near = (squared < norms * 2**-10).nonzero()
    # Tight clusters far apart have many such pairs: a product in float64 is faster.
    if len(near) > squared.numel() // 128 and squared.device.type != "mps":
        if squared.dtype == torch.float64:  # whose product would lose digits as well
            squared.copy_(torch.cdist(query, keys, compute_mode=_DIFFERENCES).square())
            return
        query, keys = query.double() - center, keys.double() - center
        products = (query @ keys.mT).mul_(-2)
        products += query.square().sum(-1, keepdim=True)
        products += keys.square().sum(-1).unsqueeze(-2)
        squared.copy_(products)
        return
    for pairs in near.split(2**18):
        *batch, b, m = pairs.unbind(1)
        difference = query[(*batch, b)] - keys[(*batch, m)]  # (pairs, D)
        squared[(*batch, b, m)] = difference.square().sum(-1)


def euclidean(query: Tensor, keys: Tensor) -> Tensor:
    """Length of the difference; coinciding rows get zero gradient, not NaN.

    >>> euclidean(torch.tensor([[0.0, 0.0]]), torch.tensor([[3.0, 4.0]]))
    tensor([[5.]])
    """
    squared = squared_euclidean(query, keys)
    apart = squared > _COINCIDING
    return torch.where(apart, squared, 1).sqrt() * apart


def manhattan(query: Tensor, keys: Tensor) -> Tensor:
    """Sum of absolute differences (the l1 norm).

    >>> manhattan(torch.tensor([[0.0, 0.0]]), torch.tensor([[3.0, -4.0]]))
    tensor([[7.]])
    """
    return torch.cdist(query, keys, p=1)


def unit(x: Tensor) -> Tensor:
    """Rows scaled to length 1; those next to zero, without a direction, are shorter."""
    return torch.nn.functional.normalize(x, dim=-1, eps=1e-6)


def cosine(query: Tensor, keys: Tensor) -> Tensor:
    """The negative cosine of the angle between two rows, from -1 to 1.

    >>> cosine(torch.tensor([[2.0, 0.0]]), torch.tensor([[5.0, 0.0], [0.0, 1.0]]))
    tensor([[-1., -0.]])
    """
    return -(unit(query) @ unit(keys).mT)


def dot(query: Tensor, keys: Tensor) -> Tensor:
    """The negative inner product.

    >>> dot(torch.tensor([[2.0, 1.0]]), torch.tensor([[5.0, 0.0]]))
    tensor([[-10.]])
    """
    return -(query @ keys.mT)


DISTANCES: dict[str, Distance] = {
    "euclidean": euclidean,
    "squared-euclidean": squared_euclidean,
    "manhattan": manhattan,
    "cosine": cosine,
    "dot": dot,
}
