"""The contract of a member, run on every kind of the package and on faulty ones."""

import copy

import pytest
import torch

from modernnca import ConstantMember, ForestMember, KNNMember, NetworkMember
from modernnca.core.softnn import Votes
from modernnca.ensemble.member import MEMBER_KINDS, Member
from modernnca.testing import MEMBER_CHECKS, TASKS, check_member

MEMBERS = [
    NetworkMember(),
    NetworkMember(n_blocks=1, d_block=8, numeric_transform="quantile"),
    NetworkMember(prediction="knn", column_scales="none"),
    ForestMember(),
    KNNMember(),
    KNNMember(n_neighbors=1),
    ConstantMember(),
]


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("check", MEMBER_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("member", MEMBERS, ids=lambda m: getattr(m, "kind", str(m)))
def test_a_member_keeps_the_contract(member, check, task):
    before = copy.deepcopy(vars(member))
    check(member, task)
    assert vars(member) == before, "the unfitted member was changed"


def test_every_kind_is_tested():
    tested = {member.kind for member in MEMBERS}
    own = {k for k, v in MEMBER_KINDS.items() if v.__module__.startswith("modernnca")}
    assert tested == own


def faulty(name, method):
    """k-NN with one method replaced, registered under a kind of its own."""
    fault = getattr(method, "__name__", name)
    return type(f"Faulty{fault}", (KNNMember,), {"kind": fault, name: method})()


def _unnormalized(self, query):
    mean, log_weight = KNNMember.vote(self, query)
    return Votes(2 * mean, log_weight)


def _flat(self, query):
    mean, log_weight = KNNMember.vote(self, query)
    return Votes(mean, log_weight.squeeze(1))


def _depends_on_the_batch(self, query):
    mean, log_weight = KNNMember.vote(self, query)
    return Votes(mean.roll(1, 0), log_weight)


def _random(self, rows):
    return KNNMember.embed(self, rows) + torch.randn(1)


def _remember_nothing(self, rows):
    if not hasattr(self, "memory_"):
        KNNMember.remember(self, rows)


def _wrong_shares(self, query):
    pairs = KNNMember.pairs(self, query)
    return pairs._replace(shares=pairs.shares.roll(1, 1))


def _forgets_a_neighbor(cls, state, remembered):
    return KNNMember.from_state({**state, "n_neighbors": 1}, remembered)


@pytest.mark.parametrize(
    "member",
    [
        faulty("vote", _unnormalized),
        faulty("vote", _flat),
        faulty("vote", _depends_on_the_batch),
        faulty("embed", _random),
        faulty("remember", _remember_nothing),
        faulty("pairs", _wrong_shares),
        faulty("from_state", classmethod(_forgets_a_neighbor)),
    ],
    ids=lambda member: member.kind,
)
def test_a_faulty_member_is_found(member):
    with pytest.raises(AssertionError):
        check_member(member)


def test_two_classes_cannot_have_one_kind():
    with pytest.raises(TypeError, match="The kind 'knn' belongs to KNNMember; choose"):
        type("Other", (Member,), {"kind": "knn"})
