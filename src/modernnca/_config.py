"""Configuration as frozen dataclasses whose fields say all about one option each.

A field is declared by `option(default, check, help)`. Left at None it means "you
choose": as the preset says. The rooms declare the options that they read;
`estimators.config.ModernNCAConfig` is all of them together.
"""

import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Self

import numpy as np


@dataclass(frozen=True)
class Number:
    """A check: a finite number from `low` to `high`, or one of a few other values.

    >>> str(Number(0, 1, below=True))
    'a number of at least 0 and below 1'
    """

    low: float = 0.0
    high: float = math.inf
    above: bool = False  # `low` itself is not allowed
    below: bool = False  # `high` itself is not allowed
    integer: bool = False
    also: tuple[Any, ...] = ()

    def allows(self, value: Any) -> bool:
        """Whether `value` passes."""
        if any(value is other for other in self.also):
            return True
        if isinstance(value, str | bool) or np.ndim(value):
            return isinstance(value, str) and value in self.also
        if not hasattr(value, "__float__"):
            return False
        number = float(value)
        if number in self.also:
            return True
        if not math.isfinite(number) or (self.integer and number != int(number)):
            return False
        low = number > self.low if self.above else number >= self.low
        return low and (number < self.high if self.below else number <= self.high)

    def __str__(self) -> str:
        kind = "a whole number" if self.integer else "a number"
        text = f"{kind} {'above' if self.above else 'of at least'} {self.low:g}"
        if math.isfinite(self.high):
            text += f" and {'below' if self.below else 'at most'} {self.high:g}"
        return text + "".join(f" or {other!r}" for other in self.also)


@dataclass(frozen=True)
class OneOf:
    """A check: one of these names.

    >>> str(OneOf(["b", "a"]))
    'one of: a, b'
    """

    names: Collection[str]

    def allows(self, value: Any) -> bool:
        """Whether `value` passes."""
        return isinstance(value, str) and value in self.names

    def __str__(self) -> str:
        return f"one of: {', '.join(sorted(self.names))}"


@dataclass(frozen=True)
class Flag:
    """A check: True or False."""

    def allows(self, value: Any) -> bool:
        """Whether `value` passes."""
        return isinstance(value, bool)

    def __str__(self) -> str:
        return "True or False"


@dataclass(frozen=True)
class Satisfies:
    """A check by a function, described in words."""

    test: Callable[[Any], bool]
    text: str

    def allows(self, value: Any) -> bool:
        """Whether `value` passes."""
        return self.test(value)

    def __str__(self) -> str:
        return self.text


COUNT = Number(1, integer=True)
POSITIVE = Number(0, above=True)
FRACTION = Number(0, 1, below=True)
FLAG = Flag()


def option(default: Any, check: Any, text: str) -> Any:
    """Declare an option: the value of the preset "default", a check, what it means."""
    metadata = {"default": default, "check": check, "text": text}
    return field(default=None, metadata=metadata)


@dataclass(frozen=True, kw_only=True)
class Config:
    """Options; a field that is None is not decided yet.

    >>> @dataclass(frozen=True, kw_only=True)
    ... class Paint(Config):
    ...     coats: int = option(2, COUNT, "How many coats.")
    >>> Paint().given(), Paint(coats=3).given(), Paint.defaults()
    ({}, {'coats': 3}, Paint(coats=2))
    >>> Paint(coats=0).check()
    Traceback (most recent call last):
    ...
    ValueError: coats must be a whole number of at least 1; got 0.
    """

    @classmethod
    def defaults(cls) -> Self:
        """Every option decided, as in the preset "default"."""
        return cls(**{each.name: each.metadata["default"] for each in fields(cls)})

    @classmethod
    def names(cls) -> list[str]:
        """The names of all options."""
        return [each.name for each in fields(cls)]

    def given(self) -> dict[str, Any]:
        """The options that are decided."""
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        return {name: value for name, value in values.items() if value is not None}

    def updated(self, changes: Mapping[str, Any]) -> Self:
        """A copy with other values."""
        return replace(self, **changes)

    def check(self) -> None:
        """Raise a ValueError that names the first bad value and what is allowed."""
        for each in fields(self):
            value = getattr(self, each.name)
            check = each.metadata["check"]
            if value is None or check.allows(value):
                continue
            raise ValueError(f"{each.name} must be {check}; got {value!r}.")
