"""What holds for every distance in DISTANCES; a new one is tested once listed."""

import pytest
import torch

from modernnca.core.distances import DISTANCES


@pytest.fixture(params=DISTANCES)
def distance(request):
    return DISTANCES[request.param]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_shape_and_dtype(distance, draw, dtype):
    found = distance(draw(5, 3).to(dtype), draw(7, 3).to(dtype))
    assert found.shape == (5, 7)
    assert found.dtype == dtype
    assert found.isfinite().all()


def test_float32_is_near_float64(distance, draw):
    query, keys = draw(20, 8), draw(30, 8)
    torch.testing.assert_close(
        distance(query.float(), keys.float()),
        distance(query, keys).float(),
        rtol=1e-5,
        atol=1e-5,
    )


def test_a_pair_does_not_depend_on_the_other_pairs(distance, draw):
    query, keys = draw(5, 3), draw(7, 3)
    whole = distance(query, keys)
    for i in range(5):
        for j in range(7):
            alone = distance(query[i : i + 1], keys[j : j + 1])
            torch.testing.assert_close(alone[0, 0], whole[i, j])


def test_leading_dimensions_are_batches(distance, draw):
    query, keys = draw(2, 4, 5, 3), draw(2, 4, 7, 3)
    found = distance(query, keys)
    assert found.shape == (2, 4, 5, 7)
    for i in range(2):
        for j in range(4):
            torch.testing.assert_close(found[i, j], distance(query[i, j], keys[i, j]))


def test_one_batch_dimension_may_be_broadcast(distance, draw):
    query, keys = draw(4, 1, 1, 3), draw(4, 6, 1, 3)
    torch.testing.assert_close(
        distance(query, keys), distance(query.expand(4, 6, 1, 3), keys)
    )


@pytest.mark.parametrize(("n_queries", "n_keys"), [(0, 4), (4, 0), (0, 0)])
def test_no_rows_have_no_distances(distance, n_queries, n_keys):
    found = distance(torch.zeros(n_queries, 3), torch.zeros(n_keys, 3))
    assert found.shape == (n_queries, n_keys)


def test_the_gradient_equals_finite_differences(distance, draw):
    inputs = draw(4, 3).requires_grad_(), draw(5, 3).requires_grad_()
    assert torch.autograd.gradcheck(distance, inputs)


@pytest.mark.parametrize("center", [0, 100])
def test_coinciding_rows_have_finite_gradients(distance, draw, center):
    rows = (draw(6, 3).float() + center)[[0, 0, 1, 1, 2, 3]].requires_grad_()
    distance(rows, rows).square().sum().backward()
    assert rows.grad.isfinite().all()


def test_the_arguments_are_not_modified(distance, draw):
    query, keys = draw(4, 3), draw(5, 3)
    before = query.clone(), keys.clone()
    distance(query, keys)
    assert torch.equal(query, before[0])
    assert torch.equal(keys, before[1])
