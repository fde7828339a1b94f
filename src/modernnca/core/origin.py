"""The origin of rows, their time and their group, and which rows it masks.

Rows later than a query do not vote on it, nor do rows of its own group. No query is
left without a vote: one earlier than all rows sees the earliest, one whose group is the
only one sees its group.

Shapes: N rows, B queries, M remembered rows (keys).
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

_LAST = torch.iinfo(torch.int64).max


class Origin(NamedTuple):
    """When rows happened, and which group they belong to."""

    time: Tensor | None = None  # (N,) rank in time; later rows do not vote
    group: Tensor | None = None  # (N,) number of the group; -1 of no group

    def take(self, index: Tensor | slice) -> "Origin":
        """The origin of the rows at `index`."""
        return self._each(lambda part: part[index])

    def to(self, device: torch.device) -> "Origin":
        """The same on `device`."""
        return self._each(lambda part: part.to(device))

    def _each(self, change: Callable[[Tensor], Tensor]) -> "Origin":
        return Origin(*(None if part is None else change(part) for part in self))

    def within_reach(self, keys: "Origin") -> "Origin":
        """The origin that queries are given, so that a key is left for each of them.

        >>> query = Origin(torch.tensor([0, 5]), torch.tensor([7, 8]))
        >>> keys = Origin(torch.tensor([3, 4, 5]), torch.tensor([7, 8, 8]))
        >>> query.within_reach(keys).time
        tensor([4, 5])
        """
        time, group = self.time, self.group
        if group is not None and keys.group is not None and len(keys.group):
            first = keys.group[0]
            if bool((keys.group == first).all()):
                group = group.masked_fill(group == first, -1)
        if time is not None and keys.time is not None and len(keys.time):
            time = torch.maximum(time, _earliest(group, keys))
        return Origin(time, group)

    def masks(self, keys: "Origin") -> bool:
        """Whether any key is masked for any of these queries."""
        if (
            self.time is not None
            and keys.time is not None
            and len(self.time)
            and bool((keys.time > self.time.min()).any())
        ):
            return True
        if self.group is None or keys.group is None:
            return False
        own = self.group[self.group >= 0]
        return bool(torch.isin(own, keys.group).any())

    def mask(self, keys: "Origin") -> Tensor | None:
        """(B, M) True where a key must not vote on a query; None if none is masked."""
        mask = None
        if self.time is not None and keys.time is not None:
            mask = keys.time > self.time[:, None]
        if self.group is not None and keys.group is not None:
            own = self.group[:, None]
            same = (keys.group == own) & (own >= 0)
            mask = same if mask is None else mask | same
        return mask


def _earliest(group: Tensor | None, keys: Origin) -> Tensor:
    """The time of the earliest key that is not of a query's group: () or (B,)."""
    assert keys.time is not None
    first, place = keys.time.min(0)
    if group is None or keys.group is None:
        return first
    of_first = keys.group[place]
    others = keys.time.masked_fill(keys.group == of_first, _LAST).min()
    return torch.where((group == of_first) & (group >= 0), others, first)


def extend_mask(
    mask: Tensor | None, query: Origin | None, keys: Origin | None
) -> tuple[Tensor | None, Tensor | None]:
    """Extend `mask` (B, M) by the keys that must not vote on a query.

    A query that no key would be left for keeps the mask it had; the second result (B,)
    tells which ones these are. Both are None if there is nothing to mask.

    >>> extend_mask(None, Origin(torch.tensor([0, 2])), Origin(torch.tensor([1, 2, 3])))
    (tensor([[False,  True,  True],
            [False, False,  True]]), tensor([False, False]))
    """
    if query is None or keys is None:
        return mask, None
    if query.time is not None and keys.time is not None and len(keys.time):
        query = query._replace(time=query.time.clamp_min(keys.time.min()))
    more = query.mask(keys)  # (B, M)
    if more is None:
        return mask, None
    alone = (more if mask is None else more | mask).all(1)
    more &= ~alone[:, None]
    return more if mask is None else mask | more, alone
