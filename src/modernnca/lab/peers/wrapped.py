"""A foreign estimator behind the contract here: raw tables in, own units out."""

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import pandas as pd

from modernnca._tree_file import read_tree, with_arrays, write_tree
from modernnca.lab.peers.card import Report
from modernnca.lab.peers.columns import Frame, Matrix
from modernnca.table.preprocessor import Preprocessor
from modernnca.table.split import hold_out
from modernnca.table.targets import ClassificationTarget, RegressionTarget


class Seen(NamedTuple):
    """Rows as the estimator sees them."""

    x: Any
    y: np.ndarray  # (N,) codes of classes, or standardized numbers


class Wrapped(ABC):
    """An estimator of scikit-learn's manners, for raw tables.

    A peer says how the estimator is made, put away and brought back; one that stops
    early, or by the clock, also how it learns.

    Args:
        name: of the peer, for files.
        task: one of `TASKS`.
        seed: of the estimator, and of the rows that are held out to stop by.
        settings: what the estimator takes, and `ours`.
    """

    columns_type: ClassVar[type[Matrix] | type[Frame]] = Matrix
    stops: ClassVar[bool] = False  # by the `eval_set`, or else by a fifth of the rows
    ours: ClassVar[tuple[str, ...]] = ("time_limit",)  # not the estimator's; seconds

    def __init__(self, name: str, task: str, seed: int, **settings: Any) -> None:
        self.name, self.task, self.seed, self.settings = name, task, seed, settings
        self.columns = self.columns_type()
        self.model = self.estimator(**self.own())

    # What a peer says.

    @abstractmethod
    def estimator(self, **settings: Any) -> Any:
        """The estimator, unfitted."""

    @abstractmethod
    def put_away(self) -> dict[str, Any]:
        """What the estimator learned, as arrays."""

    @abstractmethod
    def bring_back(self, state: dict[str, Any]) -> None:
        """Make the estimator what it was when it was put away."""

    def learn(self, fit: Seen, stop: Seen | None, ends: float) -> None:
        """Fit the estimator, until `ends` of `time.monotonic` if it can."""
        self.model.fit(fit.x, fit.y)

    def prepare(self, x: Any) -> Any:
        """The last touch on what the estimator sees."""
        return x

    def answer(self, x: Any) -> np.ndarray:
        """Probabilities (B, V), or standardized numbers (B,)."""
        answer = self.model.predict if self.regression else self.model.predict_proba
        return np.asarray(answer(x))

    # What all of them do.

    @property
    def regression(self) -> bool:
        """Whether numbers are predicted, not classes."""
        return self.task == "regression"

    def fit(self, X: Any, y: Any, *, eval_set: Any = None) -> Self:
        """Learn from a raw table."""
        ends = time.monotonic() + (self.settings.get("time_limit") or math.inf)
        self.target_ = self._target_type().fit(y)
        self.columns.fit(X)
        fit, stop = Seen(self._see(X), self.target_.encode(y)), None
        if self.stops and eval_set is not None:
            stop = Seen(self._see(eval_set[0]), self.target_.encode(eval_set[1]))
        elif self.stops:
            fit, stop = self._hold_out(fit)
        self.settle(fit, stop, ends)
        return self

    def settle(self, fit: Seen, stop: Seen | None, ends: float) -> None:
        """Learn, once or more often."""
        self.learn(fit, stop, ends)

    def own(self) -> dict[str, Any]:
        """The settings that the estimator takes."""
        return {k: v for k, v in self.settings.items() if k not in self.ours}

    @property
    def classes_(self) -> np.ndarray:
        """The classes, in the order of the columns of `predict_proba`."""
        return self.target_.classes_  # type: ignore[union-attr]

    def predict_proba(self, X: Any) -> np.ndarray:
        """The probability of each class, (B, V)."""
        return self.answer(self._see(X))

    def predict(self, X: Any) -> np.ndarray:
        """The most probable class, or the number, of each row."""
        answers = self.answer(self._see(X))
        return self.target_.decode(answers if self.regression else answers.argmax(1))

    def save(self, path: Any) -> None:
        """Write all that was learned to one file, in which nothing can be executed."""
        tree = {
            "peer": self.name,
            "task": self.task,
            "seed": self.seed,
            "settings": self.settings,
            "table": self.columns.encoder_.state(),
            "target": self.target_.state(),
            "model": self.put_away(),
        }
        write_tree(path, tree)

    def load(self, path: Any) -> Self:
        """Read what `save` wrote into a model of the same peer."""
        return self.restore(read_tree(path))

    def restore(self, tree: dict[str, Any]) -> Self:
        """Become the model that was saved."""
        self.columns.encoder_ = Preprocessor.from_state(with_arrays(tree["table"]))
        self.target_ = self._target_type.from_state(tree["target"])
        self.bring_back(with_arrays(tree["model"]))
        return self

    @property
    def _target_type(self) -> type[RegressionTarget] | type[ClassificationTarget]:
        return RegressionTarget if self.regression else ClassificationTarget

    def _see(self, X: Any) -> Any:
        return self.prepare(self.columns.transform(X))

    def _hold_out(self, all_rows: Seen) -> tuple[Seen, Seen]:
        x, y = all_rows
        rng = np.random.RandomState(self.seed)
        classes = None if self.regression else y
        fit, stop = hold_out(len(y), fraction=0.2, rng=rng, classes=classes)
        stop = stop if len(stop) else fit  # a tiny table is judged by itself
        return Seen(_take(x, fit), y[fit]), Seen(_take(x, stop), y[stop])


class Boosted(Wrapped):
    """One that learns in rounds and stops by held-out rows.

    With the setting `refit` it then learns from all rows, for as many rounds as the
    held-out ones found best.
    """

    columns_type = Frame
    stops = True
    ours = ("time_limit", "refit")
    rounds: ClassVar[str]  # the setting that counts them

    @abstractmethod
    def n_rounds(self) -> int:
        """How many rounds the held-out rows found best."""

    def settle(self, fit: Seen, stop: Seen | None, ends: float) -> None:
        """Learn, and once more if asked to."""
        self.learn(fit, stop, ends)
        if stop is not None and self.settings.get("refit"):
            own = {**self.own(), self.rounds: max(self.n_rounds(), 1)}
            own.pop("early_stopping_rounds", None)
            self.model = self.estimator(**own)
            self.learn(_join(fit, stop), None, ends)


def _take(x: Any, rows: np.ndarray) -> Any:
    return x.iloc[rows] if hasattr(x, "iloc") else x[rows]


def _join(fit: Seen, stop: Seen) -> Seen:
    """Rows of both parts."""
    frames = hasattr(fit.x, "iloc")
    x = pd.concat([fit.x, stop.x]) if frames else np.concatenate([fit.x, stop.x])
    return Seen(x, np.concatenate([fit.y, stop.y]))


def as_array(content: bytes) -> np.ndarray:
    """Bytes in a library's own format as an array, for a file; see `bytes` for back.

    >>> bytes(as_array(b"abc"))
    b'abc'
    """
    return np.frombuffer(content, dtype=np.uint8).copy()


def wrapped_maker(name: str, kind: type[Wrapped]) -> Callable[..., Wrapped]:
    """A `make` for the card of a foreign estimator."""

    def make(
        task: str, seed: int, *, report: Report | None = None, **settings: Any
    ) -> Wrapped:
        return kind(name, task, seed, **settings)

    return make
