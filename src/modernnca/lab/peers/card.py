"""The card of a peer: what it is, how it is built, and where its settings may lie."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Protocol

from modernnca.errors import MissingExtraError
from modernnca.tune.space import Domain

TASKS = ("binclass", "multiclass", "regression")
Report = Callable[[int, float], None]


class Model(Protocol):
    """What every peer builds: scikit-learn's verbs, on raw tables.

    Classifiers also have `predict_proba` (B, V), its columns in the order of
    `classes_`. `eval_set` are rows to stop by; a method that needs none ignores them.
    """

    def fit(self, X: Any, y: Any, *, eval_set: Any = None) -> Any:
        """Learn from a raw table."""

    def predict(self, X: Any) -> Any:
        """Predict the target of each row."""


@dataclass(frozen=True, kw_only=True)
class Peer:
    """A method that can be put beside others.

    Attributes:
        make: `make(task, seed, report=None, **settings)` gives an unfitted `Model`.
            A method that learns step by step calls `report(step, score)` if given.
        defaults: the settings that a user gets who asks for nothing.
        space: where tuning looks, by the name of the setting. It may lie beside
            `defaults`; what it does not name stays as in `defaults`.
        searching: what is fixed while settings are searched for: rows that judge a
            trial must not answer it.
        source: what runs, and why that was chosen.
        differs: how it departs from the original, if it does.
        extra: the extra to install, if one is needed.
    """

    name: str
    title: str
    paper: str
    source: str
    make: Callable[..., Model]
    defaults: Mapping[str, Any] = field(default_factory=dict)
    space: Mapping[str, Domain] = field(default_factory=dict)
    searching: Mapping[str, Any] = field(default_factory=dict)
    tasks: tuple[str, ...] = TASKS
    differs: str = ""
    extra: str = ""

    def build(
        self,
        task: str,
        *,
        seed: int,
        settings: Mapping[str, Any] | None = None,
        report: Report | None = None,
    ) -> Model:
        """An unfitted model with the defaults, overridden by `settings`."""
        if task not in self.tasks:
            raise ValueError(
                f"{self.title} does not know the task {task!r}; it knows "
                f"{', '.join(self.tasks)}."
            )
        chosen = {**self.defaults, **(settings or {})}
        return self.make(task, seed, report=report, **chosen)


def imported(package: str, *, extra: str) -> Any:
    """Import a package that not everybody has, or say how to get it."""
    try:
        return import_module(package)
    except ImportError as error:
        raise MissingExtraError(
            f'{package} is not installed; pip install "modernnca[{extra}]".'
        ) from error


def n_threads() -> int:
    """How many threads a method may use: as OMP_NUM_THREADS says, else all cores."""
    return int(os.environ.get("OMP_NUM_THREADS") or os.cpu_count() or 1)
