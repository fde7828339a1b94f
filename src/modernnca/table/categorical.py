"""Categorical columns to integer codes; encodings by name.

The levels of all columns share one space, 0 to n_levels - 1; the code n_levels means
"unknown", which the network reads as a zero vector. One-hots are never built.
Shapes: N rows, C columns of objects (str, or None for missing).
"""

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import repeat
from typing import Any, Self

import numpy as np

from modernnca._named import named

MAX_LEVELS = 1000  # of a column with grouped levels; the others share one code
_MIN_LOST = 30  # levels; of fewer, grouping some is no great loss
_MAX_LOST = 0.1  # of the cells
_CODE = re.compile(r"\S*\d\S*")
_MIN_CODES = 0.9  # of the distinct texts


@dataclass(frozen=True)
class Levels:
    """The levels of a column: those with their own code, and those that share one."""

    own: tuple[str | None, ...]
    rare: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.own) + bool(self.rare)

    def codes(self, cells: np.ndarray, *, start: int, unknown: int) -> np.ndarray:
        """Return the code of each cell, counting from `start`."""
        found = map(self._places.get, cells, repeat(-1))
        places = np.fromiter(found, dtype=np.int64, count=len(cells))
        return np.where(places < 0, unknown, start + places)

    @cached_property
    def _places(self) -> dict[str | None, int]:
        places: dict[str | None, int] = dict.fromkeys(self.rare, len(self.own))
        return places | {level: place for place, level in enumerate(self.own)}


def learn_each(cells: np.ndarray) -> Levels:
    """Give each level its own code; missing is a level if it occurs.

    >>> learn_each(np.array(["b", None, "a", "b"], dtype=object))
    Levels(own=('a', 'b', None), rare=())
    """
    found = set(cells)
    own: list[str | None] = [*sorted(found - {None})]
    return Levels(tuple(own + [None] * (None in found)))


def learn_grouped(cells: np.ndarray) -> Levels:
    """Group the levels seen once, and all but the 1,000 most frequent ones.

    >>> learn_grouped(np.array(["b", None, "a", "b", "c"], dtype=object))
    Levels(own=('b', None), rare=('a', 'c'))
    """
    counts = Counter(cells)
    missing = counts.pop(None, 0) > 0
    repeated = [level for level, count in counts.items() if count > 1]
    repeated.sort(key=lambda level: (-counts[level], level))
    own: list[str | None] = [*sorted(repeated[:MAX_LEVELS])]
    rare = tuple(sorted(counts.keys() - set(own)))
    return Levels(tuple(own + [None] * missing), rare)


def loses_levels(cells: np.ndarray) -> bool:
    """Return whether `learn_grouped` would group a tenth of the cells, of many levels.

    >>> loses_levels(np.array([f"{i} days" for i in range(40)], dtype=object))
    True
    >>> loses_levels(np.array(["b", "a", "b", "c"], dtype=object))
    False
    """
    if len(set(cells) - {None}) < _MIN_LOST:
        return False
    counts = Counter(cells)
    counts.pop(None, None)
    own = sorted((n for n in counts.values() if n > 1), reverse=True)[:MAX_LEVELS]
    n_cells = sum(counts.values())
    return n_cells - sum(own) > _MAX_LOST * n_cells


def are_recurring_codes(cells: np.ndarray) -> bool:
    """Return whether nearly all cells are single words with a digit, and some recur.

    Such texts (tail numbers, postcodes) name things, and spelling tells little of them.

    >>> are_recurring_codes(np.array(["N14228", "N668DN", "N14228", None, "N668DN"]))
    True
    >>> are_recurring_codes(np.array(["route 66", "sedan"] * 2))
    False
    """
    texts = [text.strip() for text in set(cells) - {None}]
    n_codes = sum(_CODE.fullmatch(text) is not None for text in texts)
    return n_codes >= _MIN_CODES * len(texts) and len(learn_grouped(cells).own) > 1


CATEGORICAL_ENCODINGS: dict[str, Callable[[np.ndarray], Levels]] = {
    "grouped": learn_grouped,
    "onehot": learn_each,
}


class CategoricalColumns:
    """Columns of text to codes; a column with one level only is left out.

    >>> x = np.array([["a", "u"], ["a", "v"], ["b", "u"], ["b", "v"]], dtype=object)
    >>> columns = CategoricalColumns("grouped").fit(x)
    >>> columns.transform(np.array([["b", "u"], ["new", "v"]], dtype=object))
    array([[1, 2],
           [4, 3]])
    """

    def __init__(self, encoding: str) -> None:
        self.encoding = encoding

    def fit(self, x: np.ndarray) -> Self:
        """Learn the levels of x (N, C)."""
        learn = named("categorical encoding", self.encoding, CATEGORICAL_ENCODINGS)
        self.levels_ = [learn(cells) for cells in x.T]
        return self

    @property
    def kept_(self) -> list[int]:
        """The indices of the columns that have more than one level."""
        return [place for place, each in enumerate(self.levels_) if len(each) > 1]

    @property
    def n_levels(self) -> int:
        """The number of levels of all kept columns together."""
        return sum(len(self.levels_[place]) for place in self.kept_)

    def transform(self, x: np.ndarray) -> np.ndarray:
        """Return the codes of x (N, C), int64 (N, number of kept columns)."""
        unknown = self.n_levels
        codes = np.empty((len(x), len(self.kept_)), dtype=np.int64)
        start = 0
        for out, place in enumerate(self.kept_):
            levels = self.levels_[place]
            codes[:, out] = levels.codes(x[:, place], start=start, unknown=unknown)
            start += len(levels)
        return codes

    def state(self) -> dict[str, Any]:
        """Return what was learned, as plain lists."""
        # The levels of a column that is dropped (ids, say) need not be kept.
        kept = set(self.kept_)
        levels = [
            {"own": list(each.own), "rare": list(each.rare)} if i in kept else None
            for i, each in enumerate(self.levels_)
        ]
        return {"encoding": self.encoding, "levels": levels}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        """Rebuild the columns from what was learned."""
        new = cls(state["encoding"])
        new.levels_ = [
            Levels(()) if each is None else Levels(**{k: tuple(each[k]) for k in each})
            for each in state["levels"]
        ]
        return new
