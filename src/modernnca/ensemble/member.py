"""The contract of a member: one view of the table that can vote."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar, NamedTuple, Self

from torch import Tensor

from modernnca.core.network import InputShape
from modernnca.core.rows import Examples, Rows
from modernnca.core.softnn import Votes
from modernnca.ensemble.run import Run
from modernnca.memory.memory import Pairs
from modernnca.train.loop import History

State = dict[str, Any]

# The classes of members that a file may name; a subclass with a `kind` adds itself.
MEMBER_KINDS: dict[str, type["Member"]] = {}


class Remembered(NamedTuple):
    """What a model file holds about the remembered rows, once for all members."""

    values: Tensor  # (M, V) what the rows vote for
    weights: Tensor | None = None  # (M,)
    time: Tensor | None = None  # (M,)
    n_columns: int = 0  # of an encoded row: numbers, plain columns and codes

    @classmethod
    def of(cls, rows: Examples) -> "Remembered":
        """What is remembered of some examples, whatever the member."""
        n_columns = sum(part.shape[1] for part in rows.rows[:3])
        return cls(rows.values, rows.weights, rows.rows.time, n_columns)


class Member(ABC):
    """One view of the table that can vote: a network, a forest, k-NN, a constant.

    A member of your own has a `kind` (its name in model files), learns in `fit`, votes
    in `vote`, and goes to files by `state` and `from_state`. The other methods have
    sensible defaults. Constructor arguments are stored as given; an unfitted member is
    copied before each fit. `modernnca.testing.check_member` tests the contract;
    docs/members.md has an example.

    Shapes: N training rows, M remembered rows, B queries, V numbers in a vote (the
    classes, or 1 in regression, where targets are standardized).
    """

    kind: ClassVar[str]
    # An auxiliary member votes only beside others, where its weight can be learned from
    # validation rows, and gets no part of the time of its own.
    auxiliary: ClassVar[bool] = False
    # The steps that led to the best epoch; a refit on all rows takes as many.
    n_steps_: int | None = None

    def __init_subclass__(cls) -> None:
        if "kind" not in vars(cls):
            return
        known = MEMBER_KINDS.get(cls.kind)
        if known is not None and known.__qualname__ != cls.__qualname__:
            raise TypeError(
                f"The kind {cls.kind!r} belongs to {known.__qualname__}; choose "
                f"another for {cls.__qualname__}."
            )
        MEMBER_KINDS[cls.kind] = cls

    @abstractmethod
    def fit(self, train: Examples, valid: Examples | None, run: Run) -> History:
        """Learn from the training rows.

        `valid` are rows to validate by; None means to validate by leave-one-out votes,
        or not at all. `run.evaluate(votes)` gives the score and the loss of votes for
        these rows. Training should end soon after `run.budget.exhausted()`.
        """

    def finetune(self, rows: Examples, run: Run) -> None:
        """Learn on from all rows, training and validation, without validation."""
        del rows, run

    def remember(self, rows: Examples) -> None:
        """Take these rows as the ones that vote from now on."""
        del rows

    @abstractmethod
    def vote(self, query: Rows) -> Votes:
        """Vote on queries: the mean (B, V), and the log of its total weight (B, 1)."""

    def leave_one_out(self, rows: Tensor) -> Votes | None:
        """The vote of all other remembered rows on some of them, by their numbers (B,).

        None if the vote of a row cannot be taken out.
        """
        del rows
        return None

    def pairs(self, query: Rows) -> Pairs | None:
        """The distance and the share in the vote of every remembered row, (B, M).

        None if the vote does not consist of shares of rows.
        """
        del query
        return None

    def check(self, shape: InputShape, remembered: Remembered) -> None:
        """Raise unless it can vote on rows of this shape; called after `from_state`."""
        del shape, remembered

    @abstractmethod
    def state(self) -> State:
        """All that was learned: plain values, lists, dicts, arrays and tensors."""

    @classmethod
    @abstractmethod
    def from_state(cls, state: State, remembered: Remembered) -> Self:
        """Rebuild the fitted member; tensors go to the device of `remembered`."""


def unvalidated(ended: str = "fitted") -> History:
    """The history of a member that learns without epochs."""
    return History([], 0, ended)
