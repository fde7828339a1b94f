"""What the members say about queries, and how much their neighbors' targets vary.

Shapes: K members, B queries, V numbers in a vote.
"""

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from modernnca.core.rows import Rows
from modernnca.core.softnn import Votes, chunks
from modernnca.ensemble.combine import Combiner
from modernnca.ensemble.embedding_member import EmbeddingMember
from modernnca.ensemble.ensemble import Ensemble
from modernnca.ensemble.member import Member

_N_PAIRS = 2**22  # (query, row) pairs that are held at a time


class Moments(NamedTuple):
    """Votes, their second moments, and the weight behind them."""

    votes: np.ndarray  # (K, B, V)
    squares: np.ndarray  # (K, B) the vote for the squared target; in regression
    log_masses: np.ndarray  # (K, B) the log of the mean weight of a remembered row, or
    # in hard k-NN the distance to the nearest one, negated


def moments(ensemble: Ensemble, query: Rows) -> Moments:
    """The moments of the vote of each member, in one pass over the remembered rows."""
    values, weights = ensemble.remembered.values, ensemble.remembered.weights
    total = len(values) if weights is None else float(weights.sum())
    found = []
    with torch.inference_mode():
        for member in ensemble.members:
            votes, squares = _vote(member, ensemble, query)
            log_mass = votes.log_weight[:, 0] - np.log(total)
            if isinstance(member, EmbeddingMember) and member.rule().n_neighbors:
                log_mass = -_nearest(member, query).to(votes.mean)
            found.append((votes.mean, squares, log_mass))
    parts = [
        torch.stack(part).double().cpu().numpy() for part in zip(*found, strict=True)
    ]
    return Moments(*parts)


def _vote(member: Member, ensemble: Ensemble, query: Rows) -> tuple[Votes, Tensor]:
    """The vote of a member, and that for the squared target (B,)."""
    remembered = ensemble.remembered
    if remembered.values.shape[1] > 1 or not isinstance(member, EmbeddingMember):
        votes = member.vote(query)
        return votes, votes.mean[:, 0].square()
    both = torch.cat([remembered.values, remembered.values.square()], 1)
    memory = member.memory_of(member.keys_, remembered._replace(values=both))
    mean, log_weight = memory.vote(member.embed(query), query.time)
    return Votes(mean[:, :1], log_weight), mean[:, 1]


def _nearest(member: EmbeddingMember, query: Rows) -> Tensor:
    """The distance to the nearest remembered row (B,): in hard k-NN all weigh alike."""
    parts = []
    for some in chunks(query.n_rows, len(member.keys_), _N_PAIRS):
        parts.append(member.pairs(query.take(some)).distances.amin(1))
    return torch.cat(parts)


class Spread(NamedTuple):
    """How unsure the combined vote is; each (B,)."""

    neighbors: np.ndarray  # the standard deviation of the neighbors' targets
    members: np.ndarray  # the standard deviation of the members' votes
    log_mass: np.ndarray  # the log of the mean weight of a remembered row


def spread_of(found: Moments, combine: Combiner) -> Spread:
    """The spread of votes that are combined so; in classification, of class shares."""
    weights = combine.weights_for(found.votes)  # (K, B)
    mean = (weights[..., None] * found.votes).sum(0)  # (B, V)
    between = (weights * np.square(found.votes - mean).sum(2)).sum(0)
    within = (weights * found.squares).sum(0) - mean[:, 0] ** 2
    log_mass = (np.array(combine.weights)[:, None] * found.log_masses).sum(0)
    return Spread(np.sqrt(within.clip(0)), np.sqrt(between), log_mass)
