"""Targets to what rows vote for, and back: classes to codes, numbers standardized."""

import datetime as dt
from decimal import Decimal
from typing import Any, Literal, Self

import numpy as np
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from modernnca._declared import finite, text
from modernnca.table.numeric import mean_and_std
from modernnca.table.read import fill_masked, is_missing
from modernnca.table.text_reading import Reading, find_reading

Task = Literal["classification", "regression"]

_MIN_ROWS = 10  # with fewer, each row may have a class of its own


def read_target(y: Any) -> np.ndarray:
    """Return y (N,) as an array; raise if it has gaps or infinities.

    >>> read_target([1.0, float("nan")])
    Traceback (most recent call last):
    ...
    ValueError: Input y contains NaN: row 1 has no label; drop such rows before fit.
    """
    if y is None:
        raise ValueError(
            "This estimator requires y to be passed, but the target y is None."
        )
    if isinstance(y, np.ma.MaskedArray):
        y = fill_masked(y) if np.ma.is_masked(y) else y.data
    listed = isinstance(y, list | tuple)
    # Left to itself, numpy would make the text "nan" of the gap in ["a", nan].
    values = column_or_1d(np.asarray(y, dtype=object) if listed else y, warn=True)
    missing = _missing_in(values)
    if missing.any():
        raise ValueError(
            f"Input y contains NaN: row {missing.argmax()} has no label; "
            "drop such rows before fit."
        )
    if values.dtype.kind == "O":
        values = _settle(values)
    if values.dtype.kind == "O" and listed:
        values = values.astype(str)
    if values.dtype.kind == "f" and np.isinf(values).any():
        row = np.isinf(values).argmax()
        raise ValueError(
            "Input y contains infinity or a value too large for dtype('float64'): "
            f"row {row} is {values[row]}; drop or clip such rows before fit."
        )
    return values


def _missing_in(values: np.ndarray) -> np.ndarray:
    if values.dtype.kind in "mM":
        return np.isnat(values)
    if values.dtype.kind == "O":
        return np.array([is_missing(value) for value in values.tolist()], dtype=bool)
    return np.isnan(values) if values.dtype.kind == "f" else np.zeros(len(values), bool)


def _settle(values: np.ndarray) -> np.ndarray:
    """Give numbers or booleans stored as objects their own dtype."""
    texts = [value for value in values if isinstance(value, str)]
    if not texts:
        decimal = all(isinstance(value, Decimal) for value in values)
        return np.array(values.tolist(), dtype=np.float64 if decimal else None)
    if len(texts) < len(values):
        other = next(value for value in values if not isinstance(value, str))
        raise ValueError(
            f"y mixes text with other values, such as {texts[0]!r} and {other!r}; "
            "make all of them text."
        )
    return values


# Dates that are objects, as pyarrow and plain lists have them, from ISO text.
_DATES = {
    "date": dt.date.fromisoformat,
    "datetime": dt.datetime.fromisoformat,
    "time": dt.time.fromisoformat,
}


def _are_dates(labels: np.ndarray) -> bool:
    """Whether labels are objects, all of one type of date or time."""
    types = set(map(type, labels)) if labels.dtype.kind == "O" else set()
    return len(types) == 1 and types.pop().__name__ in _DATES


class ClassificationTarget:
    """Labels of any type to the codes 0 to V - 1, and back.

    >>> target = ClassificationTarget().fit(["no", "yes", "no"])
    >>> target.encode(["yes", "no"]), target.decode([1, 0]), target.n_values
    (array([1, 0]), array(['yes', 'no'], dtype='<U3'), 2)
    """

    def fit(self, y: Any) -> Self:
        """Learn the classes of y (N,)."""
        labels = read_target(y)
        self.classes_ = np.unique(labels)
        whole = labels.dtype.kind != "f"
        if whole and len(self.classes_) == len(labels) >= _MIN_ROWS:
            raise ValueError(
                f"y has as many classes as rows, {len(labels):,} (such as "
                f"{labels.tolist()[0]!r}), so no class can be learned; for numbers use "
                "a regressor, or name another target."
            )
        if not _are_dates(labels):  # which scikit-learn does not know as objects
            check_classification_targets(labels)
        if len(self.classes_) == 1:
            raise ValueError(
                f"y has one class only ({self.classes_.tolist()[0]!r}); "
                "a classifier needs at least two."
            )
        return self

    @property
    def n_values(self) -> int:
        """The number of classes."""
        return len(self.classes_)

    def encode(self, y: Any) -> np.ndarray:
        """Return the codes of the labels y, int64 (N,)."""
        code = {label: place for place, label in enumerate(self.classes_.tolist())}
        found_labels = read_target(y)
        if found_labels.dtype.kind == self.classes_.dtype.kind == "M":
            found_labels = found_labels.astype(self.classes_.dtype)  # of one unit
        labels = found_labels.tolist()
        try:
            found = map(code.__getitem__, labels)
            return np.fromiter(found, dtype=np.int64, count=len(labels))
        except KeyError as error:
            raise ValueError(
                f"The label {error.args[0]!r} is not a class of the training rows: "
                f"{', '.join(map(repr, code))}."
            ) from None

    def decode(self, codes: Any) -> np.ndarray:
        """Return the labels of the codes (N,)."""
        return self.classes_[np.asarray(codes, dtype=np.int64)]

    def state(self) -> dict[str, Any]:
        """Return what was learned, as plain lists."""
        classes, dtype = self.classes_, str(self.classes_.dtype)
        if classes.dtype.kind in "mM":
            return {"classes": classes.astype(np.int64).tolist(), "dtype": dtype}
        if _are_dates(classes):
            texts = [date.isoformat() for date in classes]
            return {"classes": texts, "dtype": type(classes[0]).__name__}
        return {"classes": classes.tolist(), "dtype": dtype}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        """Rebuild the target from what was learned."""
        new, classes = cls(), state["classes"]
        name = text(state["dtype"], "the dtype of the classes")
        if not isinstance(classes, list) or len(classes) < 2:
            raise ValueError("there are no two classes.")
        if name in _DATES:
            classes, name = [_DATES[name](label) for label in classes], "object"
        dtype = np.dtype(name)
        # A dtype may take any memory: that of text is about as long as its longest.
        longest = max(len(str(label)) for label in classes)
        if dtype.kind not in "biufUOM" or dtype.itemsize > 64 * longest + 1024:
            raise ValueError(f"the classes are of the dtype {dtype}.")
        new.classes_ = np.array(classes, dtype=dtype)
        labels = new.classes_.tolist()
        if new.classes_.ndim != 1 or len({*labels}) < len(classes):
            raise ValueError("the classes are not distinct.")
        if labels != sorted(labels) or _missing_in(new.classes_).any():
            raise ValueError("the classes are not in order.")
        return new


