"""Choose a part by its name, or raise an error that lists the names."""

from collections.abc import Mapping
from difflib import get_close_matches
from typing import TypeVar

Part = TypeVar("Part")
_MANY = 12  # so many choices are not listed if one of them is close


def named(kind: str, name: str, parts: Mapping[str, Part], *, where: str = "") -> Part:
    """Return the part called `name`, or raise a `ValueError` that lists the choices.

    >>> named("distance", "l2", {"euclidean": 1, "cosine": 2})
    Traceback (most recent call last):
    ...
    ValueError: Unknown distance 'l2'; choose one of: cosine, euclidean.
    """
    if isinstance(name, str) and name in parts:
        return parts[name]
    close = get_close_matches(str(name), parts, n=1)
    if close and len(parts) > _MANY:
        raise ValueError(f"Unknown {kind} {name!r}{where}; did you mean {close[0]!r}?")
    choices = ", ".join(sorted(parts))
    raise ValueError(f"Unknown {kind} {name!r}{where}; choose one of: {choices}.")
