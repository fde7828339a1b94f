"""TabCaps: routing, margin loss, and logits from the lengths of capsules."""

import pytest
import torch
from tests.lab.peers.shapes import make_rows

from modernnca.lab.peers import peer
from modernnca.lab.peers.entmax import entmax15
from modernnca.lab.peers.supervised import LabeledRows
from modernnca.lab.peers.tabcaps import (
    Profiles,
    Routing,
    TabCaps,
    TabCapsLearner,
    margin_loss,
)


def make_routing(n_profiles=5, n_capsules=2, d=4):
    torch.manual_seed(0)
    return Routing(n_profiles, n_capsules, d=d, n_words=6)


def make_net(shape, **changes):
    torch.manual_seed(0)
    sizes = {"n_each": 2, "d_mixed": 4, "n_kernels": 3, "d_capsule": 5, "n_words": 6}
    return TabCaps(shape, **{**sizes, "rebuild": 0.01, **changes})


def make_learner(net, rows, y):
    train = LabeledRows(rows, y)
    return TabCapsLearner(
        net,
        train,
        train,
        criterion=None,
        evaluate=lambda outputs: (0.0, 0.0),
        generator=torch.Generator(),
    )


def test_weights_sum_to_one_over_the_profiles():
    weights = make_routing().weights(torch.randn(7, 5, 2, 4))
    assert weights.shape == (7, 5, 2)
    assert torch.allclose(weights.sum(1), torch.ones(7, 2))
    assert (weights > 0).all()


def test_a_vote_that_agrees_with_the_others_weighs_more():
    routing = make_routing()
    with torch.no_grad():
        routing.max_distance.fill_(1.0)
    votes = torch.randn(1, 1, 2, 4).repeat(1, 5, 1, 1)
    assert torch.allclose(routing.weights(votes), torch.full((1, 5, 2), 0.2))
    votes[:, 3] *= -4  # one against four
    against = routing.weights(votes)[0, 3]
    votes[:, 3] *= 0.25
    less_against = routing.weights(votes)[0, 3]
    assert (against < less_against).all()
    assert (less_against < 0.2).all()


def test_votes_beyond_the_maximum_distance_weigh_the_same():
    routing = make_routing()
    with torch.no_grad():
        routing.max_distance.zero_()
    weights = routing.weights(torch.randn(3, 5, 2, 4))
    assert torch.allclose(weights, torch.full((3, 5, 2), 0.2))


def test_routing_equals_its_formula():
    routing = make_routing(n_profiles=3, n_capsules=1, d=4)
    votes = torch.randn(3, 4)
    bags = [
        [1 / (1 + torch.exp(-(vote @ word) / word.norm())) for word in routing.words]
        for vote in votes
    ]
    bags = torch.stack([torch.stack(bag) for bag in bags])
    distance = ((bags - bags.mean(0)) ** 2).mean(1)
    near = (routing.max_distance[:, 0] ** 2 - distance).clamp(min=0)
    share = near.exp() / near.exp().sum()
    mean = (share[:, None] * votes).sum(0)
    expected = (mean - mean.mean()) / (mean.var(correction=0) + 1e-5).sqrt()
    found = routing(votes[None, :, None])[0, 0]
    assert torch.allclose(found, expected, atol=1e-5)


def test_margin_loss_by_hand():
    p = torch.tensor([[0.7, 0.2, 0.1], [0.02, 0.95, 0.03]])
    # Row 0, of class 0: 0.2^2 + 0.5 * 0.1^2; row 1, of class 1, meets all margins.
    found = margin_loss(p.log(), torch.tensor([0, 1]))
    assert torch.allclose(found, torch.tensor((0.04 + 0.005) / 2))
    # If row 1 is of class 2, that is 0.87 too low and class 1 is 0.85 too high.
    found = margin_loss(p[1:].log(), torch.tensor([2]))
    assert torch.allclose(found, torch.tensor(0.87**2 + 0.5 * 0.85**2))


def test_profiles_are_the_columns_times_kernels_and_the_columns():
    torch.manual_seed(0)
    profiles = Profiles(3, d_mixed=2, n_kernels=4)
    x = torch.randn(6, 3)
    found = profiles(x)
    assert found.shape == (6, 5, 5)
    wide = torch.cat([x, profiles.mix(x)], 1)
    for i, kernel in enumerate([*profiles.kernels, torch.ones(5)]):
        profile = wide * kernel
        mean = profile.mean(1, keepdim=True)
        std = profile.std(1, correction=0, keepdim=True)
        assert torch.allclose(found[:, i], (profile - mean) / std, atol=1e-3)


def test_votes_are_sparse_means_of_profiles():
    rows, shape = make_rows(d_out=3)
    net = make_net(shape).eval()
    votes = []
    net.routing.register_forward_pre_hook(lambda module, args: votes.append(args[0]))
    net(rows)
    choice = entmax15(net.choice)
    profiles = net.profiles(net.flat(rows))
    assert votes[0].shape == (6, 4, 6, 5)
    for p, s, t in ((0, 0, 0), (3, 5, 4), (1, 2, 3)):
        expected = profiles[:, p] @ choice[p, s * 5 + t]
        assert torch.allclose(votes[0][:, p, s, t], expected, atol=1e-6)
    assert torch.allclose(choice.sum(2), torch.ones(4, 30), atol=1e-5)
    assert (choice == 0).float().mean() > 0.3


def test_the_logit_of_a_class_is_the_sum_of_the_lengths_of_its_capsules():
    rows, shape = make_rows(d_out=3)
    net = make_net(shape).eval()
    capsules = torch.randn(6, 3, 2, 5)
    expected = torch.stack(
        [
            sum(capsules[:, c, k].square().sum(1).sqrt() for k in (0, 1))
            for c in range(3)
        ],
        1,
    )
    assert torch.allclose(net.class_logits(capsules), expected, atol=1e-6)
    assert net(rows).softmax(1).sum(1).allclose(torch.ones(6))


def test_the_loss_adds_the_reconstruction_error():
    rows, shape = make_rows(d_out=3)
    y = torch.tensor([0, 2, 1, 1, 0, 2])
    net = make_net(shape).eval()
    own = torch.stack([net.capsules(rows)[i, y[i]].flatten() for i in range(6)])
    error = ((net.decoder(own) - net.flat(rows)) ** 2).sum() / 6
    expected = margin_loss(net(rows), y) + 0.01 * error
    assert torch.allclose(make_learner(net, rows, y).loss(torch.arange(6)), expected)


def test_it_is_for_classification_only():
    message = "TabCaps does not support the task 'regression'"
    with pytest.raises(ValueError, match=message):
        peer("tabcaps").build("regression", seed=0)
