"""The exact memory: what is specific to it, besides the contract of all memories."""

import pytest
import torch

from modernnca.core.distances import DISTANCES, euclidean
from modernnca.core.origin import Origin
from modernnca.core.softnn import Rule, vote_in_chunks
from modernnca.memory.exact_memory import ExactMemory, vote_together


@pytest.fixture
def build(draw):
    keys, values, log_weights = draw(9, 3), draw(9, 2), draw(9)

    def memory(n_pairs=2**24, n_neighbors=None):
        rule = Rule(euclidean, 0.7, n_neighbors=n_neighbors)
        return ExactMemory(keys, values, rule, log_weights=log_weights, n_pairs=n_pairs)

    return memory


@pytest.mark.parametrize("n_pairs", [1, 20, 36])
@pytest.mark.parametrize("n_neighbors", [None, 2])
def test_chunks_change_neither_votes_nor_pairs(build, draw, n_pairs, n_neighbors):
    query = draw(7, 3)
    whole, cut = build(n_neighbors=n_neighbors), build(n_pairs, n_neighbors)
    for found, expected in zip(
        (*cut.vote(query), *cut.pairs(query)),
        (*whole.vote(query), *whole.pairs(query)),
        strict=True,
    ):
        torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("n_neighbors", [None, 2])
def test_shares_times_values_are_the_vote(build, draw, n_neighbors):
    memory, query = build(n_neighbors=n_neighbors), draw(7, 3)
    shares = memory.pairs(query).shares
    torch.testing.assert_close(shares @ memory.values, memory.vote(query).mean)


def test_pairs_of_few_queries_are_those_of_all(build, draw):
    memory, query = build(), draw(7, 3)
    whole = memory.pairs(query)
    for i in range(7):
        alone = memory.pairs(query[i, None])
        torch.testing.assert_close(alone.distances[0], whole.distances[i])
        torch.testing.assert_close(alone.shares[0], whole.shares[i])


def test_distances_are_those_of_the_rule(build, draw):
    memory, query = build(), draw(7, 3)
    expected = torch.stack([(row - memory.keys).norm(dim=1) for row in query])
    torch.testing.assert_close(memory.pairs(query).distances, expected)


def test_distances_of_near_rows_keep_their_digits_in_float32(draw):
    # One near row among far ones, whose scale must not set the precision of 1e-3.
    keys = torch.cat([torch.zeros(1, 3), 100 * draw(8, 3).float()])
    memory = ExactMemory(keys, torch.zeros(9, 1), Rule(euclidean))
    found = memory.pairs(torch.tensor([[1e-3, 0.0, 0.0]])).distances
    assert found.argmin() == 0
    assert found[0, 0].item() == pytest.approx(1e-3, rel=1e-6)


def test_no_queries_get_empty_results(build):
    memory, none = build(), torch.zeros(0, 3).double()
    assert memory.vote(none).mean.shape == (0, 2)
    assert memory.pairs(none).distances.shape == (0, 9)
    assert memory.pairs(none).shares.shape == (0, 9)


TIME = torch.tensor([4, 0, 2, 2, 9, 1, 7, 7, 3])


@pytest.mark.parametrize("n_neighbors", [None, 2])
@pytest.mark.parametrize("query_time", [[0, 2, 3, 8, 9, 2, 9], [9] * 7, [1] * 7])
def test_later_rows_do_not_vote(draw, query_time, n_neighbors):
    keys, values, query = draw(9, 3), draw(9, 2), draw(7, 3)
    rule = Rule(euclidean, 0.7, n_neighbors=n_neighbors)
    memory = ExactMemory(keys, values, rule, origin=Origin(TIME))
    votes = memory.vote(query, Origin(torch.tensor(query_time)))
    pairs = memory.pairs(query, Origin(torch.tensor(query_time)))
    for i, time in enumerate(query_time):
        past, future = (time >= TIME).nonzero()[:, 0], (time < TIME).nonzero()[:, 0]
        alone = ExactMemory(keys[past], values[past], rule)
        expected = alone.vote(query[i, None])
        torch.testing.assert_close(votes.mean[i, None], expected.mean)
        torch.testing.assert_close(votes.log_weight[i, None], expected.log_weight)
        assert pairs.distances[i, future].isinf().all()
        assert not pairs.shares[i, future].any()
        left = alone.pairs(query[i, None])
        torch.testing.assert_close(pairs.distances[i, past], left.distances[0])
        torch.testing.assert_close(pairs.shares[i, past], left.shares[0])


