"""TANGOS: its penalties against autograd's Jacobian, unit by unit and row by row."""

import itertools
import math

import torch
from tests.lab.peers.shapes import make_rows
from torch.nn.functional import cross_entropy

from modernnca.lab.peers import tangos
from modernnca.lab.peers.supervised import LabeledRows
from modernnca.lab.peers.tangos import (
    TANGOS,
    TANGOSLearner,
    draw_pairs,
    orthogonalization,
    specialization,
)


def make_net(shape, **changes):
    torch.manual_seed(0)
    chosen = {"n_layers": 3, "d_layer": 7, "dropout": 0.0}
    penalties = {"specialize": 1.0, "separate": 0.1, "n_pairs": 100}
    return TANGOS(shape, **{**chosen, **penalties, **changes})


def units(net, x):
    for layer in net.layers:
        x = layer(x).relu()
    return x


def jacobians(net, rows):
    """By autograd, one row at a time: (B, H, d)."""
    return torch.stack(
        [
            torch.autograd.functional.jacobian(
                lambda x: units(net, x), row, create_graph=True
            )
            for row in net.flat(rows)
        ]
    )


def slow_penalties(net, rows):
    """Both penalties by loops over rows and units."""
    sizes, cosines = [], []
    for jacobian in jacobians(net, rows):
        sizes += [abs(cell) for unit in jacobian for cell in unit]
        for left, right in itertools.combinations(jacobian, 2):
            size = left.norm() * right.norm()
            cosines.append(abs(left @ right) / size if size > 0 else size * 0)
    return sum(sizes) / len(sizes), sum(cosines) / len(cosines)


def test_attributions_equal_the_jacobian_of_autograd():
    for n_layers in (1, 2, 4):
        rows, shape = make_rows()
        net = make_net(shape, n_layers=n_layers).eval()
        expected = jacobians(net, rows).transpose(1, 2)
        assert torch.allclose(net.attributions(rows), expected, atol=1e-6)


def test_the_penalties_equal_autograd_and_loops():
    rows, shape = make_rows()
    net = make_net(shape)
    attributions = net.attributions(rows)
    pairs = draw_pairs(7, 100, torch.Generator())
    size, cosine = slow_penalties(net, rows)
    assert torch.allclose(specialization(attributions), size, atol=1e-6)
    assert torch.allclose(orthogonalization(attributions, pairs), cosine, atol=1e-5)


def test_the_loss_and_its_gradient_are_the_criterion_plus_both_penalties():
    rows, shape = make_rows()
    net = make_net(shape, specialize=0.7, separate=0.3)
    y = torch.tensor([0, 1, 0, 1, 1, 0])
    train = LabeledRows(rows, y)
    learner = TANGOSLearner(
        net,
        train,
        train,
        criterion=cross_entropy,
        evaluate=lambda outputs: (0.0, 0.0),
        generator=torch.Generator(),
    )
    size, cosine = slow_penalties(net, rows)
    expected = cross_entropy(net(rows), y) + 0.7 * size + 0.3 * cosine
    found = learner.loss(torch.arange(6))
    assert torch.allclose(found, expected, atol=1e-6)
    weights = [layer.weight for layer in net.layers]
    for left, right in zip(
        torch.autograd.grad(found, weights),
        torch.autograd.grad(expected, weights),
        strict=True,
    ):
        assert torch.allclose(left, right, atol=1e-5)


def test_penalties_by_hand():
    gradients = torch.tensor([[[3.0, 4.0, -6.0], [4.0, -3.0, -8.0]]])  # three units
    assert (
        orthogonalization(gradients, torch.tensor([[0], [1]])) == 0.0
    )  # at right angles
    assert math.isclose(
        orthogonalization(gradients, torch.tensor([[0], [2]])), 1.0
    )  # opposed
    assert math.isclose(specialization(gradients), 28 / 6, rel_tol=1e-6)


def test_units_with_zero_attributions_have_finite_gradients():
    gradients = torch.zeros(2, 3, 4, requires_grad=True)
    pairs = draw_pairs(4, 100, torch.Generator())
    (orthogonalization(gradients, pairs) + specialization(gradients)).backward()
    assert gradients.grad.isfinite().all()


def test_pairs_are_of_different_units_and_all_pairs_occur():
    pairs = draw_pairs(5, 9, torch.Generator().manual_seed(0))
    assert pairs.shape == (2, 9)
    many = torch.cat(
        [draw_pairs(5, 9, torch.Generator().manual_seed(s)) for s in range(99)], 1
    )
    assert (many[0] != many[1]).all()
    assert len(set(map(tuple, many.T.tolist()))) == 20
    assert len(draw_pairs(5, 10, torch.Generator()).T) == 10


def test_dropped_units_contribute_no_attribution():
    rows, shape = make_rows()
    net = make_net(shape, n_layers=2, dropout=1.0).train()
    assert (net.attributions(rows) == 0).all()
    assert (net.eval().attributions(rows) != 0).any()


def test_wide_tables_penalize_fewer_rows(monkeypatch):
    rows, shape = make_rows(n_rows=50)
    net = make_net(shape)
    sizes = []
    monkeypatch.setattr(tangos, "MAX_GRADIENTS", 10 * shape.d_flat)
    monkeypatch.setattr(
        tangos, "specialization", lambda x: sizes.append(x.shape) or x.sum()
    )
    train = LabeledRows(rows, torch.zeros(50, dtype=torch.long))
    learner = TANGOSLearner(
        net,
        train,
        train,
        criterion=cross_entropy,
        evaluate=lambda outputs: (0.0, 0.0),
        generator=torch.Generator(),
    )
    learner.loss(torch.arange(50))
    assert sizes == [(10, shape.d_flat, 7)]
