"""Choose a part by its name, or say which names exist."""

from collections.abc import Mapping
from typing import TypeVar

Part = TypeVar("Part")


def named(kind: str, name: str, parts: Mapping[str, Part]) -> Part:
    """Return the part called `name`, or raise a `ValueError` that lists the choices.

    >>> named("distance", "euclid", {"euclidean": 1, "cosine": 2})
    Traceback (most recent call last):
    ...
    ValueError: Unknown distance 'euclid'; choose one of: cosine, euclidean.
    """
    if isinstance(name, str) and name in parts:
        return parts[name]
    choices = ", ".join(sorted(parts))
    raise ValueError(f"Unknown {kind} {name!r}; choose one of: {choices}.")
