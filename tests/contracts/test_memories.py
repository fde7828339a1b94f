"""What holds for every memory in MEMORIES; a new one is tested once listed."""

import pytest
import torch

from modernnca.core.distances import DISTANCES
from modernnca.core.softnn import Rule, exponential, soft_vote, student
from modernnca.memory.exact_memory import ExactMemory

# name -> a memory of (keys, values, rule, log_weights)
MEMORIES = {
    "exact": lambda k, v, rule, w: ExactMemory(k, v, rule, log_weights=w),
    "exact, in chunks": lambda k, v, rule, w: ExactMemory(
        k, v, rule, log_weights=w, n_pairs=25
    ),
}


@pytest.fixture(params=MEMORIES)
def build(request):
    return MEMORIES[request.param]


@pytest.fixture
def rows(draw):
    """Eleven keys, their values and log-weights, and six queries."""
    return draw(11, 4), draw(11, 3), draw(11), draw(6, 4)


@pytest.fixture(params=["soft", "hard", "heavy-tailed"])
def rule(request):
    distance = DISTANCES["euclidean"]
    return {
        "soft": Rule(distance, 0.7),
        "hard": Rule(distance, n_neighbors=3),
        "heavy-tailed": Rule(distance, 0.7, student),
    }[request.param]


def test_the_length_is_the_number_of_rows(build, rows):
    keys, values, _, _ = rows
    assert len(build(keys, values, Rule(DISTANCES["euclidean"]), None)) == 11


@pytest.mark.parametrize("weighted", [False, True])
def test_the_vote_equals_the_soft_vote(build, rows, rule, weighted):
    keys, values, log_weights, query = rows
    log_weights = log_weights if weighted else None
    found = build(keys, values, rule, log_weights).vote(query)
    expected = soft_vote(query, keys, values, rule=rule, log_weights=log_weights)
    torch.testing.assert_close(found.mean, expected.mean)
    torch.testing.assert_close(found.log_weight, expected.log_weight)


@pytest.mark.parametrize("name", DISTANCES)
def test_the_distances_and_their_order_are_those_of_the_rule(build, rows, name):
    keys, values, log_weights, query = rows
    memory = build(keys, values, Rule(DISTANCES[name]), log_weights)
    found = memory.pairs(query).distances
    expected = DISTANCES[name](query, keys)
    torch.testing.assert_close(found, expected)
    assert torch.equal(found.argsort(1), expected.argsort(1))


@pytest.mark.parametrize("weighted", [False, True])
def test_shares_are_the_softmax_of_the_scores(build, rows, rule, weighted):
    keys, values, log_weights, query = rows
    log_weights = log_weights if weighted else None
    shares = build(keys, values, rule, log_weights).pairs(query).shares
    scores = rule.scores(rule.distance(query, keys), log_weights)
    torch.testing.assert_close(shares, scores.softmax(1))
    torch.testing.assert_close(shares.sum(1), torch.ones(6).double())


def test_shares_times_values_are_the_vote(build, rows, rule):
    keys, values, log_weights, query = rows
    memory = build(keys, values, rule, log_weights)
    shares = memory.pairs(query).shares
    torch.testing.assert_close(shares @ values, memory.vote(query).mean)


@pytest.mark.parametrize("name", ["euclidean", "squared-euclidean", "manhattan"])
@pytest.mark.parametrize("center", [0, 1000])
def test_a_remembered_row_has_distance_zero_from_itself(build, draw, name, center):
    keys = (draw(50, 16) + center).float()
    memory = build(keys, torch.zeros(50, 1), Rule(DISTANCES[name]), None)
    found = memory.pairs(keys).distances
    assert torch.equal(found.argmin(1), torch.arange(50))
    assert found.diagonal().max() < 1e-6


@pytest.mark.parametrize("kernel", [exponential, student])
def test_float32_stays_float32(build, rows, kernel):
    keys, values, log_weights, query = (part.float() for part in rows)
    memory = build(keys, values, Rule(DISTANCES["euclidean"], 1, kernel), log_weights)
    found = (*memory.vote(query), *memory.pairs(query))
    assert [part.dtype for part in found] == [torch.float32] * 4
