"""PTaRL: prototypes are k-means centers, and its three losses by hand."""

import numpy as np
import pytest
import torch
from scipy.optimize import linprog
from sklearn.cluster import KMeans
from tests.lab.peers.shapes import make_rows
from torch.nn.functional import cross_entropy

from modernnca.lab.peers.ptarl import (
    MLPLearner,
    PrototypeLearner,
    PTaRL,
    diversification,
    kmeans_centers,
    orthogonality,
    target_groups,
    transport_cost,
)
from modernnca.lab.peers.supervised import LabeledRows


def make_net(n_rows=60, **settings):
    torch.manual_seed(0)
    rows, shape = make_rows(n_rows, d_out=3)
    chosen = {
        "n_layers": 2,
        "d_layer": 8,
        "dropout": 0.2,
        "n_prototypes": 4,
        "transport_weight": 0.25,
        "diversity_weight": 0.25,
        "orthogonality_weight": 0.25,
    }
    net = PTaRL(shape, **{**chosen, **settings})
    return net, LabeledRows(rows, torch.arange(n_rows) % 3)


def learner(learner_type, net, train):
    return learner_type(
        net,
        train,
        train,
        criterion=cross_entropy,
        evaluate=lambda outputs: (float(outputs.mean()), 0.0),
        generator=torch.Generator().manual_seed(0),
    )


# ------------------------------------------------------------------ prototypes


def test_the_prototypes_are_the_kmeans_centers_of_the_representations():
    net, train = make_net()
    learner(PrototypeLearner, net, train)
    net.eval()
    points = net.represent(train.rows).detach().numpy()
    found = net.prototypes.detach().numpy()
    # Each is the mean of the points that are nearest to it, so k-means has converged.
    nearest = ((points[:, None] - found) ** 2).sum(-1).argmin(1)
    assert set(nearest) == {0, 1, 2, 3}
    means = np.stack([points[nearest == k].mean(0) for k in range(4)])
    assert np.allclose(found, means, atol=1e-4)
    again = KMeans(4, init=found, n_init=1).fit(points).cluster_centers_
    assert np.allclose(found, again, atol=1e-4)


def test_few_distinct_points_are_their_own_centers():
    points = np.array([[1.0, 2.0], [3.0, 4.0], [1.0, 2.0]], dtype=np.float32)
    assert kmeans_centers(points, 4, seed=0).tolist() == [
        [1, 2],
        [3, 4],
        [1, 2],
        [3, 4],
    ]


def test_the_head_reads_the_sum_of_prototypes_weighted_by_coordinates():
    net, train = make_net()
    learner(PrototypeLearner, net, train)
    net.eval()
    coordinates = net.projector(net.represent(train.rows))
    by_hand = sum(coordinates[:, [k]] * net.prototypes[k] for k in range(4))
    torch.testing.assert_close(net(train.rows), net.head(by_hand))


def test_the_first_phase_does_not_train_prototypes_and_their_head():
    net, train = make_net()
    first = learner(MLPLearner, net, train)
    first.loss(torch.arange(10)).backward()
    assert net.first_head.weight.grad.abs().sum() > 0
    assert all(
        parameter.grad is None
        for part in (net.projector, net.head)
        for parameter in part.parameters()
    )
    net.eval()
    expected = net.first_head(net.represent(train.rows)).mean().item()
    assert first.validate()[0] == pytest.approx(expected, abs=1e-6)


def test_the_second_phase_trains_prototypes_coordinates_and_representations():
    net, train = make_net()
    second = learner(PrototypeLearner, net, train)
    second.loss(torch.arange(10)).backward()
    parts = (net.prototypes, net.projector[0].weight, net.represent[1][0].weight)
    assert all(part.grad.abs().sum() > 0 for part in parts)
    assert net.first_head.weight.grad is None


def test_each_loss_has_its_weight():
    def loss(**weights):
        none = dict.fromkeys(
            ("transport_weight", "diversity_weight", "orthogonality_weight"), 0.0
        )
        net, train = make_net(**{**none, **weights})
        second = learner(PrototypeLearner, net, train)
        net.eval()  # without dropout
        return second.loss(torch.arange(20)).item()

    plain = loss()
    gains = [
        (loss(**{name: 1.0}) - plain, loss(**{name: 2.0}) - plain)
        for name in ("transport_weight", "diversity_weight", "orthogonality_weight")
    ]
    assert all(
        once > 0.01 and twice == pytest.approx(2 * once) for once, twice in gains
    )


# ---------------------------------------------------------------------- losses


def test_transport_in_the_same_direction_costs_nothing():
    prototypes = torch.tensor([[2.0, 0.0], [0.0, 1.0]])
    points = torch.tensor([[5.0, 0.0], [0.0, 3.0]])
    assert transport_cost(torch.eye(2), points, prototypes).item() == pytest.approx(0)
    # The other way round, all pairs are orthogonal.
    assert transport_cost(torch.eye(2).flip(0), points, prototypes).item() == 1


def test_the_public_codes_cost_drives_rows_and_prototypes_apart():
    shares, points = torch.eye(2), torch.tensor([[5.0, 0.0], [0.0, 3.0]])
    found = [
        transport_cost(shares, points, torch.eye(2)[order], cost="cosine").item()
        for order in ([0, 1], [1, 0])
    ]
    assert found == pytest.approx([1, 0])


def test_transport_cost_equals_a_linear_program():
    torch.manual_seed(0)
    points, prototypes = torch.randn(3, 4).double(), torch.randn(5, 4).double()
    shares = torch.randn(3, 5).double().softmax(1)
    least = []
    for point, share in zip(points, shares, strict=True):
        costs = 1 - torch.cosine_similarity(point[None], prototypes)
        # A plan from the single point, which holds all mass, to the shares.
        limits = np.vstack([np.ones(5), np.eye(5)])
        mass = [1.0, *share.tolist()]
        least.append(linprog(costs.numpy(), A_eq=limits, b_eq=mass).fun)
    found = transport_cost(shares, points, prototypes).item()
    assert found == pytest.approx(np.mean(least), abs=1e-5)


def test_diversification_by_hand():
    # L1 distances: 2 between rows 0 and 1 (of one class), 1 from both to row 2.
    shares = torch.tensor([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]])
    found = diversification(shares, torch.tensor([0, 0, 1]))
    assert found.item() == pytest.approx(2 / (2 + 1 + 1))
    assert diversification(shares, torch.tensor([0, 1, 2])).item() == 0
    assert diversification(shares[:1].repeat(3, 1), torch.zeros(3)).item() == 0


def test_orthogonality_by_hand():
    assert orthogonality(torch.diag(torch.tensor([1.0, 5.0, 2.0]))).item() == 1
    # Cosines 1, 0.6, 0.6, 1: 3.2 / 2.72 + |3.2 - 2| / 2; the sign does not matter.
    for sign in (1, -1):
        slanted = torch.tensor([[1.0, 0.0], [0.6 * sign, 0.8]])
        assert orthogonality(slanted).item() == pytest.approx(3.2 / 2.72 + 0.6)


def test_target_groups_are_classes_or_bins():
    y = torch.tensor([0.0, 0.1, 0.9, 1.0])  # in 1 + log2(4) = 3 bins
    assert target_groups(y).tolist() == [0, 0, 2, 2]
    assert target_groups(torch.ones(3)).tolist() == [0, 0, 0]
    assert target_groups(torch.tensor([2, 0])).tolist() == [2, 0]
