"""Rows of an encoded table as tensors: alone, and with their targets."""

from typing import Any, NamedTuple

import torch
from torch import Tensor

from modernnca.core.origin import Origin


class Rows(NamedTuple):
    """The parts of an encoded table; row i of each is the same row.

    >>> rows = Rows(torch.zeros(4, 2), torch.ones(4, 1), torch.zeros(4, 0).long())
    >>> len(rows.codes), rows.take(torch.tensor([0, 3])).plain.shape
    (4, torch.Size([2, 1]))
    """

    numbers: Tensor  # (N, P) go through the numerical encoding
    plain: Tensor  # (N, Q) are used as they are
    codes: Tensor  # (N, C) levels of categories; see `core.embeddings.CodedLinear`
    time: Tensor | None = None  # (N,) rank in time; later rows do not vote
    group: Tensor | None = None  # (N,) rows of a query's own group do not vote; -1 none

    @property
    def n_rows(self) -> int:
        """N."""
        return len(self.codes)

    @property
    def device(self) -> torch.device:
        """Where the tensors are."""
        return self.codes.device

    @property
    def origin(self) -> Origin | None:
        """Time and group, if the rows have any."""
        if self.time is None and self.group is None:
            return None
        return Origin(self.time, self.group)

    def take(self, index: Tensor | slice) -> "Rows":
        """The rows at `index`, in that order."""
        return _each(self, lambda part: part[index])

    def to(self, device: torch.device) -> "Rows":
        """The same rows on `device`."""
        return _each(self, lambda part: part.to(device))

    def without_time(self) -> "Rows":
        """The same rows, at no particular time."""
        return self._replace(time=None)


class Examples(NamedTuple):
    """Rows with their targets and weights.

    `values` and `labels` differ only where the loss does not compare what is predicted:
    TabCon's regression learns from bins of the target and votes with numbers.
    """

    rows: Rows
    values: Tensor  # (N, V) what a row votes for: a one-hot class, or a number
    labels: Tensor  # (N, L) what the loss compares: mostly the same
    weights: Tensor | None = None  # (N,) of the rows, in the loss and in the vote

    @property
    def n_rows(self) -> int:
        """N."""
        return len(self.values)

    @property
    def log_weights(self) -> Tensor | None:
        """(N,) what is added to the scores of a row."""
        return None if self.weights is None else self.weights.log()

    def take(self, index: Tensor | slice) -> "Examples":
        """The examples at `index`, in that order."""
        rows = self.rows.take(index)
        return Examples(rows, *_each(self[1:], lambda part: part[index]))

    def to(self, device: torch.device) -> "Examples":
        """The same examples on `device`."""
        rows = self.rows.to(device)
        return Examples(rows, *_each(self[1:], lambda part: part.to(device)))

    def without_time(self) -> "Examples":
        """The same examples, at no particular time."""
        return self._replace(rows=self.rows.without_time())


def _each(parts: Any, change: Any) -> Any:
    """The parts that are there, changed, as the same kind of tuple."""
    changed = [None if part is None else change(part) for part in parts]
    return type(parts)(*changed) if hasattr(parts, "_fields") else changed


def concatenate(first: Any, second: Any) -> Any:
    """The rows (or examples) of `first`, then those of `second`."""
    joined = [
        concatenate(one, two)
        if isinstance(one, Rows)
        else None
        if one is None or two is None
        else torch.cat([one, two])
        for one, two in zip(first, second, strict=True)
    ]
    return type(first)(*joined)
