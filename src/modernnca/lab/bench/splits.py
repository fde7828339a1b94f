"""The splits of a dataset, fixed by name and seed: the same rows for ever.

Splits, by name:
    given     the split that comes with the table; what it lacks is drawn with seed 0
    random-K  drawn with seed K: 64 % train, 16 % val, 20 % test
    in-order  the last 20 % of the rows for test, 16 % before them for val: for tables
              that go on with time
"""

import re
from typing import NamedTuple

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

from modernnca.errors import TableError
from modernnca.lab.bench.dataset import Dataset

_SHARE = 0.2  # of all rows for test, of the rest for val
_FEWEST_ROWS = 5  # with fewer, a part would be empty


class Parts(NamedTuple):
    """Row numbers of the three parts of a table; rows without a target are in none."""

    train: np.ndarray
    val: np.ndarray
    test: np.ndarray


def split_rows(dataset: Dataset, name: str) -> Parts:
    """Return the rows of the split of this name (see the file's top).

    Rows are drawn by class where every class has two rows.

    >>> from modernnca.lab.bench.readers import read_dataset
    >>> [len(rows) for rows in split_rows(read_dataset("builtin:iris"), "random-3")]
    [96, 24, 30]
    """
    if name == "in-order":
        return _in_order(dataset)
    given, seed = _given_and_seed(dataset, name)
    there = dataset.has_target
    if given is None:
        rows = {"train": np.flatnonzero(there)}
    else:
        rows = {part: numbers[there[numbers]] for part, numbers in given.items()}
    lacking = [part for part in ("test", "val") if part not in rows]
    for part, numbers in rows.items():
        fewest = _FEWEST_ROWS if lacking and part == "train" else 1
        if len(numbers) < fewest:
            raise TableError(
                f"{dataset.name!r} has {len(numbers)} rows with a target for {part}; "
                f"the split {name!r} takes at least {fewest}."
            )
    for part in lacking:
        rows["train"], rows[part] = _draw(dataset, rows["train"], seed)
    return Parts(**rows)


def _in_order(dataset: Dataset) -> Parts:
    rows = np.flatnonzero(dataset.has_target)
    if len(rows) < _FEWEST_ROWS:
        raise TableError(
            f"{dataset.name!r} has {len(rows)} rows with a target; "
            f"the split 'in-order' takes at least {_FEWEST_ROWS}."
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
            f"Unknown split {name!r}; choose 'given', 'in-order', or 'random-0' "
            "or another seed."
        )
    return None, int(match[1])


def _draw(
    dataset: Dataset, rows: np.ndarray, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Draw a fifth of the rows, and return the others and these."""
    most, rest = train_test_split(
        rows,
        test_size=_SHARE,
        random_state=seed,
        stratify=_strata(dataset, rows),
    )
    return most, rest


def _strata(dataset: Dataset, rows: np.ndarray) -> np.ndarray | None:
    if dataset.task == "regression":
        return None
    codes, labels = pd.factorize(dataset.y[rows], sort=True)
    n_drawn = np.ceil(_SHARE * len(rows))
    able = np.bincount(codes).min() > 1 and n_drawn >= len(labels)
    return codes if able else None