class RegressionTarget:
    """Numbers to standardized ones, and back to their own units.

    >>> target = RegressionTarget().fit([10.0, 30.0])
    >>> target.encode([20.0, 30.0]), target.decode([0.0, 1.0])
    (array([0., 1.]), array([20., 30.]))
    """

    n_values = 1

    def fit(self, y: Any) -> Self:
        """Learn the mean and the scale of y (N,); the scale of a constant is 1."""
        mean, std = mean_and_std(_as_numbers(y)[:, None])
        self.mean_, self.scale_ = float(mean[0]), float(std[0])
        return self

    def encode(self, y: Any) -> np.ndarray:
        """Return the numbers y standardized, float64 (N,)."""
        return (_as_numbers(y) - self.mean_) / self.scale_

    def decode(self, values: Any) -> np.ndarray:
        """Return standardized values (N,) in their own units."""
        return np.asarray(values, dtype=np.float64) * self.scale_ + self.mean_

    def state(self) -> dict[str, Any]:
        """Return what was learned."""
        return {"mean": self.mean_, "scale": self.scale_}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        """Rebuild the target from what was learned."""
        new = cls()
        new.mean_ = finite(state["mean"], "the mean of the target")
        new.scale_ = finite(state["scale"], "the scale of the target")
        if new.scale_ <= 0:
            raise ValueError("the scale of the target is not above 0.")
        return new


def _as_numbers(y: Any) -> np.ndarray:
    values = read_target(y)
    if values.dtype.kind not in "fiub":
        raise ValueError(
            f"y holds {values.tolist()[0]!r}, but a regressor needs numbers; "
            "convert y to numbers first, or use a classifier."
        )
    return values.astype(np.float64)


def read_numbers(
    y: np.ndarray, reading: Reading | None = None
) -> tuple[np.ndarray, Reading | None]:
    """Read numbers in text, as of prices; other targets are returned as they are.

    Args:
        reading: how other rows were read.

    >>> read_numbers(np.array(["$1,035,000", "$950"], dtype=object))[0]
    array([1.035e+06, 9.500e+02])
    """
    if y.dtype.kind not in "OU" or not all(isinstance(each, str) for each in y):
        return y, None
    cells = y.astype(object)
    reading = reading or find_reading(cells, kind="number")
    if reading is None:
        return y, None
    values, reading = reading.read(cells)
    if reading.n_unread:
        row = int(np.isnan(values).argmax())
        raise ValueError(
            f"y holds {reading}, but row {row} is {reading.example!r}; drop or correct "
            "such rows before fit."
        )
    return values, reading


def bin_numbers(y: np.ndarray, n_bins: int) -> tuple[np.ndarray, np.ndarray]:
    """Put numbers into at most `n_bins` quantile bins, none of them empty.

    Returns the bin of each number, int64 (N,), and the inner edges: bin i holds what
    is above edge i - 1, up to and including edge i.

    >>> bin_numbers(np.array([1.0, 2.0, 3.0, 4.0]), 2)
    (array([0, 0, 1, 1]), array([2.]))
    """
    shares = np.arange(1, n_bins) / n_bins
    edges = np.unique(np.quantile(y, shares, method="inverted_cdf"))
    edges = edges[edges < y.max()]
    return np.searchsorted(edges, y, side="left").astype(np.int64), edges


TARGETS: dict[Task, type[ClassificationTarget] | type[RegressionTarget]] = {
    "classification": ClassificationTarget,
    "regression": RegressionTarget,
}
