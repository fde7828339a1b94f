"""A search space is data: names, and the domain of values that each may take."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol


class Drawer(Protocol):
    """Who draws values: a trial of Optuna, or one that repeats what was drawn."""

    def suggest_int(
        self, name: str, low: int, high: int, *, step: int = 1, log: bool = False
    ) -> int:
        """Draw a whole number."""

    def suggest_float(
        self, name: str, low: float, high: float, *, log: bool = False
    ) -> float:
        """Draw a number."""

    def suggest_categorical(self, name: str, choices: Sequence[Any]) -> Any:
        """Draw one of several."""


class Domain(Protocol):
    """Values that something may take."""

    def suggest(self, trial: Drawer, name: str) -> Any:
        """Draw a value."""

    def holds(self, value: Any) -> bool:
        """Whether it is one of the values."""

    def drawn(self, name: str, value: Any) -> dict[str, Any]:
        """What a trial has drawn if `suggest` gave this value."""


Space = dict[str, Domain]


@dataclass(frozen=True)
class Int:
    """Whole numbers from `low` to `high`, both included, in steps.

    With `log`, numbers of every size are drawn alike.
    """

    low: int
    high: int
    log: bool = False
    step: int | None = None

    def __post_init__(self) -> None:
        _check_ends(self, self.low, self.high, log=self.log)
        if not (_is_whole(self.low) and _is_whole(self.high)):
            raise ValueError(f"{self} must have whole numbers as ends; else use Float.")
        if self.step is None:
            return
        if self.log:
            raise ValueError(f"{self} has both log and a step; choose one.")
        if self.step < 1 or (self.high - self.low) % self.step:
            raise ValueError(f"{self} must have a step that leads from low to high.")

    def suggest(self, trial: Drawer, name: str) -> int:
        """Draw a whole number."""
        step = 1 if self.step is None else self.step
        return trial.suggest_int(name, self.low, self.high, step=step, log=self.log)

    def holds(self, value: Any) -> bool:
        """Whether it is a whole number of the range, on a step."""
        if not (_is_whole(value) and self.low <= value <= self.high):
            return False
        return bool((value - self.low) % (self.step or 1) == 0)

    def drawn(self, name: str, value: Any) -> dict[str, Any]:
        """The number under its name."""
        return {name: int(value)}


@dataclass(frozen=True)
class Float:
    """Numbers from `low` to `high`, all alike."""

    low: float
    high: float

    def __post_init__(self) -> None:
        _check_ends(self, self.low, self.high, log=False)

    def suggest(self, trial: Drawer, name: str) -> float:
        """Draw a number."""
        return trial.suggest_float(name, self.low, self.high)

    def holds(self, value: Any) -> bool:
        """Whether it is a number of the range."""
        return _is_number(value) and self.low <= value <= self.high

    def drawn(self, name: str, value: Any) -> dict[str, Any]:
        """The number under its name."""
        return {name: float(value)}


@dataclass(frozen=True)
class LogFloat(Float):
    """Numbers from `low` to `high`; those of every size are drawn alike.

    >>> LogFloat(0, 1)
    Traceback (most recent call last):
    ...
    ValueError: LogFloat(low=0, high=1) must begin above 0, since sizes are drawn.
    """

    def __post_init__(self) -> None:
        _check_ends(self, self.low, self.high, log=True)

    def suggest(self, trial: Drawer, name: str) -> float:
        """Draw a number by its logarithm."""
        return trial.suggest_float(name, self.low, self.high, log=True)


@dataclass(frozen=True)
class Choice:
    """One of several values of any type.

    >>> Choice(("relu", None, (64, 64))).holds((64, 64))
    True
    """

    options: Sequence[Any]

    def __post_init__(self) -> None:
        if isinstance(self.options, str) or not len(self.options):
            raise ValueError(f"{self} must have a sequence of one option at least.")
        object.__setattr__(self, "options", tuple(self.options))

    def suggest(self, trial: Drawer, name: str) -> Any:
        """Draw an option, by its place: so it may be of any type."""
        places = tuple(range(len(self.options)))
        return self.options[trial.suggest_categorical(name, places)]

    def holds(self, value: Any) -> bool:
        """Whether it is an option."""
        return self._place(value) is not None

    def drawn(self, name: str, value: Any) -> dict[str, Any]:
        """The place of the option."""
        return {name: self._place(value)}

    def _place(self, value: Any) -> int | None:
        for place, option in enumerate(self.options):
            if type(option) is type(value) and option == value:  # True is not 1
                return place
        return None


@dataclass(frozen=True)
class Maybe:
    """The default, or a value of the domain; before anything is known, half and half.

    The domain may hold the default too, as in "no blocks, or 0 to 2".
    """

    domain: Domain
    default: Any

    def suggest(self, trial: Drawer, name: str) -> Any:
        """Draw whether, and if so what."""
        if trial.suggest_categorical(_whether(name), (False, True)):
            return self.domain.suggest(trial, name)
        return self.default

    def holds(self, value: Any) -> bool:
        """Whether it is the default or of the domain."""
        return bool(value == self.default) or self.domain.holds(value)

    def drawn(self, name: str, value: Any) -> dict[str, Any]:
        """Whether, and if so what."""
        if value == self.default:
            return {_whether(name): False}
        return {_whether(name): True, **self.domain.drawn(name, value)}


def draw(space: Space, trial: Drawer) -> dict[str, Any]:
    """Draw a value for each name."""
    return {name: domain.suggest(trial, name) for name, domain in space.items()}


def _whether(name: str) -> str:
    return f"{name}?"


def _is_number(value: Any) -> bool:
    return hasattr(value, "__float__") and not isinstance(value, bool)


def _is_whole(value: Any) -> bool:
    return hasattr(value, "__index__") and not isinstance(value, bool)


def _check_ends(domain: Domain, low: float, high: float, *, log: bool) -> None:
    """Say so if nothing lies between the ends."""
    if not (math.isfinite(low) and math.isfinite(high) and low <= high):
        raise ValueError(f"{domain} must have a finite low that is not above its high.")
    if log and low <= 0:
        raise ValueError(f"{domain} must begin above 0, since sizes are drawn.")
