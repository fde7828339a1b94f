"""What every loss obeys; listing one in LOSSES is enough to hold it to it."""

import pytest
import torch

from modernnca.core.losses import LOSSES

CLASSES = torch.tensor([0, 1, 1, 2, 0, 1, 2])
KINDS = [
    (name, kind)
    for name, loss in LOSSES.items()
    for kind in ("classes", "numbers")
    if getattr(loss, kind) is not None
]


@pytest.fixture(params=KINDS, ids=" of ".join)
def case(request, draw):
    """An objective, log-shares (4, 7), values (7, V) and targets (4, V)."""
    name, kind = request.param
    values = torch.eye(3).double()[CLASSES] if kind == "classes" else draw(7, 1)
    targets = values[[0, 1, 3, 5]]
    scores = draw(4, 7)
    scores[0, 2:] = scores[2, 3] = -torch.inf  # some are silent
    return getattr(LOSSES[name], kind), scores, values, targets


def test_every_loss_knows_classes():
    assert all(callable(loss.classes) for loss in LOSSES.values())


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_one_finite_number_for_each_row_and_the_dtype_kept(case, dtype):
    objective, *tensors = case
    scores, values, targets = (tensor.to(dtype) for tensor in tensors)
    losses = objective(scores.log_softmax(1), values, targets)
    assert losses.shape == (4,)
    assert losses.dtype == dtype
    assert losses.isfinite().all()


def test_silent_rows_bring_no_nan_into_the_gradient(case):
    objective, scores, values, targets = case
    scores.requires_grad_()
    objective(scores.log_softmax(1), values, targets).sum().backward()
    assert scores.grad.isfinite().all()
    assert (scores.grad[scores.isneginf()] == 0).all()


def test_a_silent_row_is_as_if_it_were_not_there(case):
    objective, scores, values, targets = case
    scores[:, [2, 6]] = -torch.inf
    left = [0, 1, 3, 4, 5]
    torch.testing.assert_close(
        objective(scores.log_softmax(1), values, targets),
        objective(scores[:, left].log_softmax(1), values[left], targets),
    )


def test_the_order_of_the_keys_does_not_matter(case):
    objective, scores, values, targets = case
    order = torch.tensor([6, 2, 0, 5, 1, 4, 3])
    log_shares = scores.log_softmax(1)
    torch.testing.assert_close(
        objective(log_shares[:, order], values[order], targets),
        objective(log_shares, values, targets),
    )


def test_a_row_is_judged_alone(case):
    objective, scores, values, targets = case
    log_shares = scores.log_softmax(1)
    whole = objective(log_shares, values, targets)
    for i in range(4):
        alone = objective(log_shares[i : i + 1], values, targets[i : i + 1])
        torch.testing.assert_close(alone, whole[i : i + 1])


def test_shares_that_go_to_like_rows_cost_less(case):
    objective, _, values, _ = case
    alike = torch.cdist(values, values, p=1)  # (7, 7): zero for the same label
    near, even, far = (
        objective((-strength * alike).log_softmax(1), values, values).mean()
        for strength in (2.0, 0.0, -2.0)
    )
    assert near < even < far


@pytest.mark.parametrize("name", LOSSES)
def test_the_kernel_falls_with_the_distance_and_is_one_at_zero(name):
    scores = LOSSES[name].kernel(torch.linspace(0, 50, 100))
    assert scores[0] == 0
    assert (scores.diff() < 0).all()
