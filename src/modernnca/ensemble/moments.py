"""What the members say about queries, and how much their neighbors' targets vary.

Shapes: K members, B queries, V numbers in a vote.
"""

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from modernnca.core.rows import Rows
from modernnca.ensemble.combine import Combiner
from modernnca.ensemble.embedding_member import EmbeddingMember
from modernnca.ensemble.ensemble import Ensemble
from modernnca.ensemble.member import Member


class Moments(NamedTuple):
    """Votes, and their second moments."""

    votes: np.ndarray  # (K, B, V)
    squares: np.ndarray  # (K, B) the vote for the squared target; in regression


def moments(ensemble: Ensemble, query: Rows) -> Moments:
    """The moments of the vote of each member, in one pass over the remembered rows."""
    with torch.inference_mode():
        found = [_vote(member, ensemble, query) for member in ensemble.members]
    parts = zip(*found, strict=True)
    return Moments(*(torch.stack(part).double().cpu().numpy() for part in parts))


def _vote(member: Member, ensemble: Ensemble, query: Rows) -> tuple[Tensor, Tensor]:
    """The vote of a member (B, V), and that for the squared target (B,)."""
    remembered = ensemble.remembered
    if remembered.values.shape[1] > 1 or not isinstance(member, EmbeddingMember):
        mean = member.vote(query).mean
        return mean, mean[:, 0].square()
    both = torch.cat([remembered.values, remembered.values.square()], 1)
    memory = member.memory_of(member.keys_, remembered._replace(values=both))
    mean = memory.vote(member.embed(query), query.origin).mean
    return mean[:, :1], mean[:, 1]


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
