"""What the members say about queries, and how much their neighbors' targets vary.

Shapes: K members, B queries, V numbers in a vote.
"""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from modernnca.core.rows import Rows
from modernnca.core.softnn import Votes
from modernnca.ensemble.combine import Combiner
from modernnca.ensemble.embedding_member import EmbeddingMember
from modernnca.ensemble.ensemble import Ensemble
from modernnca.ensemble.member import Member, Remembered
from modernnca.memory.memory import Memory


class Moments(NamedTuple):
    """Votes, and their second moments."""

    votes: np.ndarray  # (K, B, V)
    squares: np.ndarray  # (K, B) the vote for the squared target; in regression


def moments(ensemble: Ensemble, query: Rows) -> Moments:
    """The moments of the vote of each member, in one pass over the remembered rows."""
    with torch.inference_mode():
        found = [
            _moments_of(
                member,
                ensemble.remembered,
                lambda member: member.vote(query),
                lambda member, memory: memory.vote(member.embed(query), query.origin),
            )
            for member in ensemble.members
        ]
    return _stack(found)


def moments_without_self(ensemble: Ensemble, rows: Tensor) -> Moments:
    """The same of some remembered rows, by their numbers (B,), without their own vote.

    Every member must be able to leave a row out (`can_leave_out`).
    """
    with torch.inference_mode():
        found = [
            _moments_of(
                member,
                ensemble.remembered,
                lambda member: member.leave_one_out(rows),
                lambda member, memory: memory.leave_one_out(rows),
            )
            for member in ensemble.members
        ]
    return _stack(found)


def can_leave_out(members: Iterable[Member]) -> bool:
    """Whether all these members can leave a row out of its own vote."""
    return all(
        type(member).leave_one_out is not Member.leave_one_out for member in members
    )


def _moments_of(
    member: Member,
    remembered: Remembered,
    vote: Callable[[Any], Any],
    vote_of: Callable[[EmbeddingMember, Memory], Votes],
) -> tuple[Tensor, Tensor]:
    """The vote of a member (B, V), and that for the squared target (B,)."""
    values = remembered.values
    if values.shape[1] > 1 or not isinstance(member, EmbeddingMember):
        mean = vote(member).mean
        return mean, mean[:, 0].square()
    both = torch.cat([values, values.square()], 1)
    memory = member.memory_of(member.keys_, remembered._replace(values=both))
    mean = vote_of(member, memory).mean
    return mean[:, :1], mean[:, 1]


def _stack(found: list[tuple[Tensor, Tensor]]) -> Moments:
    parts = zip(*found, strict=True)
    return Moments(*(torch.stack(part).double().cpu().numpy() for part in parts))


class Uncertainty(NamedTuple):
    """How unsure the combined vote is; each (B,)."""

    neighbors: np.ndarray  # the standard deviation of the neighbors' targets
    members: np.ndarray  # the standard deviation of the members' votes


def spread_of(found: Moments, combine: Combiner) -> Uncertainty:
    """The spread of votes that are combined so; in classification, of class shares."""
    weights = combine.weights_for(found.votes)  # (K, B)
    mean = (weights[..., None] * found.votes).sum(0)  # (B, V)
    between = (weights * np.square(found.votes - mean).sum(2)).sum(0)
    within = (weights * found.squares).sum(0) - mean[:, 0] ** 2
    return Uncertainty(np.sqrt(within.clip(0)), np.sqrt(between))
