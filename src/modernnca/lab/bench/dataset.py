"""A dataset: a table, its task, its target and, if it has one, its split."""

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from modernnca.errors import TableError
from modernnca.table.read import level_text

TASKS = ("binclass", "multiclass", "regression")
PARTS = ("train", "val", "test")
_MAX_INTEGER_CLASSES = 20
_MIN_MEAN_ROWS_PER_CLASS = 2


@dataclass(frozen=True, eq=False)
class Dataset:
    """A table to learn from, with N rows in their original order.

    Rows without a target are kept, so that row numbers stay the same; splits leave them
    out.
    """

    name: str
    task: str  # one of TASKS
    X: pd.DataFrame  # (N, columns) numeric, and text as pandas categories
    y: np.ndarray  # (N,) labels, or float64 values in regression
    info: dict[str, Any] = field(default_factory=dict)
    given: dict[str, np.ndarray] | None = None  # row numbers of each of PARTS

    @property
    def has_target(self) -> np.ndarray:
        """Boolean mask (N,) of the rows with a target."""
        return ~pd.isna(self.y)

    @property
    def classes(self) -> np.ndarray | None:
        """The labels that occur, sorted; None in regression."""
        return None if self.task == "regression" else np.unique(self.y[self.has_target])


def guess_task(target: pd.Series) -> str:
    """Guess the task from the values of the target.

    Text and booleans are classes, and so are integers with at most 20 distinct values
    that occur at least twice on average. Anything else is regression.

    >>> guess_task(pd.Series(["a", "b"])), guess_task(pd.Series([0.5, 1.0]))
    ('binclass', 'regression')
    """
    values = target.dropna()
    n_distinct = values.nunique()
    if pd.api.types.is_numeric_dtype(values) and values.dtype != bool:
        most = min(_MAX_INTEGER_CLASSES, len(values) / _MIN_MEAN_ROWS_PER_CLASS)
        if not (n_distinct <= most and (values % 1 == 0).all()):
            return "regression"
    return "binclass" if n_distinct <= 2 else "multiclass"


def target_values(target: pd.Series, *, task: str, source: str) -> np.ndarray:
    """Return a target column (N,) as an array: float64 in regression, else labels.

    >>> column = pd.Series(["no", "yes", None], dtype="category")
    >>> target_values(column, task="binclass", source="t")
    array(['no', 'yes', nan], dtype=object)
    """
    if target.isna().all():
        raise TableError(
            f"The target {target.name!r} of {source} is missing in every row; "
            "choose another column."
        )
    if task != "regression":
        return target.to_numpy()
    try:
        return pd.to_numeric(target.astype(object)).to_numpy(dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise TableError(
            f"The target {target.name!r} of {source} is not numeric ({error}); "
            "set the task to binclass or multiclass, or choose another column."
        ) from error


def as_categories(cells: Any, *, gaps: Collection[str] = ()) -> pd.Categorical:
    """Convert a column to text categories; texts in `gaps` count as missing.

    >>> list(as_categories(np.array([1, 1.5, None, "a"], dtype=object)))
    ['1', '1.5', nan, 'a']
    """
    codes, levels = pd.factorize(pd.Series(cells, dtype=object))
    texts = [*map(level_text, levels.tolist()), None]  # missing cells have code -1
    texts = [None if text in gaps else text for text in texts]
    return pd.Categorical(np.array(texts, dtype=object)[codes])


def with_categories(frame: pd.DataFrame, *, also: Collection[str] = ()) -> pd.DataFrame:
    """Convert text, booleans and the columns in `also` to categories.

    >>> frame = pd.DataFrame({"a": ["x", "y"], "b": [1, 2], "c": [1, 2]})
    >>> with_categories(frame, also=["c"]).dtypes.astype(str).tolist()
    ['category', 'int64', 'category']
    """
    names = [
        name
        for name, dtype in frame.dtypes.items()
        if not isinstance(dtype, pd.CategoricalDtype)
        and (name in also or dtype.kind in "ObUS")
    ]
    return frame.assign(**{str(name): as_categories(frame[name]) for name in names})
