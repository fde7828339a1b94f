"""Search spaces as data: a domain of values for each name."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol


class Suggester(Protocol):
    """Draws values: an Optuna `Trial` or `FixedTrial`."""

    def suggest_int(
        self, name: str, low: int, high: int, *, step: int = 1, log: bool = False
    ) -> int:
        """Draw an integer."""

    def suggest_float(
        self, name: str, low: float, high: float, *, log: bool = False
    ) -> float:
        """Draw a float."""

    def suggest_categorical(self, name: str, choices: Sequence[Any]) -> Any:
        """Draw one of the choices."""


class Domain(Protocol):
    """A set of values to draw from."""

    def suggest(self, trial: Suggester, name: str) -> Any:
        """Draw a value."""

    def holds(self, value: Any) -> bool:
        """Return whether the value is in the domain."""

    def to_params(self, name: str, value: Any) -> dict[str, Any]:
        """Return the parameters of a trial in which `suggest` returns this value."""


Space = dict[str, Domain]


@dataclass(frozen=True)
class Int:
    """Integers from `low` to `high`, both included, in steps.

    With `log`, values are drawn uniformly on a log scale.
    """

    low: int
    high: int
    log: bool = False
    step: int | None = None

    def __post_init__(self) -> None:
        _check_bounds(self, self.low, self.high, log=self.log)
        if not (_is_integer(self.low) and _is_integer(self.high)):
            raise ValueError(f"{self} needs integer bounds; otherwise use Float.")
        if self.step is None:
            return
        if self.log:
            raise ValueError(f"{self} has both log and a step; choose one.")
        if self.step < 1 or (self.high - self.low) % self.step:
            raise ValueError(f"{self} needs a step that divides high - low.")

    def suggest(self, trial: Suggester, name: str) -> int:
        """Draw an integer."""
        step = 1 if self.step is None else self.step
        return trial.suggest_int(name, self.low, self.high, step=step, log=self.log)

    def holds(self, value: Any) -> bool:
        """Return whether the value is an integer in the range, on a step."""
        if not (_is_integer(value) and self.low <= value <= self.high):
            return False
        return bool((value - self.low) % (self.step or 1) == 0)

    def to_params(self, name: str, value: Any) -> dict[str, Any]:
        """Return the value under its name."""
        return {name: int(value)}


@dataclass(frozen=True)
class Float:
    """Floats from `low` to `high`, drawn uniformly."""

    low: float
    high: float

    def __post_init__(self) -> None:
        _check_bounds(self, self.low, self.high, log=False)

    def suggest(self, trial: Suggester, name: str) -> float:
        """Draw a float."""
        return trial.suggest_float(name, self.low, self.high)

    def holds(self, value: Any) -> bool:
        """Return whether the value is a number in the range."""
        return _is_number(value) and self.low <= value <= self.high

    def to_params(self, name: str, value: Any) -> dict[str, Any]:
        """Return the value under its name."""
        return {name: float(value)}


@dataclass(frozen=True)
class LogFloat(Float):
    """Floats from `low` to `high`, drawn uniformly on a log scale.

    >>> LogFloat(0, 1)
    Traceback (most recent call last):
    ...
    ValueError: LogFloat(low=0, high=1) needs low above 0 for a log scale.
    """

    def __post_init__(self) -> None:
        _check_bounds(self, self.low, self.high, log=True)

    def suggest(self, trial: Suggester, name: str) -> float:
        """Draw a float on a log scale."""
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
            raise ValueError(f"{self} needs a sequence of at least one option.")
        object.__setattr__(self, "options", tuple(self.options))

    def suggest(self, trial: Suggester, name: str) -> Any:
        """Draw an option by its index, so that options may be of any type."""
        indices = tuple(range(len(self.options)))
        return self.options[trial.suggest_categorical(name, indices)]

    def holds(self, value: Any) -> bool:
        """Return whether the value is an option."""
        return self._index(value) is not None

    def to_params(self, name: str, value: Any) -> dict[str, Any]:
        """Return the index of the option."""
        return {name: self._index(value)}

    def _index(self, value: Any) -> int | None:
        for index, option in enumerate(self.options):
            if type(option) is type(value) and option == value:  # True is not 1
                return index
        return None


@dataclass(frozen=True)
class Maybe:
    """The default or a value of the domain, at first with probability one half each.

    The domain may contain the default too, as in "no blocks, or 0 to 2".
    """

    domain: Domain
    default: Any

    def suggest(self, trial: Suggester, name: str) -> Any:
        """Draw whether to leave the default, and if so a value of the domain."""
        if trial.suggest_categorical(_switch(name), (False, True)):
            return self.domain.suggest(trial, name)
        return self.default

    def holds(self, value: Any) -> bool:
        """Return whether the value is the default or in the domain."""
        return bool(value == self.default) or self.domain.holds(value)

    def to_params(self, name: str, value: Any) -> dict[str, Any]:
        """Return the switch and, unless it is the default, the value."""
        if value == self.default:
            return {_switch(name): False}
        return {_switch(name): True, **self.domain.to_params(name, value)}


def draw(space: Space, trial: Suggester) -> dict[str, Any]:
    """Draw a value for each name."""
    return {name: domain.suggest(trial, name) for name, domain in space.items()}


def _switch(name: str) -> str:
    return f"{name}?"


def _is_number(value: Any) -> bool:
    return hasattr(value, "__float__") and not isinstance(value, bool)


def _is_integer(value: Any) -> bool:
    return hasattr(value, "__index__") and not isinstance(value, bool)


def _check_bounds(domain: Domain, low: float, high: float, *, log: bool) -> None:
    """Raise if the range is empty or unbounded."""
    if not (math.isfinite(low) and math.isfinite(high) and low <= high):
        raise ValueError(f"{domain} needs finite bounds with low not above high.")
    if log and low <= 0:
        raise ValueError(f"{domain} needs low above 0 for a log scale.")
