"""The validation rows of a fit: given as `eval_set`, or held out."""

from typing import Any

import numpy as np

from modernnca.ensemble.member import Remembered
from modernnca.estimators.config import ModernNCAConfig
from modernnca.table.groups import find_groups, read_groups
from modernnca.table.raw_examples import RawExamples, read_eval_set
from modernnca.table.split import (
    VALIDATION_SPLITS,
    hold_out,
    hold_out_groups,
    hold_out_late,
)
from modernnca.table.targets import TARGETS, Task
from modernnca.table.time_column import learn_times


def as_eval_set(eval_set: Any, X_val: Any, y_val: Any) -> Any:
    """The pair of validation rows, given as one argument or as two."""
    if (X_val is None) != (y_val is None):
        given, other = ("X_val", "y_val") if y_val is None else ("y_val", "X_val")
        raise ValueError(f"{given} was given without {other}; give both, or neither.")
    if X_val is None:
        return eval_set
    if eval_set is not None:
        raise ValueError(
            "Validation rows are given twice, as eval_set and as X_val and y_val; "
            "keep one."
        )
    return X_val, y_val


def split(
    data: RawExamples,
    eval_set: Any,
    config: ModernNCAConfig,
    rng: np.random.RandomState,
    task: Task,
    class_weight: Any = None,
) -> tuple[RawExamples, RawExamples | None]:
    """Training rows and validation rows; None if too few rows are given for any."""
    target = TARGETS[task]().fit(data.y)  # raises if the target does not suit the task
    if eval_set is not None:
        valid = read_eval_set(eval_set, data, class_weight)
        given, n_columns = len(valid.table.columns), len(data.table.columns)
        if given != n_columns and not (valid.table.named and data.table.named):
            raise ValueError(
                f"The table of eval_set has {given} columns, but X has {n_columns}; "
                "give the same columns."
            )
        return data, valid
    fraction = config.validation_fraction
    classes = target.encode(data.y) if task == "classification" else None
    n_blocks = VALIDATION_SPLITS[config.validation_split]
    times = None
    if config.time_column is not None and n_blocks:
        times = learn_times([data.table], config.time_column).read(data.table)
    if data.groups is not None:
        train, valid_rows = hold_out_groups(
            data.groups,
            fraction=fraction,
            rng=rng,
            classes=classes,
            times=times,
            n_blocks=n_blocks,
        )
    elif times is None:
        train, valid_rows = hold_out(
            len(data), fraction=fraction, rng=rng, classes=classes
        )
    else:
        train, valid_rows = hold_out_late(
            times, fraction=fraction, n_blocks=n_blocks, classes=classes
        )
    return data.take(train), data.take(valid_rows) if len(valid_rows) else None


def group_numbers(
    groups: Any, n_rows: int, rows: RawExamples, remembered: Remembered
) -> np.ndarray:
    """The numbers of the groups of queries; -1 of groups that are not remembered."""
    names = read_groups(groups, n_rows)
    if remembered.group is None:
        raise ValueError(
            "The model was fitted without groups; give groups to fit as well, or leave "
            "them out."
        )
    if not rows.group_names:
        raise ValueError(
            "The model was saved without its rows and so without the names of their "
            "groups; leave groups out, or save it with its rows."
        )
    return find_groups(names, rows.group_names)
