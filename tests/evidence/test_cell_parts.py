"""Parts of distances by cell: they add up, exactly where the embedding is a sum."""

import numpy as np
import pytest
import torch

from modernnca.core.distances import DISTANCES
from modernnca.core.encodings import ENCODINGS
from modernnca.core.network import InputShape, Network
from modernnca.ensemble.baselines import ConstantMember, KNNMember
from modernnca.ensemble.embedding_member import EmbeddingMember
from modernnca.ensemble.ensemble_config import EnsembleConfig
from modernnca.ensemble.forest_member import ForestMember
from modernnca.ensemble.network_member import NetworkMember
from modernnca.evidence.cell_parts import SPLITS, split_distances
from modernnca.testing import TASKS, fit_copy, make_examples, make_rows

SHAPE = InputShape(n_numbers=3, n_plain=1, n_levels=4)
N = 24


def untrained(distance, encoding, embedding, n_blocks):
    config = EnsembleConfig.defaults().updated(
        {
            "dim": 6,
            "d_block": 12,
            "distance": distance,
            "encoding": encoding,
            "embedding": embedding,
            "n_blocks": n_blocks,
            "n_bins": 4,
            "frequency_scale": 0.2,
        }
    )
    generator = torch.Generator().manual_seed(0)
    member, train = NetworkMember(), make_examples(N, "classification")
    network = Network(config, SHAPE, generator)
    network.prepare(train.rows.numbers)
    network(train.rows)  # BatchNorm sees rows
    member.network_, member.config_ = network.eval().requires_grad_(False), config
    member.remember(train)
    return member, train


def pairs_of(member, train):
    """Each query with each remembered row; the first query is the first row."""
    query = make_rows(4, seed=2)
    query = type(query)(
        *[
            None if part is None else torch.cat([mine[:1], part])
            for part, mine in zip(query, train.rows, strict=True)
        ]
    )
    one = torch.arange(5).repeat_interleave(N)
    other = torch.arange(N).repeat(5)
    found = split_distances(member, query.take(one), train.rows.take(other), other)
    return found, member.pairs(query).distances.flatten()


EMBEDDINGS_TRIED = [("linear", 0), ("mlp", 1), ("layernorm", 1), ("residual", 2)]


@pytest.mark.parametrize("embedding", EMBEDDINGS_TRIED, ids=lambda e: e[0])
@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("distance", DISTANCES)
def test_parts_add_up_to_the_distance(distance, encoding, embedding):
    found, distances = pairs_of(*untrained(distance, encoding, *embedding))
    torch.testing.assert_close(
        (found.parts.sum(1) + found.offsets).float(), distances, rtol=1e-5, atol=1e-5
    )
    scale = (found.distances - found.offsets).abs().mean()
    exact = embedding[0] == "linear" and distance != "cosine"
    assert found.missed.abs().mean() < (1e-5 if exact else 0.05) * scale
    assert found.parts[0].abs().max() < 1e-4 * scale  # a row and itself


@pytest.mark.parametrize("distance", DISTANCES)
def test_a_sum_over_cells_splits_exactly(distance):
    member, train = untrained(distance, "plr-lite", "linear", 0)
    one, other = make_rows(N, seed=2), train.rows
    network = member.network_
    swapped = []  # what each cell adds, as the change when it is exchanged
    for name in ("numbers", "plain", "codes"):
        for cell in range(getattr(one, name).shape[1]):
            changed = getattr(other, name).clone()
            changed[:, cell] = getattr(one, name)[:, cell]
            mixed = other._replace(**{name: changed})
            swapped.append(network(mixed) - network(other))
    added = torch.stack(swapped, 1).double()  # (N, F, D)
    difference = added.sum(1, keepdim=True)
    inner = (added * difference).sum(2)  # of the squared distance
    if distance == "euclidean":
        expected = inner / inner.sum(1, keepdim=True).sqrt()
    elif distance == "manhattan":
        expected = (added * difference.sign()).sum(2)
    else:
        expected = inner if distance == "squared-euclidean" else inner / 2
    found = split_distances(member, one, other, np.arange(N))
    if distance == "cosine":  # lengths change along the way
        assert (found.parts - expected).abs().max() > 1e-3
        return
    torch.testing.assert_close(found.parts, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("kind", [KNNMember, ForestMember, ConstantMember])
def test_parts_of_other_members_add_up(kind, task):
    member, train = fit_copy(kind(), task)
    rows = make_rows(7, seed=2)
    one, other = torch.arange(7).repeat_interleave(60), torch.arange(60).repeat(7)
    found = split_distances(member, rows.take(one), train.rows.take(other), other)
    torch.testing.assert_close(
        found.parts.sum(1).float(), member.pairs(rows).distances.flatten()
    )
    assert found.missed.abs().max() < 1e-5
    assert (found.parts >= 0).all()
    if kind is KNNMember:
        same = rows.codes[one] == train.rows.codes[other]
        assert not found.parts[:, 4:][same].any()
        assert (found.parts[:, 4:][~same] > 0).all()


def test_a_tree_blames_the_cell_at_which_rows_part_ways():
    member, train = fit_copy(ForestMember(), "classification")
    one = train.rows
    changed = one.numbers.clone()
    changed[:, 1] += 3.0
    other = one._replace(numbers=changed)
    found = split_distances(member, one, other, np.arange(60))
    assert found.distances.max() > 0
    torch.testing.assert_close(found.parts[:, 1], found.distances)


class _Unknown(KNNMember):
    kind = "unknown to SPLITS"


def test_a_member_of_your_own_is_split_by_exchange(monkeypatch):
    member, train = fit_copy(_Unknown(), "classification")
    monkeypatch.delitem(SPLITS, KNNMember)
    rows, places = make_rows(7, seed=2), np.arange(7)
    found = split_distances(member, rows, train.rows.take(slice(7)), places)
    distances = member.pairs(rows).distances[range(7), range(7)]
    torch.testing.assert_close(found.parts.sum(1).float(), distances)
    assert isinstance(member, EmbeddingMember)
    same = rows.codes == train.rows.codes[:7]
    assert not found.parts[:, 4:][same].any()
