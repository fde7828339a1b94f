"""Losses: by hand, by finite differences, and by the formulas of their papers."""

import math

import numpy as np
import pytest
import torch

from modernnca.core.distances import DISTANCES, cosine, squared_euclidean
from modernnca.core.losses import (
    FLOOR,
    LOSSES,
    kl_to_class,
    log_loss,
    missed_probability,
    squared_error,
)
from modernnca.core.softnn import Rule, soft_vote, student

CLASSES = torch.tensor([0, 1, 1, 2, 0, 1])  # class 2 has one row only
ONE_HOTS = torch.eye(3).double()[CLASSES]


def leave_one_out(points, *, distance=squared_euclidean, temperature=1.0):
    """Log-shares (N, N) of all rows in the vote on each; no row votes on itself."""
    scores = Rule(distance, temperature).scores(
        distance(points, points), mask=torch.eye(len(points)).bool()
    )
    return scores.log_softmax(1)


def leave_one_out_votes(points):
    return leave_one_out(points).exp() @ ONE_HOTS


def of_shares(loss, kind):
    """A loss as a function of log-shares (B, M), values and targets."""
    if kind == "classification" and loss.of_shares is not None:
        return loss.of_shares
    vote_loss = getattr(loss, kind)
    return lambda log_shares, values, targets: vote_loss(
        log_shares.exp() @ values, targets
    )


def slow_shares(points, dissimilarity):
    """The same by double loop: exp(-dissimilarity), normalized over the others."""
    n = len(points)
    weights = np.array(
        [
            [0.0 if i == j else math.exp(-dissimilarity(points[i], points[j]))
             for j in range(n)]
            for i in range(n)
        ]
    )  # fmt: skip
    return weights / weights.sum(1, keepdims=True)


def squared_gap(p, q):
    return float(((p - q) ** 2).sum())


@pytest.mark.parametrize(
    ("name", "kind", "values", "target", "expected"),
    [
        # Shares 1/2, 1/4, 1/4. The right class, the second, has the last two rows.
        ("log", "classification", [[1, 0], [0, 1], [0, 1]], [0, 1], math.log(2)),
        ("sum", "classification", [[1, 0], [0, 1], [0, 1]], [0, 1], 1 / 2),
        # KL(1/2, 1/2 | 1/4, 1/4) = log 2.
        ("mcml", "classification", [[1, 0], [0, 1], [0, 1]], [0, 1], math.log(2)),
        # The mean of 1, 2, 4 is 2; the target is 3.
        ("log", "regression", [[1], [2], [4]], [3], 1),
    ],
)
def test_losses_by_hand(name, kind, values, target, expected):
    log_shares = torch.tensor([[0.5, 0.25, 0.25]]).log()
    found = of_shares(LOSSES[name], kind)(
        log_shares, torch.tensor(values).float(), torch.tensor([target]).float()
    )
    assert found.shape == (1,)
    assert found.item() == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(
    ("vote_loss", "votes", "targets", "expected"),
    [
        (log_loss, [[0.25, 0.75]], [[0, 1]], -math.log(0.75)),
        # Smoothed targets: a weighted sum of the two logarithms.
        (log_loss, [[0.2, 0.8]], [[0.1, 0.9]], -math.log(0.2**0.1 * 0.8**0.9)),
        (missed_probability, [[0.25, 0.75]], [[1, 0]], 0.75),
        (squared_error, [[2.0]], [[5.0]], 9),
    ],
)
def test_losses_of_votes_by_hand(vote_loss, votes, targets, expected):
    found = vote_loss(torch.tensor(votes).double(), torch.tensor(targets).double())
    assert found.shape == (1,)
    assert found.item() == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("distance", DISTANCES)
@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("kind", ["classification", "regression"])
def test_the_gradient_equals_finite_differences(name, kind, distance, draw):
    loss = LOSSES[name]
    if kind == "regression" and loss.regression is None:
        assert name in {"sum", "mcml"}
        return
    labels = ONE_HOTS if kind == "classification" else draw(6, 1)
    measure, mask = DISTANCES[distance], torch.eye(6).bool()

    def losses(points, temperature):
        rule = Rule(measure, temperature, loss.kernel)
        scores = rule.scores(measure(points, points), mask=mask)
        return of_shares(loss, kind)(scores.log_softmax(1), labels, labels)

    inputs = draw(6, 3).requires_grad_(), torch.tensor(0.8).double().requires_grad_()
    assert torch.autograd.gradcheck(losses, inputs)


