"""What holds for every loss in LOSSES; a new one is tested once listed."""

import pytest
import torch

from modernnca.core.losses import LOSSES

CLASSES = torch.tensor([0, 1, 1, 2, 0, 1, 2])
KINDS = [
    (name, kind)
    for name, loss in LOSSES.items()
    for kind in ("classification", "regression", "of_shares")
    if getattr(loss, kind) is not None
]


@pytest.fixture(params=KINDS, ids=" of ".join)
def case(request, draw):
    """A loss of log-shares, scores (4, 7), values (7, V) and targets (4, V)."""
    name, kind = request.param
    values = draw(7, 1) if kind == "regression" else torch.eye(3).double()[CLASSES]
    targets = values[[0, 1, 3, 5]]
    scores = draw(4, 7)
    scores[0, 2:] = scores[2, 3] = -torch.inf  # some keys are masked
    return by_shares(LOSSES[name], kind), scores, values, targets


def by_shares(loss, kind):
    """A loss as a function of log-shares (B, M), values and targets."""
    if kind == "of_shares":
        return loss.of_shares
    vote_loss = getattr(loss, kind)
    return lambda log_shares, values, targets: vote_loss(
        log_shares.exp() @ values, targets
    )


def test_every_loss_has_exactly_one_form_for_classification():
    for loss in LOSSES.values():
        assert callable(loss.classification) != callable(loss.of_shares)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_shape_and_dtype(case, dtype):
    loss, *tensors = case
    scores, values, targets = (tensor.to(dtype) for tensor in tensors)
    losses = loss(scores.log_softmax(1), values, targets)
    assert losses.shape == (4,)
    assert losses.dtype == dtype
    assert losses.isfinite().all()


def test_masked_keys_have_zero_gradients(case):
    loss, scores, values, targets = case
    scores.requires_grad_()
    loss(scores.log_softmax(1), values, targets).sum().backward()
    assert scores.grad.isfinite().all()
    assert (scores.grad[scores.isneginf()] == 0).all()


def test_masking_a_key_equals_removing_it(case):
    loss, scores, values, targets = case
    scores[:, [2, 6]] = -torch.inf
    left = [0, 1, 3, 4, 5]
    torch.testing.assert_close(
        loss(scores.log_softmax(1), values, targets),
        loss(scores[:, left].log_softmax(1), values[left], targets),
    )


def test_the_order_of_the_keys_does_not_matter(case):
    loss, scores, values, targets = case
    order = torch.tensor([6, 2, 0, 5, 1, 4, 3])
    log_shares = scores.log_softmax(1)
    torch.testing.assert_close(
        loss(log_shares[:, order], values[order], targets),
        loss(log_shares, values, targets),
    )


def test_a_query_does_not_depend_on_the_other_queries(case):
    loss, scores, values, targets = case
    log_shares = scores.log_softmax(1)
    whole = loss(log_shares, values, targets)
    for i in range(4):
        alone = loss(log_shares[i : i + 1], values, targets[i : i + 1])
        torch.testing.assert_close(alone, whole[i : i + 1])


def test_larger_shares_of_similar_rows_lower_the_loss(case):
    loss, _, values, _ = case
    alike = torch.cdist(values, values, p=1)  # (7, 7): zero for the same label
    near, even, far = (
        loss((-strength * alike).log_softmax(1), values, values).mean()
        for strength in (2.0, 0.0, -2.0)
    )
    assert near < even < far


@pytest.mark.parametrize("name", LOSSES)
def test_the_kernel_falls_with_the_distance_and_is_one_at_zero(name):
    scores = LOSSES[name].kernel(torch.linspace(0, 50, 100))
    assert scores[0] == 0
    assert (scores.diff() < 0).all()
