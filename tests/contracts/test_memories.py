"""What every memory obeys; add a memory to the table and it is held to it."""

import pytest
import torch

from modernnca.core.distances import DISTANCES
from modernnca.core.softnn import Rule, exponential, soft_vote, student
from modernnca.memory.exact import ExactMemory

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
def crowd(draw):
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


def test_a_memory_has_the_length_of_its_rows(build, crowd):
    keys, values, _, _ = crowd
    assert len(build(keys, values, Rule(DISTANCES["euclidean"]), None)) == 11


@pytest.mark.parametrize("weighted", [False, True])
def test_the_vote_is_the_soft_vote(build, crowd, rule, weighted):
    keys, values, log_weights, query = crowd
    log_weights = log_weights if weighted else None
    found = build(keys, values, rule, log_weights).vote(query)
    expected = soft_vote(query, keys, values, rule=rule, log_weights=log_weights)
    torch.testing.assert_close(found.mean, expected.mean)
    torch.testing.assert_close(found.log_weight, expected.log_weight)


@pytest.mark.parametrize("name", DISTANCES)
@pytest.mark.parametrize("n_neighbors", [1, 4, 11])
def test_the_nearest_are_the_nearest_and_in_order(build, crowd, name, n_neighbors):
    keys, values, log_weights, query = crowd
    memory = build(keys, values, Rule(DISTANCES[name]), log_weights)
    found = memory.nearest(query, n_neighbors)
    expected, rows = DISTANCES[name](query, keys).sort(dim=1)
    torch.testing.assert_close(found.distances, expected[:, :n_neighbors])
    assert torch.equal(found.rows, rows[:, :n_neighbors])


@pytest.mark.parametrize("weighted", [False, True])
def test_shares_are_a_softmax_and_sum_to_one_over_all(build, crowd, rule, weighted):
    keys, values, log_weights, query = crowd
    log_weights = log_weights if weighted else None
    found = build(keys, values, rule, log_weights).nearest(query, 11)
    scores = rule.scores(rule.distance(query, keys), log_weights)
    torch.testing.assert_close(found.shares, scores.softmax(1).gather(1, found.rows))
    torch.testing.assert_close(found.shares.sum(1), torch.ones(6).double())


def test_the_neighbors_explain_the_vote(build, crowd, rule):
    keys, values, log_weights, query = crowd
    memory = build(keys, values, rule, log_weights)
    found = memory.nearest(query, 11)
    told = (found.shares[..., None] * values[found.rows]).sum(1)
    torch.testing.assert_close(told, memory.vote(query).mean)


@pytest.mark.parametrize("name", ["euclidean", "squared-euclidean", "manhattan"])
@pytest.mark.parametrize("center", [0, 1000])
def test_a_remembered_row_is_at_no_distance_from_itself(build, draw, name, center):
    keys = (draw(50, 16) + center).float()
    memory = build(keys, torch.zeros(50, 1), Rule(DISTANCES[name]), None)
    found = memory.nearest(keys, 5)
    assert torch.equal(found.rows[:, 0], torch.arange(50))
    assert found.distances[:, 0].max() < 1e-6


@pytest.mark.parametrize("kernel", [exponential, student])
def test_float32_stays_float32(build, crowd, kernel):
    keys, values, log_weights, query = (part.float() for part in crowd)
    memory = build(keys, values, Rule(DISTANCES["euclidean"], 1, kernel), log_weights)
    found = (*memory.vote(query), *memory.nearest(query, 2))
    kinds = [part.dtype for part in found]
    assert kinds == [torch.float32] * 3 + [torch.int64, torch.float32]
