"""The exact memory: what is its own, besides the contract of all memories."""

import pytest
import torch

from modernnca.core.distances import euclidean
from modernnca.core.softnn import Rule
from modernnca.memory.exact import ExactMemory


@pytest.fixture
def build(draw):
    keys, values, log_weights = draw(9, 3), draw(9, 2), draw(9)

    def memory(n_pairs=2**24, n_neighbors=None):
        rule = Rule(euclidean, 0.7, n_neighbors=n_neighbors)
        return ExactMemory(keys, values, rule, log_weights=log_weights, n_pairs=n_pairs)

    return memory


@pytest.mark.parametrize("n_pairs", [1, 20, 36])
@pytest.mark.parametrize("n_neighbors", [None, 2])
def test_chunks_change_neither_votes_nor_neighbors(build, draw, n_pairs, n_neighbors):
    query = draw(7, 3)
    whole, cut = build(n_neighbors=n_neighbors), build(n_pairs, n_neighbors)
    for found, expected in zip(
        (*cut.vote(query), *cut.nearest(query, 4)),
        (*whole.vote(query), *whole.nearest(query, 4)),
        strict=True,
    ):
        torch.testing.assert_close(found, expected)


def test_shares_times_values_are_the_vote(build, draw):
    memory, query = build(), draw(7, 3)
    shares = memory.shares(query)
    torch.testing.assert_close(shares @ memory.values, memory.vote(query).mean)


def test_the_shares_of_the_nearest_are_theirs_among_all(build, draw):
    memory, query = build(), draw(7, 3)
    found = memory.nearest(query, 3)
    torch.testing.assert_close(found.shares, memory.shares(query).gather(1, found.rows))


def test_distances_to_chosen_rows_are_those_among_all(build, draw):
    memory, query = build(), draw(7, 3)
    rows = torch.tensor([[8, 0, 8], [1, 2, 3]] * 3 + [[4, 4, 5]])
    torch.testing.assert_close(
        memory.distances(query, rows), euclidean(query, memory.keys).gather(1, rows)
    )


def test_distances_of_near_rows_keep_their_digits_in_float32(draw):
    # One near row among far ones: counted all together, 1e-3 would drown.
    keys = torch.cat([torch.zeros(1, 3), 100 * draw(8, 3).float()])
    memory = ExactMemory(keys, torch.zeros(9, 1), Rule(euclidean))
    found = memory.nearest(torch.tensor([[1e-3, 0.0, 0.0]]), 9)
    assert found.rows[0, 0] == 0
    assert found.distances[0, 0].item() == pytest.approx(1e-3, rel=1e-6)


def test_no_queries_get_empty_answers(build):
    memory, nobody = build(), torch.zeros(0, 3).double()
    assert memory.vote(nobody).mean.shape == (0, 2)
    assert memory.nearest(nobody, 4).rows.shape == (0, 4)


MOMENTS = torch.tensor([4, 0, 2, 2, 9, 1, 7, 7, 3])


@pytest.mark.parametrize("n_neighbors", [None, 2])
@pytest.mark.parametrize("asked", [[0, 2, 3, 8, 9, 2, 9], [9] * 7, [1] * 7])
def test_later_rows_do_not_answer(draw, asked, n_neighbors):
    keys, values, query = draw(9, 3), draw(9, 2), draw(7, 3)
    rule = Rule(euclidean, 0.7, n_neighbors=n_neighbors)
    memory = ExactMemory(keys, values, rule, moments=MOMENTS)
    votes = memory.vote(query, torch.tensor(asked))
    found = memory.nearest(query, 9, torch.tensor(asked))
    for i, moment in enumerate(asked):
        past = (moment >= MOMENTS).nonzero()[:, 0]
        alone = ExactMemory(keys[past], values[past], rule)
        expected = alone.vote(query[i, None])
        torch.testing.assert_close(votes.mean[i, None], expected.mean)
        torch.testing.assert_close(votes.log_weight[i, None], expected.log_weight)
        assert sorted(found.rows[i, : len(past)].tolist()) == past.tolist()
        assert found.distances[i, len(past) :].isinf().all()
        assert not found.shares[i, len(past) :].any()
        torch.testing.assert_close(
            found.shares[i, : len(past)],
            alone.nearest(query[i, None], len(past)).shares[0],
        )


def test_who_asks_before_all_hears_the_earliest_and_who_does_not_say_when_all(draw):
    keys, values, query = draw(9, 3), draw(9, 2), draw(1, 3)
    memory = ExactMemory(keys, values, Rule(euclidean), moments=MOMENTS + 5)
    early = memory.vote(query, torch.tensor([0])).mean
    torch.testing.assert_close(early, values[1][None])
    plain = ExactMemory(keys, values, Rule(euclidean)).vote(query).mean
    torch.testing.assert_close(memory.vote(query).mean, plain)
