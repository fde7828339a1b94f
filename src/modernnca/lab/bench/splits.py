"""Splits of a dataset, reproducible by name.

Splits, by name:
    given     the split that comes with the dataset; missing parts use seed 0
    random-K  random with seed K: 64 % train, 16 % val, 20 % test
    in-order  the last 20 % of the rows for test, the 16 % before them for val: for
              datasets ordered by time
"""

import re
from typing import NamedTuple

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

from modernnca.errors import TableError
from modernnca.lab.bench.dataset import Dataset

_SHARE = 0.2  # of all rows for test, of the rest for val
_MIN_ROWS = 5  # with fewer, a part would be empty


class Parts(NamedTuple):
    """Row numbers of the three parts of a dataset, without rows that have no target."""

    train: np.ndarray
    val: np.ndarray
    test: np.ndarray


def split_rows(dataset: Dataset, name: str) -> Parts:
    """Return the rows of a split; the module's docstring lists the names.

    Random splits are stratified by class if every class has at least two rows.

    >>> from modernnca.lab.bench.readers import read_dataset
    >>> [len(rows) for rows in split_rows(read_dataset("builtin:iris"), "random-3")]
    [96, 24, 30]
    """
    if name == "in-order":
        return _in_order(dataset)
    given, seed = _given_and_seed(dataset, name)
    has_target = dataset.has_target
    if given is None:
        rows = {"train": np.flatnonzero(has_target)}
    else:
        rows = {part: numbers[has_target[numbers]] for part, numbers in given.items()}
    missing = [part for part in ("test", "val") if part not in rows]
    for part, numbers in rows.items():
        n_needed = _MIN_ROWS if missing and part == "train" else 1
        if len(numbers) < n_needed:
            raise TableError(
                f"{dataset.name!r} has {len(numbers)} rows with a target for {part}; "
                f"the split {name!r} needs at least {n_needed}."
            )
    for part in missing:
        rows["train"], rows[part] = _split_off(dataset, rows["train"], seed)
    return Parts(**rows)


def _in_order(dataset: Dataset) -> Parts:
    rows = np.flatnonzero(dataset.has_target)
    if len(rows) < _MIN_ROWS:
        raise TableError(
            f"{dataset.name!r} has {len(rows)} rows with a target; "
            f"the split 'in-order' needs at least {_MIN_ROWS}."
        )
    n_test = round(_SHARE * len(rows))
    n_val = round(_SHARE * (len(rows) - n_test))
    return Parts(*np.split(rows, [len(rows) - n_test - n_val, len(rows) - n_test]))


def _given_and_seed(
    dataset: Dataset, name: str
) -> tuple[dict[str, np.ndarray] | None, int]:
    if name == "given":
        return dataset.given, 0
    match = re.fullmatch(r"random-(\d{1,9})", name)
    if match is None:
        raise ValueError(
            f"Unknown split {name!r}; choose 'given', 'in-order' or 'random-SEED', "
            "such as 'random-0'."
        )
    return None, int(match[1])


def _split_off(
    dataset: Dataset, rows: np.ndarray, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Split off a random fifth of the rows; return the remaining rows, then these."""
    remaining, drawn = train_test_split(
        rows,
        test_size=_SHARE,
        random_state=seed,
        stratify=_strata(dataset, rows),
    )
    return remaining, drawn


def _strata(dataset: Dataset, rows: np.ndarray) -> np.ndarray | None:
    if dataset.task == "regression":
        return None
    codes, labels = pd.factorize(dataset.y[rows], sort=True)
    n_drawn = np.ceil(_SHARE * len(rows))
    can_stratify = np.bincount(codes).min() > 1 and n_drawn >= len(labels)
    return codes if can_stratify else None
