"""Checks of what a file declares, before anything is built from it.

Each returns the value that it was given, or raises a ValueError that names it.
"""

import math
from collections.abc import Collection
from typing import Any

import numpy as np


def whole(value: Any, name: str, low: int = 0, high: float = math.inf) -> int:
    """A whole number from `low` to `high`.

    >>> whole(7, "n_rows", high=5)
    Traceback (most recent call last):
    ...
    ValueError: n_rows is 7, not a whole number from 0 to 5.
    """
    if (
        not isinstance(value, int)
        or isinstance(value, bool)
        or not low <= value <= high
    ):
        raise ValueError(
            f"{name} is {_short(value)}, not a whole number from {low} to {high}."
        )
    return value


def real(
    value: Any, name: str, low: float = -math.inf, high: float = math.inf
) -> float:
    """A number from `low` to `high`; infinite only if a bound is.

    >>> real(float("nan"), "mean")
    Traceback (most recent call last):
    ...
    ValueError: mean is nan, not a number from -inf to inf.
    """
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not low <= value <= high:  # NaN is nowhere between
        raise ValueError(
            f"{name} is {_short(value)}, not a number from {low} to {high}."
        )
    return float(value)


def finite(value: Any, name: str) -> float:
    """A number that is neither infinite nor NaN."""
    most = np.finfo(np.float64).max
    return real(value, name, -most, most)


def number(value: Any, name: str) -> float:
    """A number that is only told: it may be infinite, or NaN.

    >>> number("x", "score")
    Traceback (most recent call last):
    ...
    ValueError: score is 'x', not a number.
    """
    if not isinstance(value, float) and not (type(value) is int and abs(value) < 2**63):
        raise ValueError(f"{name} is {_short(value)}, not a number.")
    return float(value)


def flag(value: Any, name: str) -> bool:
    """True or False."""
    if not isinstance(value, bool):
        raise ValueError(f"{name} is {_short(value)}, not true or false.")
    return value


def text(value: Any, name: str, allowed: Collection[str] | None = None) -> str:
    """A text, or one of a few."""
    if not isinstance(value, str) or (allowed is not None and value not in allowed):
        raise ValueError(f"{name} is {_short(value)}, which is unknown.")
    return value


def texts(value: Any, name: str) -> list[str]:
    """A list of distinct texts."""
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise ValueError(f"{name} is not a list of names.")
    if len(set(value)) < len(value):
        raise ValueError(f"{name} holds a name twice.")
    return value


def array(
    value: Any,
    name: str,
    shape: tuple[int | None, ...],
    dtypes: Collection[str],
    *,
    infinite: bool = False,
) -> Any:
    """An array or a tensor of this shape and one of these dtypes, all of it finite.

    None stands for any length. Where numbers may be `infinite`, they are still not NaN.

    >>> array(np.zeros(3), "mean", (2,), ["float64"])
    Traceback (most recent call last):
    ...
    ValueError: mean has the shape (3,), not (2,).
    """
    if not hasattr(value, "shape") or not hasattr(value, "dtype"):
        raise ValueError(f"{name} is {_short(value)}, not an array.")
    found = tuple(value.shape)
    lengths = zip(found, shape, strict=False)
    if len(found) != len(shape) or any(b not in (None, a) for a, b in lengths):
        raise ValueError(f"{name} has the shape {found}, not {shape}.")
    dtype = str(value.dtype).removeprefix("torch.")
    if dtype not in dtypes:
        raise ValueError(f"{name} holds {dtype}, not {' or '.join(dtypes)}.")
    if dtype.startswith("float"):
        plain = value if isinstance(value, np.ndarray) else value.detach().cpu().numpy()
        if np.isnan(plain).any() or not (infinite or np.isfinite(plain).all()):
            raise ValueError(f"{name} holds numbers that are not finite.")
    return value


def _short(value: Any) -> str:
    return repr(value)[:40]
