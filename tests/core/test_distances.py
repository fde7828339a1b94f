"""Distances: computed by hand, compared with loops, and the laws of each."""

import math

import numpy as np
import pytest
import torch

from modernnca.core.distances import DISTANCES, euclidean, squared_euclidean

METRICS = ["euclidean", "manhattan"]
OF_DIFFERENCES = [*METRICS, "squared-euclidean"]  # functions of q - k alone
ROTATABLE = ["euclidean", "squared-euclidean", "cosine", "dot"]

SLOW = {
    "euclidean": lambda q, k: math.sqrt(((q - k) ** 2).sum()),
    "squared-euclidean": lambda q, k: ((q - k) ** 2).sum(),
    "manhattan": lambda q, k: abs(q - k).sum(),
    "cosine": lambda q, k: -(q * k).sum() / math.sqrt((q**2).sum() * (k**2).sum()),
    "dot": lambda q, k: -(q * k).sum(),
}


@pytest.fixture
def rows(draw):
    return draw(7, 4), draw(9, 4)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("euclidean", [5, 0, 2]),
        ("squared-euclidean", [25, 0, 4]),
        ("manhattan", [7, 0, 2]),
        ("cosine", [-16 / math.sqrt(5 * 52), -1, -3 / 5]),
        ("dot", [-16, -5, -3]),
    ],
)
def test_three_keys_by_hand(name, expected):
    query = torch.tensor([[1.0, 2.0]]).double()
    keys = torch.tensor([[4.0, 6.0], [1.0, 2.0], [-1.0, 2.0]]).double()
    found = DISTANCES[name](query, keys)
    np.testing.assert_allclose(found, [expected], rtol=1e-12, atol=1e-7)


@pytest.mark.parametrize("name", SLOW)
def test_each_pair_equals_a_double_loop(name, rows):
    query, keys = (part.numpy() for part in rows)
    expected = [[SLOW[name](q, k) for k in keys] for q in query]
    np.testing.assert_allclose(DISTANCES[name](*rows), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", SLOW)
def test_distances_are_symmetric(name, rows):
    query, keys = rows
    swapped = DISTANCES[name](keys, query).mT
    torch.testing.assert_close(DISTANCES[name](query, keys), swapped)


@pytest.mark.parametrize("name", OF_DIFFERENCES)
def test_only_equal_rows_have_distance_zero(name, rows):
    found = DISTANCES[name](rows[0], rows[0])
    torch.testing.assert_close(
        found.diagonal(), torch.zeros(7).double(), atol=1e-7, rtol=0
    )
    assert found[~torch.eye(7, dtype=torch.bool)].min() > 0.1


@pytest.mark.parametrize("name", METRICS)
def test_metrics_obey_the_triangle_inequality(name, draw):
    points = draw(12, 2)
    direct = DISTANCES[name](points, points)
    detours = direct[:, :, None] + direct[None, :, :]  # from i by j to k
    assert (direct[:, None, :] <= detours + 1e-7).all()


@pytest.mark.parametrize("name", OF_DIFFERENCES)
def test_a_shift_of_all_rows_changes_nothing(name, rows, draw):
    query, keys = rows
    shift = 10 * draw(4)
    torch.testing.assert_close(
        DISTANCES[name](query + shift, keys + shift), DISTANCES[name](query, keys)
    )


@pytest.mark.parametrize("name", ROTATABLE)
def test_a_rotation_of_all_rows_changes_nothing(name, rows, draw):
    query, keys = rows
    rotation = torch.linalg.qr(draw(4, 4)).Q
    torch.testing.assert_close(
        DISTANCES[name](query @ rotation, keys @ rotation),
        DISTANCES[name](query, keys),
    )


@pytest.mark.parametrize(
    ("name", "power"),
    [
        ("euclidean", 1),
        ("manhattan", 1),
        ("squared-euclidean", 2),
        ("dot", 2),
        ("cosine", 0),
    ],
)
def test_scaling_all_rows_scales_the_distance(name, power, rows):
    query, keys = rows
    torch.testing.assert_close(
        DISTANCES[name](3 * query, 3 * keys), 3**power * DISTANCES[name](query, keys)
    )


def test_cosine_ignores_length_and_is_bounded_by_one(rows, draw):
    query, keys = rows
    found = DISTANCES["cosine"](query, keys)
    lengths = draw(9, 1).exp()
    torch.testing.assert_close(DISTANCES["cosine"](query, keys * lengths), found)
    assert found.abs().max() <= 1
    torch.testing.assert_close(DISTANCES["cosine"](query, -keys), -found)


def test_cosine_is_half_the_squared_euclidean_of_unit_rows(rows):
    query, keys = (torch.nn.functional.normalize(part, dim=1) for part in rows)
    torch.testing.assert_close(
        1 + DISTANCES["cosine"](query, keys), squared_euclidean(query, keys) / 2
    )


@pytest.mark.parametrize("center", [10, 100, 1000])
def test_float32_keeps_its_digits_far_from_the_origin(center, draw):
    # torch.cdist, as in the public code, gives 0.06, 0.6 and 6 for identical rows here.
    rows = (draw(200, 64) + center * draw(64).sign()).float()
    found, exact = euclidean(rows, rows), euclidean(rows.double(), rows.double())
    assert found.diagonal().max() < 0.01
    apart = ~torch.eye(200, dtype=torch.bool)
    torch.testing.assert_close(found[apart].double(), exact[apart], rtol=1e-5, atol=0)


def test_coinciding_rows_have_zero_gradient():
    # Small integers: the square is exactly zero, where the root has no gradient.
    rows = torch.tensor([[1.0, 2.0], [1.0, 2.0]], requires_grad=True)
    euclidean(rows[:1], rows[1:]).sum().backward()
    assert (rows.grad == 0).all()


def test_the_gradient_of_euclidean_is_a_unit_vector(draw):
    query, key = draw(1, 3).requires_grad_(), draw(1, 3)
    euclidean(query, key).sum().backward()
    expected = (query - key).detach()
    torch.testing.assert_close(query.grad, expected / expected.norm())
