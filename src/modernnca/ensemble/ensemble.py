"""The ensemble: members and how their votes become one."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from modernnca._declared import array, real, whole
from modernnca._named import named
from modernnca.core.network_stack import NetworkStack, can_stack
from modernnca.core.rows import Examples, Rows
from modernnca.core.softnn import Votes
from modernnca.ensemble.combine import Combiner
from modernnca.ensemble.member import MEMBER_KINDS, Member, Remembered
from modernnca.ensemble.neighbors import Neighbors, find_neighbors
from modernnca.ensemble.network_member import NetworkMember
from modernnca.memory.exact_memory import vote_together
from modernnca.memory.memory import Pairs

_MAX_STACKED = 16  # queries; of more, the arithmetic costs more than the calls


@dataclass(frozen=True)
class Ensemble:
    """Fitted members, and how their votes become one."""

    members: tuple[Member, ...]
    combine: Combiner
    remembered: Remembered

    def __post_init__(self) -> None:
        if not self.members or len(self.members) != len(self.combine.weights):
            raise ValueError(
                f"An ensemble of {len(self.members)} members has "
                f"{len(self.combine.weights)} weights."
            )

    @classmethod
    def remembering(
        cls, members: Sequence[Member], combine: Combiner, rows: Examples
    ) -> "Ensemble":
        """The ensemble in which these rows vote."""
        for member in members:
            member.remember(rows)
        return cls(tuple(members), combine, Remembered.of(rows))

    def votes(self, query: Rows) -> np.ndarray:
        """The vote of each member, (K, B, V)."""
        with torch.inference_mode():
            votes = [votes.mean for votes in self._votes(query)]
            return torch.stack(votes).double().cpu().numpy()

    def _votes(self, query: Rows) -> list[Votes]:
        """The vote of each member; networks are evaluated together for few queries."""
        if self._stacked is None or query.n_rows > _MAX_STACKED:
            return [member.vote(query) for member in self.members]
        networks = [m for m in self.members if isinstance(m, NetworkMember)]
        embedded = list(self._stacked(query))
        memories = [network.memory_ for network in networks]
        votes = iter(vote_together(memories, embedded, query.origin))
        return [
            next(votes) if isinstance(member, NetworkMember) else member.vote(query)
            for member in self.members
        ]

    @cached_property
    def _stacked(self) -> NetworkStack | None:
        """The networks, to be evaluated together; None if they differ too much."""
        members = [m for m in self.members if isinstance(m, NetworkMember)]
        networks = [member.network_ for member in members]
        if len(networks) < 2 or not can_stack(networks):
            return None
        return NetworkStack(networks)

    def __getstate__(self) -> dict[str, Any]:
        return {name: v for name, v in vars(self).items() if name != "_stacked"}

    def vote(self, query: Rows) -> np.ndarray:
        """The combined vote, (B, V)."""
        return self.combine(self.votes(query))

    def neighbors(
        self,
        query: Rows,
        k: int,
        *,
        by: str,
        allowed: Callable[[slice, slice], Tensor] | None = None,
    ) -> Neighbors:
        """The k nearest remembered rows by "distance", or the k largest by "share".

        Rows later than a query, or of its group, come last, at an infinite distance and
        without a share; so do those that `allowed`, of some queries and some rows,
        rules out.
        """
        with torch.inference_mode():
            return find_neighbors(
                self.members,
                self.combine,
                query,
                k,
                n_rows=len(self.remembered.values),
                by=by,
                allowed=allowed,
            )

    def shares(self, query: Rows) -> Tensor:
        """The share of every remembered row in the vote on each query, (B, M)."""
        return self._pairs(query).shares

    def _pairs(self, query: Rows) -> Pairs:
        """Distances and shares of all remembered rows, combined over the members."""
        found = [member.pairs(query) for member in self.members]
        votes = [
            member.vote(query).mean
            if pairs is None
            else pairs.shares @ self.remembered.values
            for member, pairs in zip(self.members, found, strict=True)
        ]
        weights = self.combine.weights_for(torch.stack(votes).double().cpu().numpy())
        given = [w for w, p in zip(self.combine.weights, found, strict=True) if p]
        distances: Tensor | float = 0.0
        shares: Tensor | float = 0.0
        for pairs, own, weight in zip(
            found, self.combine.weights, weights, strict=True
        ):
            if pairs is None:
                continue
            of_queries = torch.from_numpy(weight).to(pairs.shares)[:, None]
            shares = shares + pairs.shares * of_queries
            if own > 0:  # zero times an infinite distance would be NaN
                distances = distances + pairs.distances * (own / sum(given))
        if not isinstance(distances, Tensor) or not isinstance(shares, Tensor):
            raise ValueError("No member of this model votes by rows.")
        return Pairs(distances, shares)

    def state(self) -> dict[str, Any]:
        """All that was learned: plain values and tensors."""
        return {
            "members": [{"kind": m.kind, **m.state()} for m in self.members],
            "weights": list(self.combine.weights),
            "outlier_threshold": float(self.combine.outlier_threshold),
            "remembered": self.remembered._asdict(),
        }

    @classmethod
    def from_state(cls, state: dict[str, Any], device: torch.device) -> "Ensemble":
        """Rebuild it, on the device; members of unknown kinds are refused."""
        weights = tuple(real(weight, "a weight", 0, 1) for weight in state["weights"])
        combine = Combiner(
            weights, real(state["outlier_threshold"], "outlier_threshold", 0)
        )
        remembered = _remembered(state["remembered"], device)
        members = []
        for part in state["members"]:
            kind = named("kind of member", part["kind"], MEMBER_KINDS)
            own = {name: value for name, value in part.items() if name != "kind"}
            members.append(kind.from_state(own, remembered))
        return cls(tuple(members), combine, remembered)


def _remembered(state: dict[str, Any], device: torch.device) -> Remembered:
    """What a file says about the remembered rows, on the device."""
    parts: dict[str, Any] = {
        name: part.to(device) if isinstance(part, Tensor) else part
        for name, part in state.items()
    }
    found = Remembered(**parts)
    n_rows, _ = array(found.values, "values", (None, None), ["float32"]).shape
    whole(n_rows, "the number of remembered rows", 1)
    whole(found.n_columns, "n_columns")
    if found.weights is not None:
        array(found.weights, "row weights", (n_rows,), ["float32"])
        if (found.weights < 0).any() or not found.weights.any():
            raise ValueError("row weights are negative, or all zero.")
    if found.time is not None:
        array(found.time, "time", (n_rows,), ["int64"])
    if found.group is not None:
        array(found.group, "group", (n_rows,), ["int64"])
    return found
