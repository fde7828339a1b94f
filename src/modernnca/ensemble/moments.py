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
from modernnca.ensemble.member import Member
from modernnca.memory.memory import Memory


class Moments(NamedTuple):
    """Votes, and their second moments."""

    votes: np.ndarray  # (K, B, V)
    squares: np.ndarray  # (K, B) the vote for the squared target; in regression


def moments(ensemble: Ensemble, query: Rows) -> Moments:
    """The moments of the vote of each member, in one pass over the remembered rows."""

    def ask(member: Any, memory: Memory | None) -> Any:
        if memory is None:
            return member.vote(query)
        return memory.vote(member.embed(query), query.origin)

    return _ask_each(ensemble, ask)


def moments_without_self(ensemble: Ensemble, rows: Tensor) -> Moments:
    """The same of some remembered rows, by their numbers (B,), without their own vote.

    Every member must be able to leave a row out (`can_leave_out`).
    """

    def ask(member: Any, memory: Memory | None) -> Any:
        return (member if memory is None else memory).leave_one_out(rows)

    return _ask_each(ensemble, ask)


def can_leave_out(members: Iterable[Member]) -> bool:
    """Whether all these members can leave a row out of its own vote."""
    return all(
        type(member).leave_one_out is not Member.leave_one_out for member in members
    )


def _ask_each(
    ensemble: Ensemble, ask: Callable[[Member, Memory | None], Votes]
) -> Moments:
    """The votes of the members; of a memory of the squared targets beside, if any."""
    remembered, found = ensemble.remembered, []
    is_number = remembered.values.shape[1] == 1
    if is_number:
        squares = remembered.values.square()
        both = remembered._replace(values=torch.cat([remembered.values, squares], 1))
    with torch.inference_mode():
        for member in ensemble.members:
            if is_number and isinstance(member, EmbeddingMember):
                mean = ask(member, member.memory_of(member.keys_, both)).mean
                found.append((mean[:, :1], mean[:, 1]))
            else:
                mean = ask(member, None).mean
                found.append((mean, mean[:, 0].square()))
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
