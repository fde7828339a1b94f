"""Raw rows with their targets, weights and row numbers, as given to `fit`."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils import check_consistent_length
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.validation import _check_sample_weight

from modernnca.table.groups import find_groups, number_groups, read_groups
from modernnca.table.schema import RawTable, Schema, conform, read_table
from modernnca.table.targets import Task, read_numbers, read_target
from modernnca.table.text_reading import Reading


@dataclass(frozen=True)
class RawExamples:
    """Some rows of a table, with their targets."""

    table: RawTable
    y: np.ndarray  # (N,) as the user gave it
    weights: np.ndarray | None  # (N,)
    index: np.ndarray  # (N,) row numbers in the table given to `fit`
    reading: Reading | None = None  # of targets that are numbers in text
    groups: np.ndarray | None = None  # (N,) numbers of their groups; -1 of none
    group_names: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.y)

    def take(self, rows: np.ndarray) -> "RawExamples":
        """These rows alone."""
        weights = None if self.weights is None else self.weights[rows]
        groups = None if self.groups is None else self.groups[rows]
        index, table, y = self.index[rows], self.table.take(rows), self.y[rows]
        changed = {"table": table, "y": y, "weights": weights, "index": index}
        return replace(self, **changed, groups=groups)


def read_examples(
    X: Any,
    y: Any,
    sample_weight: Any = None,
    class_weight: Any = None,
    task: Task = "classification",
    groups: Any = None,
) -> RawExamples:
    """Read and check what was given to `fit`; rows of zero weight are left out."""
    table, y, reading = read_table(X), read_target(y), None
    if task == "regression":
        y, reading = read_numbers(y)
    check_consistent_length(range(len(table)), y)
    if len(table) < 2:
        raise ValueError(
            f"Found a table with n_samples={len(table)}, but a row needs a "
            "neighbor: give at least 2 rows."
        )
    weights = None
    if sample_weight is not None:
        weights = _check_sample_weight(
            sample_weight, y, dtype=np.float64, ensure_non_negative=True
        )
    rows = RawExamples(table, y, weights, np.arange(len(table)), reading)
    if groups is not None:
        numbers, names = number_groups(read_groups(groups, len(table)))
        rows = replace(rows, groups=numbers, group_names=names)
    if weights is not None and not weights.all():
        rows = rows.take(np.flatnonzero(weights))
    return replace(rows, weights=_with_classes(rows.y, rows.weights, class_weight))


def _with_classes(
    y: np.ndarray, weights: np.ndarray | None, class_weight: Any
) -> np.ndarray | None:
    """The weights of rows, times those of their classes."""
    if class_weight is None:
        return weights
    by_class: np.ndarray = compute_sample_weight(class_weight, y)
    return by_class if weights is None else weights * by_class


def read_eval_set(
    eval_set: Any, rows: RawExamples, class_weight: Any = None
) -> RawExamples:
    """Read and check validation rows; they are numbered after the rows of `fit`."""
    listed = isinstance(eval_set, tuple | list)
    if rows.groups is not None and not (listed and len(eval_set) == 3):
        raise ValueError(
            "With groups, eval_set must hold three parts (X, y, groups) of validation "
            f"rows; got {_shown(eval_set)}."
        )
    if rows.groups is None and not (listed and len(eval_set) == 2):
        raise ValueError(
            "eval_set must be a pair (X, y) of validation rows; "
            f"got {type(eval_set).__name__}."
        )
    table, y = read_table(eval_set[0]), read_target(eval_set[1])
    if rows.reading is not None:
        y, _ = read_numbers(y, rows.reading)
    check_consistent_length(range(len(table)), y)
    weights = None if rows.weights is None else np.ones(len(y))
    index = rows.index.max() + 1 + np.arange(len(y))
    weights = _with_classes(y, weights, class_weight)
    valid = RawExamples(table, y, weights, index)
    if rows.groups is None:
        return valid
    names = read_groups(eval_set[2], len(table), "eval_set")
    # Groups that only validation rows have are numbered after the others.
    new = tuple(sorted({*names.tolist()} - {None, *rows.group_names}))
    known = (*rows.group_names, *new)
    return replace(valid, groups=find_groups(names, known), group_names=known)


def _shown(eval_set: Any) -> str:
    kind = type(eval_set).__name__
    return f"a {kind} of {len(eval_set)}" if kind in ("tuple", "list") else kind


def concatenate_raw(
    first: RawExamples, second: RawExamples, schema: Schema
) -> RawExamples:
    """The rows of `first`, then those of `second`, as `schema` reads them."""
    one, two = conform(first.table, schema), conform(second.table, schema)
    columns = {
        name: np.concatenate([cells, two.columns[name]])
        for name, cells in one.columns.items()
    }
    weights = None
    if first.weights is not None and second.weights is not None:
        weights = np.concatenate([first.weights, second.weights])
    groups = None
    if first.groups is not None and second.groups is not None:
        groups = np.concatenate([first.groups, second.groups])
    return RawExamples(
        replace(one, columns=columns),
        np.concatenate([first.y, second.y]),
        weights,
        np.concatenate([first.index, second.index]),
        groups=groups,
        group_names=max(first.group_names, second.group_names, key=len),
    )
