"""An estimator of another library as a method: raw tables in, decoded targets out."""

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import pandas as pd

from modernnca._tree_file import read_tree, with_arrays, write_tree
from modernnca.lab.peers.card import Report
from modernnca.lab.peers.table_encoders import FrameEncoder, MatrixEncoder
from modernnca.table.preprocessor import Preprocessor
from modernnca.table.split import hold_out
from modernnca.table.targets import ClassificationTarget, RegressionTarget


class EncodedData(NamedTuple):
    """Rows and targets as the estimator takes them."""

    x: Any
    y: np.ndarray  # (N,) class codes, or standardized numbers


class UntrustedFileError(ValueError):
    """A file holds what is only read from files that the caller trusts."""


class EstimatorModel(ABC):
    """An estimator in scikit-learn's style, wrapped for raw tables.

    A subclass says how to make the estimator and how to save and load its state; with
    early stopping or a time limit, also how to fit it.

    Args:
        name: the name of the method, saved in files.
        task: one of `TASKS`.
        seed: for the estimator, and for the split of the validation rows.
        settings: the arguments of the estimator, and `wrapper_settings`.
    """

    encoder_type: ClassVar[type[MatrixEncoder] | type[FrameEncoder]] = MatrixEncoder
    native_format: ClassVar[bool] = False  # saved in a format of the library's own
    # Settings that are not passed to the estimator; `time_limit` is in seconds.
    wrapper_settings: ClassVar[tuple[str, ...]] = ("time_limit",)

    def __init__(self, name: str, task: str, seed: int, **settings: Any) -> None:
        self.name, self.task, self.seed, self.settings = name, task, seed, settings
        self.encoder = self.encoder_type()
        self.model = self.make_estimator(**self.estimator_settings())

    # What a subclass defines.

    @abstractmethod
    def make_estimator(self, **settings: Any) -> Any:
        """The unfitted estimator."""

    @abstractmethod
    def estimator_state(self) -> dict[str, Any]:
        """The fitted state of the estimator, as arrays."""

    @abstractmethod
    def load_estimator_state(self, state: dict[str, Any]) -> None:
        """Restore the estimator from `estimator_state`."""

    def fit_estimator(
        self, train: EncodedData, valid: EncodedData | None, deadline: float
    ) -> None:
        """Fit the estimator; if it can, stop at `deadline` of `time.monotonic`."""
        self.model.fit(train.x, train.y)

    def convert(self, x: Any) -> Any:
        """Convert encoded rows to the estimator's input."""
        return x

    def predict_encoded(self, x: Any) -> np.ndarray:
        """Probabilities (B, V), or standardized numbers (B,)."""
        if self.is_regression:
            return np.asarray(self.model.predict(x))
        return np.asarray(self.model.predict_proba(x))

    # What all have in common.

    @property
    def is_regression(self) -> bool:
        """Whether the target is a number."""
        return self.task == "regression"

    def fit(self, X: Any, y: Any, *, eval_set: Any = None) -> Self:
        """Learn from a raw table."""
        deadline = time.monotonic() + (self.settings.get("time_limit") or math.inf)
        self.target_ = self._target_type().fit(y)
        self.encoder.fit(X)
        self.fit_encoded(self._encode_data(X, y), eval_set, deadline)
        return self

    def fit_encoded(self, data: EncodedData, eval_set: Any, deadline: float) -> None:
        """Fit the estimator; without early stopping, `eval_set` is ignored."""
        self.fit_estimator(data, None, deadline)

    def estimator_settings(self) -> dict[str, Any]:
        """The settings that are passed to the estimator."""
        return {
            name: value
            for name, value in self.settings.items()
            if name not in self.wrapper_settings
        }

    @property
    def classes_(self) -> np.ndarray:
        """The classes, in the order of the columns of `predict_proba`."""
        return self.target_.classes_  # type: ignore[union-attr]

    def predict_proba(self, X: Any) -> np.ndarray:
        """The probability of each class, (B, V)."""
        return self.predict_encoded(self._encode(X))

    def predict(self, X: Any) -> np.ndarray:
        """The most probable class, or the predicted number, of each row."""
        predicted = self.predict_encoded(self._encode(X))
        codes = predicted if self.is_regression else predicted.argmax(1)
        return self.target_.decode(codes)

    def save(self, path: Any) -> None:
        """Write the fitted model to one file, which holds no executable code."""
        tree = {
            "peer": self.name,
            "task": self.task,
            "seed": self.seed,
            "settings": self.settings,
            "table": self.encoder.preprocessor_.state(),
            "target": self.target_.state(),
            "model": self.estimator_state(),
        }
        write_tree(path, tree)

    def load(self, path: Any, *, trusted: bool = False) -> Self:
        """Load a file that `save` wrote for the same method; see `restore`."""
        return self.restore(read_tree(path), trusted=trusted)

    def restore(self, tree: dict[str, Any], *, trusted: bool = False) -> Self:
        """Load the content of a saved file.

        A model in a library's own format only if it is `trusted`: these libraries do
        not check what they read, and may crash the process.
        """
        if self.native_format and not trusted:
            raise UntrustedFileError(
                f"the model is in the own format of {self.name}, which may crash the "
                "process if somebody changed it. If you trust where the file comes "
                "from, load it with trusted=True."
            )
        self.encoder.preprocessor_ = Preprocessor.from_state(with_arrays(tree["table"]))
        self.target_ = self._target_type.from_state(tree["target"])
        self.load_estimator_state(with_arrays(tree["model"]))
        return self

    @property
    def _target_type(self) -> type[RegressionTarget] | type[ClassificationTarget]:
        return RegressionTarget if self.is_regression else ClassificationTarget

    def _encode(self, X: Any) -> Any:
        return self.convert(self.encoder.transform(X))

    def _encode_data(self, X: Any, y: Any) -> EncodedData:
        return EncodedData(self._encode(X), self.target_.encode(y))