def test_the_earliest_row_votes_on_queries_before_all_rows(draw):
    keys, values, query = draw(9, 3), draw(9, 2), draw(1, 3)
    memory = ExactMemory(keys, values, Rule(euclidean), origin=Origin(TIME + 5))
    early = Origin(torch.tensor([0]))
    torch.testing.assert_close(memory.vote(query, early).mean, values[1][None])
    assert memory.pairs(query, early).shares.tolist() == [[0, 1] + [0] * 7]


def test_all_rows_vote_on_a_query_without_a_time(draw):
    keys, values, query = draw(9, 3), draw(9, 2), draw(1, 3)
    memory = ExactMemory(keys, values, Rule(euclidean), origin=Origin(TIME))
    plain = ExactMemory(keys, values, Rule(euclidean))
    torch.testing.assert_close(memory.vote(query).mean, plain.vote(query).mean)
    torch.testing.assert_close(memory.pairs(query), plain.pairs(query))


GROUP = torch.tensor([0, 0, 1, 1, 2, 2, -1, -1, 3])


@pytest.mark.parametrize("n_neighbors", [None, 2])
@pytest.mark.parametrize("time", [None, [0, 2, 3, 8, 9, 2, 9]])
def test_rows_of_the_same_group_do_not_vote(draw, time, n_neighbors):
    keys, values, query = draw(9, 3), draw(9, 2), draw(7, 3)
    rule = Rule(euclidean, 0.7, n_neighbors=n_neighbors)
    own = torch.tensor([0, 1, 2, 3, -1, 7, 2])
    timed = (None, None) if time is None else (torch.tensor(time), TIME)
    memory = ExactMemory(keys, values, rule, origin=Origin(timed[1], GROUP))
    origin = Origin(timed[0], own)
    votes, pairs = memory.vote(query, origin), memory.pairs(query, origin)
    for i in range(7):
        left = (own[i] != GROUP) | (GROUP < 0)
        if time is not None:
            left &= max(time[i], int(TIME[left].min())) >= TIME
        left = left.nonzero()[:, 0]
        alone = ExactMemory(keys[left], values[left], rule)
        expected = alone.vote(query[i, None])
        torch.testing.assert_close(votes.mean[i, None], expected.mean)
        torch.testing.assert_close(votes.log_weight[i, None], expected.log_weight)
        shares = alone.pairs(query[i, None]).shares[0]
        torch.testing.assert_close(pairs.shares[i, left], shares)
        assert float(pairs.shares[i].sum()) == pytest.approx(1)


@pytest.mark.parametrize("n_neighbors", [None, 2])
def test_a_query_of_the_only_group_sees_that_group(draw, n_neighbors):
    keys, values, query = draw(9, 3), draw(9, 2), draw(7, 3)
    rule = Rule(euclidean, n_neighbors=n_neighbors)
    ones = torch.ones(9, dtype=torch.long)
    memory = ExactMemory(keys, values, rule, origin=Origin(group=ones))
    found = memory.vote(query, Origin(group=ones[:7])).mean
    torch.testing.assert_close(found, memory.vote(query).mean)
    torch.testing.assert_close(
        memory.pairs(query, Origin(group=ones[:7])), memory.pairs(query)
    )


@pytest.mark.parametrize("distance", DISTANCES.values(), ids=DISTANCES)
def test_each_row_as_its_own_group_gives_leave_one_out_votes(draw, distance):
    keys, values = draw(9, 3), draw(9, 2)
    own = torch.arange(9)
    memory = ExactMemory(keys, values, Rule(distance))
    apart = memory.with_origin(Origin(group=own))
    expected = vote_in_chunks(keys, keys, values, rule=Rule(distance), own=own)
    torch.testing.assert_close(apart.vote(keys, Origin(group=own)), expected)
    assert memory.origin is None


def test_votes_of_several_memories_mask_the_origin(draw):
    keys, values, query = draw(9, 3), draw(9, 2), draw(4, 3)
    origin = Origin(group=torch.tensor([0, 1, 2, 3]))
    memories = [
        ExactMemory(keys * n, values, Rule(euclidean), origin=Origin(group=GROUP))
        for n in (1, 2)
    ]
    together = vote_together(memories, [query, query], origin)
    for memory, votes in zip(memories, together, strict=True):
        torch.testing.assert_close(votes, memory.vote(query, origin))
        assert not torch.allclose(votes.mean, memory.vote(query).mean)