def test_log_loss_is_minus_the_log_of_the_vote(draw):
    query, keys = draw(4, 3), draw(6, 3)
    rule, targets = Rule(squared_euclidean, 3.0), torch.eye(3).double()[[0, 1, 2, 1]]
    votes = soft_vote(query, keys, ONE_HOTS, rule=rule).mean
    expected = -votes[torch.arange(4), targets.argmax(1)].log()
    torch.testing.assert_close(log_loss(votes, targets), expected, rtol=1e-5, atol=1e-5)


def test_sum_is_the_original_nca_with_its_known_gradient(draw):
    # Goldberger et al. (2004), equations 3 to 5, in plain numpy. NCA maximizes f(A).
    x, start = draw(6, 4).numpy(), 0.5 * draw(2, 4)
    shares = slow_shares(x @ start.numpy().T, squared_gap)
    alike = (CLASSES[:, None] == CLASSES).numpy()
    right = (shares * alike).sum(1)  # p_i
    gradient = np.zeros((4, 4))
    for i in range(6):
        for j in range(6):
            gap = np.outer(x[i] - x[j], x[i] - x[j])
            gradient += (right[i] - alike[i, j]) * shares[i, j] * gap
    gradient = 2 * start.numpy() @ gradient

    a = start.clone().requires_grad_()
    votes = leave_one_out_votes(torch.from_numpy(x) @ a.T)
    losses = missed_probability(votes, ONE_HOTS)
    losses.sum().backward()
    np.testing.assert_allclose(6 - losses.sum().item(), right.sum(), rtol=1e-12)
    np.testing.assert_allclose(-a.grad, gradient, rtol=1e-9, atol=1e-12)


def test_mcml_is_the_divergence_from_the_ideal_neighborhood(draw):
    # Globerson and Roweis (2005): the ideal p0 is even over the same class.
    points = draw(6, 2)
    shares = slow_shares(points.numpy(), squared_gap)
    expected = np.zeros(6)
    for i in range(6):
        mates = [j for j in range(6) if j != i and CLASSES[j] == CLASSES[i]]
        for j in mates:
            ideal = 1 / len(mates)
            expected[i] += ideal * math.log(ideal / shares[i, j])
    found = kl_to_class(leave_one_out(points), ONE_HOTS, ONE_HOTS)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("temperature", [0.1, 1.0])
def test_mcml_with_cosines_is_the_supervised_contrastive_loss(draw, temperature):
    # Khosla et al. (2020), L_out; it counts from the log of the number of positives.
    points = draw(6, 4)
    unit = (points / points.norm(dim=1, keepdim=True)).numpy()
    found = kl_to_class(
        leave_one_out(points, distance=cosine, temperature=temperature),
        ONE_HOTS,
        ONE_HOTS,
    )
    for i in range(6):
        others = [a for a in range(6) if a != i]
        positives = [p for p in others if CLASSES[p] == CLASSES[i]]
        total = sum(math.exp(unit[i] @ unit[a] / temperature) for a in others)
        if not positives:
            assert found[i] == 0
            continue
        contrast = -sum(
            math.log(math.exp(unit[i] @ unit[p] / temperature) / total)
            for p in positives
        ) / len(positives)
        assert found[i].item() == pytest.approx(contrast - math.log(len(positives)))


def test_mcml_is_never_negative_and_zero_only_at_the_ideal():
    even = torch.tensor([[1e-30, 0.5, 0.5]]).double().log()
    uneven = torch.tensor([[1e-30, 0.4, 0.6]]).double().log()
    values, target = torch.eye(2).double()[[0, 1, 1]], torch.eye(2).double()[[1]]
    assert kl_to_class(even, values, target).item() == pytest.approx(0, abs=1e-12)
    assert kl_to_class(uneven, values, target).item() > 0.01


def test_the_only_row_of_a_class_has_zero_mcml_loss_and_gradient(draw):
    points = draw(6, 3).requires_grad_()
    losses = kl_to_class(leave_one_out(points), ONE_HOTS, ONE_HOTS)
    assert losses[3] == 0  # the only row of class 2
    (gradient,) = torch.autograd.grad(losses[3], points, retain_graph=True)
    assert (gradient == 0).all()
    losses.sum().backward()
    assert points.grad.isfinite().all()


def test_a_class_without_votes_has_a_finite_log_loss(draw):
    points = draw(6, 3).requires_grad_()
    losses = log_loss(leave_one_out_votes(points), ONE_HOTS)
    assert losses[3].item() == pytest.approx(-math.log(FLOOR))
    losses.sum().backward()
    assert points.grad.isfinite().all()


def test_the_t_distribution_changes_the_kernel_and_not_the_loss():
    assert LOSSES["t-distribution"].classification is log_loss
    assert LOSSES["t-distribution"].regression is squared_error
    assert LOSSES["t-distribution"].kernel is student
