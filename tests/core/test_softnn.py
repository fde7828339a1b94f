"""The vote: softmax by hand, the paper's equation in loops, rules of merging."""

import math
from functools import reduce

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.neighbors import KNeighborsRegressor, NearestNeighbors

from modernnca.core.distances import euclidean, manhattan, squared_euclidean
from modernnca.core.softnn import (
    Rule,
    Votes,
    chunks,
    exponential,
    merge,
    soft_vote,
    student,
    vote_in_chunks,
)

RULE = Rule(euclidean, 0.7)


@pytest.fixture
def rows(draw):
    """Five queries, eight keys, votes of two numbers."""
    return draw(5, 3), draw(8, 3), draw(8, 2)


def assert_same(found, expected, **tolerance):
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, **tolerance)


def votes_of_parts(rows, cuts, rule=RULE):
    """The votes of the keys, split at `cuts`, of each part alone."""
    query, keys, values = rows
    return [
        soft_vote(query, k, v, rule=rule)
        for k, v in zip(keys.tensor_split(cuts), values.tensor_split(cuts), strict=True)
    ]


def test_softmax_by_hand():
    # Distances 0, log 2, log 4: weights 1, 1/2, 1/4, shares 4/7, 2/7, 1/7.
    keys = torch.tensor([[0.0], [math.log(2)], [-math.log(4)]])
    votes = soft_vote(
        torch.zeros(1, 1),
        keys,
        torch.tensor([[1.0], [2.0], [3.0]]),
        rule=Rule(euclidean),
    )
    assert votes.mean.item() == pytest.approx(11 / 7)
    assert votes.log_weight.item() == pytest.approx(math.log(7 / 4))


def test_t_kernel_by_hand():
    # Distances 0, 1, 2: weights 1, 1/2, 1/5, shares 10/17, 5/17, 2/17.
    votes = soft_vote(
        torch.zeros(1, 1),
        torch.tensor([[0.0], [1.0], [2.0]]),
        torch.eye(3),
        rule=Rule(euclidean, kernel=student),
    )
    torch.testing.assert_close(votes.mean, torch.tensor([[10.0, 5, 2]]) / 17)


def test_vote_is_the_papers_equation(draw):
    # Every row is predicted by the others: equation (4), one term at a time.
    points, values = draw(6, 3), draw(6, 2)
    votes = soft_vote(
        points, points, values, rule=Rule(squared_euclidean), mask=torch.eye(6).bool()
    )
    for i in range(6):
        others = [j for j in range(6) if j != i]
        weight = {j: math.exp(-((points[i] - points[j]) ** 2).sum()) for j in others}
        total = sum(weight.values())
        expected = sum(weight[j] / total * values[j] for j in others)
        torch.testing.assert_close(votes.mean[i], expected)


@pytest.mark.parametrize("n_neighbors", [None, 3])
def test_masking_a_key_equals_removing_it(rows, n_neighbors):
    query, keys, values = rows
    rule = RULE._replace(n_neighbors=n_neighbors)
    mask = torch.zeros(5, 8, dtype=torch.bool)
    mask[:, [1, 4]] = True
    left = [0, 2, 3, 5, 6, 7]
    assert_same(
        soft_vote(query, keys, values, rule=rule, mask=mask),
        soft_vote(query, keys[left], values[left], rule=rule),
    )


@pytest.mark.parametrize("kernel", [exponential, student])
def test_a_row_of_weight_three_equals_three_rows(rows, kernel):
    query, keys, values = rows
    rule = RULE._replace(kernel=kernel)
    times = torch.tensor([1, 3, 2, 1, 5, 1, 0, 2])  # a weight of zero: as if absent
    assert_same(
        soft_vote(query, keys, values, rule=rule, log_weights=times.double().log()),
        soft_vote(
            query,
            keys.repeat_interleave(times, 0),
            values.repeat_interleave(times, 0),
            rule=rule,
        ),
    )


def test_the_order_of_the_keys_does_not_matter(rows):
    query, keys, values = rows
    order = torch.tensor([3, 7, 0, 1, 6, 2, 5, 4])
    assert_same(
        soft_vote(query, keys[order], values[order], rule=RULE),
        soft_vote(query, keys, values, rule=RULE),
    )


def test_only_the_ratio_of_distance_and_temperature_matters(rows):
    query, keys, values = rows
    assert_same(
        soft_vote(5 * query, 5 * keys, values, rule=Rule(manhattan, 5 * 0.7)),
        soft_vote(query, keys, values, rule=Rule(manhattan, 0.7)),
    )


def test_a_vote_of_one_hots_is_a_distribution(rows):
    query, keys, _ = rows
    classes = torch.eye(3).double()[[0, 1, 2, 0, 1, 2, 0, 1]]
    mean = soft_vote(query, keys, classes, rule=RULE).mean
    assert (mean > 0).all()
    torch.testing.assert_close(mean.sum(1), torch.ones(5).double())


