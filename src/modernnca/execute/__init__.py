"""Executors by name: `EXECUTORS["pool"](n_workers=4).map(function, jobs)`."""

from collections.abc import Callable

from modernnca.execute.executor import Executor, Limits, Outcome, Resources
from modernnca.execute.local import Here, Pool
from modernnca.execute.ray import Ray

EXECUTORS: dict[str, Callable[..., Executor]] = {"here": Here, "pool": Pool, "ray": Ray}

__all__ = [
    "EXECUTORS",
    "Executor",
    "Here",
    "Limits",
    "Outcome",
    "Pool",
    "Ray",
    "Resources",
]
