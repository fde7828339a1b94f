"""Which rows a member of an ensemble learns from, and which it stops by."""

from typing import NamedTuple

import numpy as np

from modernnca.table.split import deal


class Turn(NamedTuple):
    """Row numbers; members that share a turn share the object."""

    fit: np.ndarray
    stop: np.ndarray | None  # None: each row is judged by the others

    @staticmethod
    def of_all(n_rows: int) -> "Turn":
        """All rows are learned from, and judge each other."""
        return Turn(np.arange(n_rows), None)


class Held(NamedTuple):
    """What those who learned from `fit` said of held-out rows."""

    fit: np.ndarray  # row numbers
    rows: np.ndarray  # (b,) numbers of held-out rows
    votes: np.ndarray  # (b, V)

    def thin(self, most: int) -> "Held":
        """The same with at most so many of the held-out rows."""
        some = slice(None, None, max(1, -(-len(self.rows) // max(1, most))))
        return self._replace(rows=self.rows[some], votes=self.votes[some])


def take_turns(
    n_fit: int, n_stop: int, n_members: int, *, seed: int, classes: np.ndarray | None
) -> list[Turn]:
    """One turn for each member, of `n_fit` rows followed by `n_stop` held-out ones.

    The first member holds these out; the next ones hold out others, about as many each,
    so that every row is learned from by some member, and mostly by all but one. Classes
    (N,) are shared out evenly, and keep a row to learn from.

    >>> [turn.stop for turn in take_turns(4, 2, 4, seed=0, classes=None)]
    [array([4, 5]), array([2, 3]), array([0, 1]), array([4, 5])]
    """
    n_hands = min(max(2, round(n_fit / n_stop)), n_fit)
    hands = deal(
        n_fit,
        n_hands,
        rng=np.random.RandomState(seed),
        classes=None if classes is None else classes[:n_fit],
    )
    held = np.concatenate([1 + hands, np.zeros(n_stop, dtype=np.int64)])
    turns = [
        Turn(np.flatnonzero(held != number), np.flatnonzero(held == number))
        for number in range(min(n_members, 1 + n_hands))
    ]
    turns = [turn for turn in turns if len(turn.stop)]  # type: ignore[arg-type]
    return [turns[number % len(turns)] for number in range(n_members)]