def test_a_far_query_gets_a_vote():
    # exp(-10000) is zero in float32; the shares are not.
    keys = torch.tensor([[0.0], [math.log(3)]])
    votes = soft_vote(torch.tensor([[1e4]]), keys, torch.eye(2), rule=Rule(manhattan))
    torch.testing.assert_close(
        votes.mean, torch.tensor([[0.25, 0.75]]), atol=1e-3, rtol=0
    )


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**31),
    n_keys=st.integers(1, 12),
    cuts=st.lists(st.integers(0, 12), max_size=4).map(sorted),
    temperature=st.floats(0.05, 20),
)
def test_any_split_merges_to_the_vote_of_all(seed, n_keys, cuts, temperature):
    generator = torch.Generator().manual_seed(seed)
    rows = [
        torch.randn(*size, generator=generator, dtype=torch.float64)
        for size in ((3, 2), (n_keys, 2), (n_keys, 2))
    ]
    rule = Rule(euclidean, temperature)
    parts = votes_of_parts(rows, [min(cut, n_keys) for cut in cuts], rule)
    query, keys, values = rows
    assert_same(reduce(merge, parts), soft_vote(query, keys, values, rule=rule))


def test_merging_is_commutative_and_associative(rows):
    a, b, c = votes_of_parts(rows, [2, 5])
    assert_same(merge(a, b), merge(b, a))
    assert_same(merge(merge(a, b), c), merge(a, merge(b, c)))


def test_merging_is_exact_for_very_different_weights():
    heavy = Votes(torch.tensor([[1.0]]), torch.tensor([[0.0]]))
    light = Votes(torch.tensor([[9.0]]), torch.tensor([[-1e4]]))
    assert_same(merge(heavy, light), heavy)


def test_votes_without_weight_are_neutral_in_a_merge(rows):
    query, keys, values = rows
    whole = soft_vote(query, keys, values, rule=RULE)
    empty = soft_vote(query, keys[:0], values[:0], rule=RULE)
    masked = soft_vote(query, keys, values, rule=RULE, mask=torch.ones(5, 8).bool())
    for neutral in (empty, masked):
        assert neutral.log_weight.isneginf().all()
        assert_same(merge(whole, neutral), whole)
        assert_same(merge(neutral, whole), whole)
    none = merge(empty, empty)
    assert none.log_weight.isneginf().all()
    assert (none.mean == 0).all()


@pytest.mark.parametrize("n_pairs", [1, 17, 24, 10**6])
@pytest.mark.parametrize("n_neighbors", [None, 3])
def test_chunks_do_not_change_the_vote(rows, n_pairs, n_neighbors):
    rule = RULE._replace(n_neighbors=n_neighbors)
    log_weights = torch.linspace(-1, 1, 8).double()
    assert_same(
        vote_in_chunks(*rows, rule=rule, log_weights=log_weights, n_pairs=n_pairs),
        soft_vote(*rows, rule=rule, log_weights=log_weights),
    )


@given(st.integers(1, 50), st.integers(0, 20), st.integers(1, 200))
def test_chunks_cover_each_query_once_and_hold_few_pairs(n_queries, n_keys, n_pairs):
    numbers = list(range(n_queries))
    parts = [numbers[chunk] for chunk in chunks(n_queries, n_keys, n_pairs)]
    assert [number for part in parts for number in part] == numbers
    assert all(len(p) * n_keys <= max(n_pairs, n_keys) for p in parts)


def test_no_queries_get_no_votes(rows):
    query, keys, values = rows
    votes = vote_in_chunks(query[:0], keys, values, rule=RULE)
    assert votes.mean.shape == (0, 2)
    assert votes.log_weight.shape == (0, 1)


@pytest.mark.parametrize("n_pairs", [8, 10**6])
@pytest.mark.parametrize("n_neighbors", [None, 2])
def test_leave_one_out_equals_removing_the_own_key(rows, n_pairs, n_neighbors):
    _, keys, values = rows
    rule = RULE._replace(n_neighbors=n_neighbors)
    own = torch.tensor([6, 2, 2])  # queries in any order, one of them twice
    found = vote_in_chunks(keys[own], keys, values, rule=rule, own=own, n_pairs=n_pairs)
    for i, row in enumerate(own.tolist()):
        left = [j for j in range(8) if j != row]
        one = soft_vote(keys[row][None], keys[left], values[left], rule=rule)
        assert_same([part[i : i + 1] for part in found], one)


@pytest.mark.parametrize("n_neighbors", [1, 3, 8])
def test_the_hard_rule_equals_scikit_learns(rows, n_neighbors):
    query, keys, values = rows
    theirs = KNeighborsRegressor(n_neighbors).fit(keys.numpy(), values.numpy())
    rule = Rule(euclidean, n_neighbors=n_neighbors)
    np.testing.assert_allclose(
        soft_vote(query, keys, values, rule=rule).mean, theirs.predict(query.numpy())
    )


