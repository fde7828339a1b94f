"""A foreign estimator behind the contract here: raw tables in, own units out."""

from collections.abc import Callable
from typing import Any, Self

import numpy as np

from modernnca.peers.columns import Frame, Matrix
from modernnca.table.split import hold_out
from modernnca.table.targets import ClassTarget, NumberTarget

Stop = Callable[[Any, np.ndarray, Matrix | Frame], dict[str, Any]]


class Wrapped:
    """An estimator of scikit-learn's manners, for raw tables.

    Args:
        model: the estimator; it sees class codes, or standardized numbers.
        task: one of `TASKS`.
        columns: how it sees the table.
        stop: what `model.fit` is told to stop by, from (x, y, columns) of the held-out
            rows. Without an `eval_set`, a fifth of the rows is held out.
        seed: draws those rows.
        prepare: the last touch on what the model sees.
    """

    def __init__(
        self,
        model: Any,
        *,
        task: str,
        columns: Matrix | Frame,
        stop: Stop | None = None,
        seed: int = 0,
        prepare: Callable[[Any], Any] | None = None,
    ) -> None:
        self.model = model
        self.task = task
        self.columns = columns
        self.stop = stop
        self.seed = seed
        self.prepare = prepare

    def fit(self, X: Any, y: Any, *, eval_set: Any = None) -> Self:
        """Learn from a raw table."""
        regression = self.task == "regression"
        self.target_ = (NumberTarget() if regression else ClassTarget()).fit(y)
        codes = np.asarray(self.target_.encode(y)).reshape(len(y), -1).squeeze(1)
        self.columns.fit(X)
        x = self._see(X)
        options: dict[str, Any] = {}
        if self.stop is not None:
            if eval_set is not None:
                x_stop = self._see(eval_set[0])
                y_stop = np.asarray(self.target_.encode(eval_set[1])).reshape(-1)
            else:
                rng = np.random.RandomState(self.seed)
                classes = None if regression else codes
                fit, stop = hold_out(len(codes), fraction=0.2, rng=rng, classes=classes)
                x_stop, y_stop = _take(x, stop), codes[stop]
                x, codes = _take(x, fit), codes[fit]
            options = self.stop(x_stop, y_stop, self.columns)
        self.model.fit(x, codes, **options)
        return self

    @property
    def classes_(self) -> np.ndarray:
        """The classes, in the order of the columns of `predict_proba`."""
        return self.target_.classes_  # type: ignore[union-attr]

    def predict_proba(self, X: Any) -> np.ndarray:
        """The probability of each class, (B, V)."""
        x = self._see(X)
        if hasattr(self.model, "predict_proba"):
            return np.asarray(self.model.predict_proba(x))
        return _softmax(self.model.decision_function(x))

    def predict(self, X: Any) -> np.ndarray:
        """The most probable class, or the number, of each row."""
        if self.task != "regression":
            return self.classes_[self.predict_proba(X).argmax(axis=1)]
        return self.target_.decode(np.asarray(self.model.predict(self._see(X))))

    def _see(self, X: Any) -> Any:
        x = self.columns.transform(X)
        return x if self.prepare is None else self.prepare(x)


def _take(x: Any, rows: np.ndarray) -> Any:
    return x.iloc[rows] if hasattr(x, "iloc") else x[rows]


def _softmax(margins: np.ndarray) -> np.ndarray:
    """Margins of a classifier without probabilities to numbers that rank alike."""
    if margins.ndim == 1:
        margins = np.stack([-margins / 2, margins / 2], axis=1)
    weights = np.exp(margins - margins.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True)