class BoostingModel(EstimatorModel):
    """A boosting library, with early stopping by `eval_set` or by a fifth of the rows.

    With the setting `refit` it is then fitted to all rows, for the number of rounds
    that was best on the validation rows.
    """

    encoder_type = FrameEncoder
    native_format = True
    wrapper_settings = ("time_limit", "refit")
    rounds_setting: ClassVar[str]  # the setting for the number of rounds

    @abstractmethod
    def best_n_rounds(self) -> int:
        """The number of rounds that was best on the validation rows."""

    def fit_encoded(self, data: EncodedData, eval_set: Any, deadline: float) -> None:
        """Fit with early stopping, then refit if asked to."""
        if eval_set is None:
            train, valid = self._hold_out(data)
        else:
            train, valid = data, self._encode_data(eval_set[0], eval_set[1])
        self.fit_estimator(train, valid, deadline)
        if self.settings.get("refit"):
            n_rounds = max(self.best_n_rounds(), 1)
            settings = {**self.estimator_settings(), self.rounds_setting: n_rounds}
            settings.pop("early_stopping_rounds", None)
            self.model = self.make_estimator(**settings)
            self.fit_estimator(_concatenate(train, valid), None, deadline)

    def _hold_out(self, data: EncodedData) -> tuple[EncodedData, EncodedData]:
        """Split off validation rows; a table too small to split validates itself."""
        rng = np.random.RandomState(self.seed)
        classes = None if self.is_regression else data.y
        train, valid = hold_out(len(data.y), fraction=0.2, rng=rng, classes=classes)
        if self.is_regression:  # the scale of the training rows alone
            y = self.target_.decode(data.y)
            self.target_.fit(y[train])
            data = data._replace(y=self.target_.encode(y))
        return _take(data, train), _take(data, valid if len(valid) else train)


def _take(data: EncodedData, rows: np.ndarray) -> EncodedData:
    return EncodedData(data.x.iloc[rows], data.y[rows])


def _concatenate(train: EncodedData, valid: EncodedData) -> EncodedData:
    x = pd.concat([train.x, valid.x])
    return EncodedData(x, np.concatenate([train.y, valid.y]))


def bytes_to_array(content: bytes) -> np.ndarray:
    """Bytes in a library's own format as an array, for a file; `bytes` is the inverse.

    >>> bytes(bytes_to_array(b"abc"))
    b'abc'
    """
    return np.frombuffer(content, dtype=np.uint8).copy()


def estimator_maker(
    name: str, model_type: type[EstimatorModel]
) -> Callable[..., EstimatorModel]:
    """The `make` of the card of a wrapped estimator."""

    def make(
        task: str, seed: int, *, report: Report | None = None, **settings: Any
    ) -> EstimatorModel:
        return model_type(name, task, seed, **settings)

    return make