def test_the_hard_rule_with_weights_is_a_weighted_mean_of_the_nearest(rows):
    query, keys, values = rows
    weights = np.array([1, 0.5, 3, 1, 2, 0.1, 1, 4])
    found = soft_vote(
        *rows,
        rule=Rule(euclidean, n_neighbors=3),
        log_weights=torch.from_numpy(weights).log(),
    )
    nearest = NearestNeighbors(n_neighbors=3).fit(keys.numpy())
    for i, near in enumerate(nearest.kneighbors(query.numpy(), return_distance=False)):
        np.testing.assert_allclose(
            found.mean[i], np.average(values[near], axis=0, weights=weights[near])
        )
        assert found.log_weight[i].item() == pytest.approx(np.log(weights[near].sum()))


def test_more_neighbors_than_keys_are_all_keys(rows):
    votes = soft_vote(*rows, rule=Rule(euclidean, n_neighbors=100))
    torch.testing.assert_close(votes.mean, rows[2].mean(0).expand(5, 2))


def test_the_cold_limit_of_the_soft_rule_is_one_neighbor(rows):
    torch.testing.assert_close(
        soft_vote(*rows, rule=Rule(euclidean, 1e-4)).mean,
        soft_vote(*rows, rule=Rule(euclidean, n_neighbors=1)).mean,
    )


def test_the_hot_limit_of_the_soft_rule_is_the_mean(rows):
    torch.testing.assert_close(
        soft_vote(*rows, rule=Rule(euclidean, 1e9)).mean,
        rows[2].mean(0).expand(5, 2),
    )


@pytest.mark.parametrize("kernel", [exponential, student])
def test_the_gradient_of_the_vote_equals_finite_differences(rows, draw, kernel):
    mask = torch.zeros(5, 8, dtype=torch.bool)
    mask[0, 1:7] = mask[3, 0] = True

    def vote(query, keys, values, log_weights, temperature):
        rule = Rule(euclidean, temperature, kernel)
        return tuple(
            soft_vote(
                query, keys, values, rule=rule, log_weights=log_weights, mask=mask
            )
        )

    inputs = (*rows, draw(8), torch.tensor(0.7).double())
    assert torch.autograd.gradcheck(vote, [part.requires_grad_() for part in inputs])


def test_keys_without_values_raise(rows):
    query, keys, values = rows
    with pytest.raises(ValueError) as error:
        soft_vote(query, keys, values[:-1], rule=RULE)
    assert str(error.value) == (
        "keys and values must describe the same rows: len(keys)=8, len(values)=7"
    )


def test_ties_of_hard_k_nn_depend_neither_on_the_batch_nor_on_the_order():
    """Rows of zeros and ones: most distances are equal, and rounding breaks ties."""
    generator = torch.Generator().manual_seed(0)
    keys = torch.randint(0, 2, (300, 12), generator=generator).float() * 0.7
    query = torch.randint(0, 2, (64, 12), generator=generator).float() * 0.7 + 0.1
    values = torch.rand(300, 1, generator=generator)
    rule = Rule(euclidean, n_neighbors=5)
    whole = soft_vote(query, keys, values, rule=rule).mean
    alone = [soft_vote(row[None], keys, values, rule=rule).mean for row in query]
    torch.testing.assert_close(torch.cat(alone), whole, rtol=1e-6, atol=0)
    order = torch.randperm(300, generator=generator)
    shuffled = soft_vote(query, keys[order], values[order], rule=rule).mean
    torch.testing.assert_close(shuffled, whole, rtol=1e-5, atol=0)


@pytest.mark.parametrize(("width", "seed"), [(4, 0), (13, 1), (30, 2)])
def test_equal_rows_are_ties_of_hard_k_nn_in_any_batch(width, seed):
    """Few levels, and so many rows at the same points."""
    generator = torch.Generator().manual_seed(seed)
    points = torch.randn(8, width, generator=generator) + (0 if seed == 1 else 3)
    keys = points.repeat(8, 1)[torch.randperm(64, generator=generator)]
    values = torch.eye(3)[torch.randint(0, 3, (64,), generator=generator)]
    rule = Rule(euclidean, n_neighbors=5)
    expected = (keys[:, None] == keys).all(2).float() @ values / 8
    whole = soft_vote(keys, keys, values, rule=rule).mean
    torch.testing.assert_close(whole, expected)
    alone = [soft_vote(row[None], keys, values, rule=rule).mean for row in keys]
    torch.testing.assert_close(torch.cat(alone), expected)


def test_hard_k_nn_rounds_alike_in_any_batch():
    """The digits of a mean matter where a target is far larger than all others."""
    generator = torch.Generator().manual_seed(0)
    keys, query = (torch.randn(50, 3, generator=generator) for _ in range(2))
    values = torch.randn(50, 1, generator=generator) * 1e-6 - 0.158
    rule = Rule(euclidean, n_neighbors=5)
    whole = soft_vote(query, keys, values, rule=rule).mean
    alone = [soft_vote(row[None], keys, values, rule=rule).mean for row in query]
    torch.testing.assert_close(torch.cat(alone), whole, rtol=0, atol=0)
