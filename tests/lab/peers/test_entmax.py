"""Entmax and entmoid against bisection, by hand and by finite differences."""

import pytest
import torch

from modernnca.lab.peers.entmax import entmax15, entmoid15


def slow_entmax15(scores):
    """Find the threshold by bisection."""
    x = scores.double() / 2
    high = x.amax(-1, keepdim=True)
    low = high - 1
    for _ in range(80):
        middle = (low + high) / 2
        total = (x - middle).clamp(min=0).square().sum(-1, keepdim=True)
        low = torch.where(total > 1, middle, low)
        high = torch.where(total > 1, high, middle)
    return (x - low).clamp(min=0).square()


@pytest.mark.parametrize("n", [1, 2, 7, 1000])
@pytest.mark.parametrize("scale", [0.01, 1.0, 30.0])
def test_entmax_equals_bisection(n, scale):
    scores = scale * torch.randn(20, n, generator=torch.Generator().manual_seed(0))
    weights = entmax15(scores)
    assert torch.allclose(weights.double(), slow_entmax15(scores), atol=1e-6)
    assert torch.allclose(weights.sum(-1), torch.ones(20), atol=1e-5)


def test_entmax_by_hand():
    # Two scores, 1.2 apart: halved 0.6 and 0; (0.6 + u)^2 + u^2 = 1 gives u.
    u = (-0.6 + (2 - 0.36) ** 0.5) / 2
    expected = torch.tensor([(0.6 + u) ** 2, u**2])
    assert torch.allclose(entmax15(torch.tensor([1.2, 0.0])), expected)


def test_entmax_gives_low_scores_exactly_zero():
    assert entmax15(torch.tensor([2.0, 0.0, -1.0])).tolist() == [1.0, 0.0, 0.0]
    scores = torch.randn(50, 100, generator=torch.Generator().manual_seed(0))
    assert (entmax15(scores) == 0).float().mean() > 0.8


def test_entmax_is_invariant_to_shifts_and_equivariant_to_permutations():
    scores = torch.randn(5, 9, generator=torch.Generator().manual_seed(0))
    weights = entmax15(scores)
    assert torch.allclose(entmax15(scores + 7), weights, atol=1e-5)
    order = torch.randperm(9)
    assert torch.allclose(entmax15(scores[:, order]), weights[:, order], atol=1e-6)


@pytest.mark.parametrize("function", [entmax15, entmoid15])
def test_the_gradient_equals_finite_differences(function):
    generator = torch.Generator().manual_seed(0)
    scores = torch.randn(6, 5, generator=generator, dtype=torch.float64) * 1.5
    assert torch.autograd.gradcheck(function, scores.requires_grad_())


def test_entmoid_is_the_entmax_of_a_score_and_zero():
    scores = torch.linspace(-3, 3, 61)
    pairs = torch.stack([scores, torch.zeros(61)], 1)
    assert torch.allclose(entmoid15(scores), entmax15(pairs)[:, 0], atol=1e-6)
    assert torch.allclose(entmoid15(scores) + entmoid15(-scores), torch.ones(61))
    assert (entmoid15(scores)[scores <= -2] == 0).all()
    assert (entmoid15(scores)[scores >= 2] == 1).all()
