"""The nearest remembered rows over all members, found tile by tile in bounded memory.

Shapes: K members, B queries, M remembered rows, N neighbors, V numbers in a vote.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from modernnca.core.rows import Rows
from modernnca.core.softnn import chunks
from modernnca.ensemble.combine import Combiner
from modernnca.ensemble.embedding_member import EmbeddingMember
from modernnca.ensemble.member import Member
from modernnca.memory.memory import PairReader, Pairs

_TINY = 1e-30
_N_PAIRS = 2**24  # (query, row) pairs of members that hold all of them at a time
# As in kernels.streaming: on a CPU a tile stays in the cache of a core.
_TILE_OF_CPU, _TILE = (128, 2**17), (4096, 2**25)

Allowed = Callable[[slice, slice], Tensor]  # of some queries and some rows: (b, m)


class Neighbors(NamedTuple):
    """Remembered rows for each query; see `Ensemble.neighbors`."""

    rows: np.ndarray  # (B, N) numbers of remembered rows
    distances: np.ndarray  # (B, N) the mean over the members, by their weights
    shares: np.ndarray  # (B, N) of the vote, out of 1 over all remembered rows
    # (B,) so many rows of equal shares would be as concentrated; NaN by distance
    n_effective: np.ndarray
    votes: np.ndarray  # (B, V) the combined vote


class _Members(NamedTuple):
    """The members that vote by rows, as seen from some queries."""

    readers: list[PairReader]
    of_distance: list[float]  # the weight of each in the distance
    of_share: list[Tensor]  # (b, 1) the weight of each in the vote

    def distances(self, read: Callable[[PairReader], Pairs]) -> Tensor:
        """The combined distances of what is read from each member."""
        found: Tensor | None = None
        for reader, weight in zip(self.readers, self.of_distance, strict=True):
            if weight > 0:  # zero times an infinite distance would be NaN
                own = read(reader).distances.mul(weight)
                found = own if found is None else found.add_(own)
        assert found is not None
        return found

    def shares(self, read: Callable[[PairReader], Pairs]) -> Tensor:
        """The combined shares of what is read from each member."""
        found: Tensor | None = None
        for reader, weight in zip(self.readers, self.of_share, strict=True):
            own = read(reader).shares.mul(weight)
            found = own if found is None else found.add_(own)
        assert found is not None
        return found


def find_neighbors(
    members: Sequence[Member],
    combine: Combiner,
    query: Rows,
    k: int,
    *,
    n_rows: int,
    by: str,
    allowed: Allowed | None = None,
) -> Neighbors:
    """The k nearest of M remembered rows by "distance", or the k largest by "share"."""
    n_queries, _ = _TILE_OF_CPU if query.device.type == "cpu" else _TILE
    hard = not all(_streams(member) for member in members)
    if hard:
        at_once = chunks(query.n_rows, n_rows * len(members), _N_PAIRS)[0].stop
        n_queries = min(n_queries, at_once)
    parts = []
    for some in chunks(query.n_rows, 1, n_queries):
        seen, votes = _read(members, combine, query.take(some))
        rule_out = None if allowed is None else partial(allowed, some)
        found = _of_some(seen, k, n_rows=n_rows, by=by, hard=hard, allowed=rule_out)
        parts.append([*(part.cpu().numpy() for part in found), votes])
    return Neighbors(*(np.concatenate(part) for part in zip(*parts, strict=True)))


def _streams(member: Member) -> bool:
    """Whether it never holds all pairs at once."""
    if not isinstance(member, EmbeddingMember):
        return False
    return member.rule().n_neighbors is None


def _read(
    members: Sequence[Member], combine: Combiner, query: Rows
) -> tuple[_Members, np.ndarray]:
    """The members that vote by rows, and the combined vote (b, V)."""
    readers = [member.reader(query) for member in members]
    votes = [
        member.vote(query) if reader is None else reader.votes
        for member, reader in zip(members, readers, strict=True)
    ]
    stacked = torch.stack([each.mean for each in votes]).double().cpu().numpy()
    weights = torch.from_numpy(combine.weights_for(stacked)).to(votes[0].mean)
    kept = [place for place, reader in enumerate(readers) if reader is not None]
    total = sum(combine.weights[place] for place in kept)
    if not total:
        raise ValueError("No member of this model votes by rows.")
    seen = _Members(
        [reader for reader in readers if reader is not None],
        [combine.weights[place] / total for place in kept],
        [weights[place, :, None] for place in kept],
    )
    return seen, combine(stacked)


def _of_some(
    seen: _Members,
    k: int,
    *,
    n_rows: int,
    by: str,
    hard: bool,
    allowed: Callable[[slice], Tensor] | None,
) -> list[Tensor]:
    """Rows, distances and shares (b, N), and effective numbers (b,), of few queries."""
    n_queries, device = len(seen.of_share[0]), seen.of_share[0].device
    n_pairs = (_TILE_OF_CPU if device.type == "cpu" else _TILE)[1]
    nearest, order = by == "distance", None
    rows = torch.empty(n_queries, 0, dtype=torch.long, device=device)
    total = torch.zeros(n_queries, dtype=seen.of_share[0].dtype, device=device)
    squared = torch.zeros_like(total)
    for part in chunks(n_rows, 1, max(1, n_pairs // max(1, n_queries))):
        if nearest:
            values = seen.distances(partial(_tile, part=part))
        else:
            values = seen.shares(partial(_tile, part=part))
            total = total + values.sum(1)
            squared = squared + torch.linalg.vecdot(values, values)
            values.neg_()
            if hard:  # which gives no share to far rows, nor to those it may not see
                unseen = seen.distances(partial(_tile, part=part)).isinf()
                values.masked_fill_(unseen, torch.inf)
        if allowed is not None:
            values = values.masked_fill(~allowed(part), torch.inf)
        found = values.topk(min(k, values.shape[1]), largest=False)
        below = found.indices + part.start
        order = found.values if order is None else torch.cat([order, found.values], 1)
        rows = torch.cat([rows, below], 1)
        if rows.shape[1] > k:
            order, kept = order.topk(k, largest=False)
            rows = rows.gather(1, kept)
    assert order is not None
    distances = seen.distances(lambda reader: reader.chosen(rows))
    if nearest:
        shares = seen.shares(lambda reader: reader.chosen(rows))
    else:  # of the tiles, which rounded as the vote did, so that they add up to it
        whole = torch.cat(seen.of_share, 1).sum(1) / total.clamp_min(_TINY)
        shares = (-order).clamp_min(0) * whole[:, None]
    if allowed is not None:
        distances = distances.masked_fill(order.isinf(), torch.inf)
    # The largest shares first, and of equal ones the nearest.
    turn = distances.argsort(dim=1, stable=True)
    if not nearest:
        turn = turn.gather(1, (-shares.gather(1, turn)).argsort(dim=1, stable=True))
    found_rows = [each.gather(1, turn) for each in (rows, distances, shares)]
    return [*found_rows, total.square() / squared]  # NaN if shares were not added up


def _tile(reader: PairReader, *, part: slice) -> Pairs:
    return reader.tile(part)
