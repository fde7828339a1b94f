"""The card of a method: its source, how to build it, and its search space."""

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
    """What every card builds: an estimator in scikit-learn's style, for raw tables.

    Classifiers also have `predict_proba` (B, V), with columns in the order of
    `classes_`. `eval_set` is used for early stopping; other methods ignore it.
    """

    def fit(self, X: Any, y: Any, *, eval_set: Any = None) -> Any:
        """Learn from a raw table."""

    def predict(self, X: Any) -> Any:
        """Predict the target of each row."""


@dataclass(frozen=True, kw_only=True)
class Peer:
    """A method that ModernNCA is compared with.

    Attributes:
        make: `make(task, seed, report=None, **settings)` returns an unfitted `Model`.
            An iterative method calls `report(step, score)` if it is given.
        defaults: the default settings.
        space: the search space for tuning, by setting. It need not contain the
            defaults; settings that are not in it keep their defaults.
        tuning_settings: overrides during tuning. For example, refitting is switched
            off, so that no trial trains on the rows that evaluate it.
        source: which implementation runs, and why.
        more_space: domains of settings that a study may ask to search as well.
        published: the settings of the public benchmark, where the defaults are others.
        in_regression: more of them, for regression alone.
        differs: how it departs from the original, if it does.
        extra: the optional dependency group to install, if one is needed.
    """

    name: str
    title: str
    paper: str
    source: str
    make: Callable[..., Model]
    defaults: Mapping[str, Any] = field(default_factory=dict)
    space: Mapping[str, Domain] = field(default_factory=dict)
    tuning_settings: Mapping[str, Any] = field(default_factory=dict)
    more_space: Mapping[str, Domain] = field(default_factory=dict)
    published: Mapping[str, Any] = field(default_factory=dict)
    in_regression: Mapping[str, Any] = field(default_factory=dict)
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
                f"{self.title} does not support the task {task!r}; choose one of: "
                f"{', '.join(self.tasks)}."
            )
        chosen = {**self.defaults, **(settings or {})}
        return self.make(task, seed, report=report, **chosen)


def import_extra(package: str, *, extra: str) -> Any:
    """Import an optional package; if it is missing, say how to install it."""
    try:
        return import_module(package)
    except ImportError as error:
        raise MissingExtraError(
            f'{package} is not installed; pip install "modernnca[{extra}]".'
        ) from error


def n_threads() -> int:
    """The number of threads a method may use: OMP_NUM_THREADS, or all cores."""
    return int(os.environ.get("OMP_NUM_THREADS") or os.cpu_count() or 1)
