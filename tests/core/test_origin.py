"""The origin of rows: what it masks, one pair of rows after another."""

import pytest
import torch

from modernnca.core.origin import Origin, extend_mask

B, M = 3, 4


def draw_origin(n, rng):
    """Few times and groups, so that rows share them; -1 is of no group."""
    time = torch.randint(3, (n,), generator=rng)
    group = torch.randint(-1, 2, (n,), generator=rng)
    known = torch.randint(4, (2,), generator=rng) > 0
    return Origin(time if known[0] else None, group if known[1] else None)


@pytest.fixture(params=range(60))
def drawn(request):
    """Queries, keys, and a mask that leaves every query a key."""
    rng = torch.Generator().manual_seed(request.param)
    mask = torch.rand(B, M, generator=rng) < 0.3
    mask[:, 0] = False
    return draw_origin(B, rng), draw_origin(M, rng), mask


def is_masked(query, keys, b, m):
    later = own = False
    if query.time is not None and keys.time is not None:
        later = keys.time[m] > query.time[b]
    if query.group is not None and keys.group is not None:
        own = keys.group[m] == query.group[b] != -1
    return bool(later or own)


def masked_pairs(query, keys):
    rows = [[is_masked(query, keys, b, m) for m in range(M)] for b in range(B)]
    return torch.tensor(rows)  # (B, M)


def test_later_keys_and_those_of_the_own_group_are_masked(drawn):
    query, keys, _ = drawn
    expected, found = masked_pairs(query, keys), query.mask(keys)
    assert query.masks(keys) == expected.any()
    assert torch.equal(torch.zeros_like(expected) if found is None else found, expected)


def test_without_a_key_nothing_is_masked():
    nothing = torch.tensor([], dtype=torch.long)
    query, none = Origin(torch.tensor([1]), torch.tensor([0])), Origin(nothing, nothing)
    assert not query.masks(none)
    assert not none.masks(query)


def test_a_mask_grows_unless_a_query_would_lose_its_last_key(drawn):
    query, keys, mask = drawn
    near = query
    if query.time is not None and keys.time is not None:  # the earliest key votes
        near = query._replace(time=query.time.clamp_min(keys.time.min()))
    more = masked_pairs(near, keys)
    alone = (more | mask).all(1)
    expected = mask | (more & ~alone[:, None])
    found, found_alone = extend_mask(mask, query, keys)
    assert torch.equal(found, expected)
    assert not found.all(1).any()
    assert alone.any() == (found_alone is not None and bool(found_alone.any()))


def test_within_reach_every_query_has_a_key(drawn):
    query, keys, _ = drawn
    assert not masked_pairs(query.within_reach(keys), keys).all(1).any()
