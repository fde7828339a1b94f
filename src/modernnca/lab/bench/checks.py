"""Data problems that inflate scores, above all those of nearest-neighbor methods.

Duplicates, row IDs and constant columns are counted in all rows. Target leaks are
searched in 5,000 rows and, in wide datasets, in the 200 most suspicious columns.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from modernnca.lab.bench.dataset import Dataset
from modernnca.lab.bench.splits import Parts

_MIN_ROWS_PER_CLASS = 10
_MIN_ROWS = 20  # in fewer rows, a column may be sorted or explain the target by chance
_NEARLY_UNIQUE = 0.95  # share of distinct texts from which a column is a row ID
_LEAK = 0.95  # share of the target that one column must explain
_LEAK_ROWS, _LEAK_COLUMNS, _LEAK_LEAVES = 5_000, 200, 256
_MAX_LISTED = 5  # classes or columns listed in a text


@dataclass(frozen=True)
class Finding:
    """A data problem: its kind, a description, and the count and share affected."""

    kind: str
    text: str
    count: int
    share: float


def check(dataset: Dataset, parts: Parts) -> list[Finding]:
    """Return the problems of a dataset and its split.

    Kinds: missing-target, tiny-class, absent-class, duplicate, duplicate-with-target,
    constant, row-id, leak, and sampled (not every column was searched for leaks).

    >>> from modernnca.lab.bench.readers import read_dataset
    >>> from modernnca.lab.bench.splits import split_rows
    >>> iris = read_dataset("builtin:iris")
    >>> check(iris, split_rows(iris, "random-1"))
    []
    """
    distinct = dataset.X.nunique(dropna=False)  # (columns,)
    varied = dataset.X.loc[:, (distinct > 1).to_numpy()]
    return [
        *_missing_target(dataset),
        *_rare_classes(dataset, parts),
        *_duplicates(dataset, parts),
        *_constants(distinct),
        *_row_ids(dataset.X, distinct),
        *_leaks(dataset, varied),
    ]


def _missing_target(dataset: Dataset) -> Iterator[Finding]:
    missing = ~dataset.has_target
    if missing.any():
        yield Finding(
            "missing-target",
            f"{missing.sum():,} of {len(missing):,} rows have no target and are left "
            "out.",
            int(missing.sum()),
            float(missing.mean()),
        )


def _rare_classes(dataset: Dataset, parts: Parts) -> Iterator[Finding]:
    if dataset.classes is None:
        return
    labels = pd.Series(dataset.y[dataset.has_target])
    counts = labels.value_counts().sort_index()
    tiny = counts[counts < _MIN_ROWS_PER_CLASS]
    absent = counts.drop(np.unique(dataset.y[parts.train]))
    for kind, rare, what in (
        ("tiny-class", tiny, f"fewer than {_MIN_ROWS_PER_CLASS} rows"),
        ("absent-class", absent, "no row in train"),
    ):
        if len(rare):
            listed = _shorten([f"{label!r} ({n})" for label, n in rare.items()])
            text = f"{len(rare)} of {len(counts)} classes have {what}: {listed}."
            yield Finding(kind, text, len(rare), float(rare.sum() / counts.sum()))


def _duplicates(dataset: Dataset, parts: Parts) -> Iterator[Finding]:
    """Find the test rows that are also in train or validation."""
    features = pd.util.hash_pandas_object(dataset.X, index=False).to_numpy()
    target = pd.util.hash_array(pd.factorize(dataset.y)[0])
    training = np.concatenate([parts.train, parts.val])
    for kind, keys, what in (
        ("duplicate", features, "the features"),
        ("duplicate-with-target", features ^ target, "the features and the target"),
    ):
        duplicated = np.isin(keys[parts.test], keys[training])
        if duplicated.any():
            text = (
                f"{duplicated.mean():.1%} of the test rows ({duplicated.sum():,} of "
                f"{len(duplicated):,}) have {what} of a row in train or validation."
            )
            yield Finding(kind, text, int(duplicated.sum()), float(duplicated.mean()))


def _constants(distinct: pd.Series) -> Iterator[Finding]:
    names = [*map(repr, distinct.index[distinct <= 1])]
    if names:
        text = f"{len(names)} columns are constant: {_shorten(names)}."
        yield Finding("constant", text, len(names), len(names) / len(distinct))


def _row_ids(X: pd.DataFrame, distinct: pd.Series) -> Iterator[Finding]:
    """Find columns that identify rows: consecutive integers, or distinct texts."""
    if len(X) < _MIN_ROWS:
        return
    shares = distinct / len(X)
    for name, share in shares[shares >= _NEARLY_UNIQUE].items():
        cells = X[name]
        numeric = pd.api.types.is_numeric_dtype(cells)
        if not numeric or (share == 1 and _enumerates_rows(cells)):
            text = (
                f"The column {name!r} identifies the rows: {share:.1%} of its values "
                "are distinct."
            )
            yield Finding("row-id", text, int(distinct[name]), float(share))


def _enumerates_rows(cells: pd.Series) -> bool:
    """Return whether distinct numbers are integers, and sorted or without gaps."""
    if not (cells % 1 == 0).all():
        return False
    sorted_ = cells.is_monotonic_increasing or cells.is_monotonic_decreasing
    return sorted_ or float(cells.max()) - float(cells.min()) == len(cells) - 1


def _leaks(dataset: Dataset, X: pd.DataFrame) -> Iterator[Finding]:
    """Find columns that alone explain the target, by a small tree and two folds."""
    rows = np.flatnonzero(dataset.has_target)
    rows = np.random.RandomState(0).permutation(rows)[:_LEAK_ROWS]
    if len(rows) < _MIN_ROWS or not X.shape[1]:
        return
    classification = dataset.task != "regression"
    y = pd.factorize(dataset.y[rows])[0] if classification else dataset.y[rows]
    # A tree needs only the order of the cells, missing ones included.
    ranks = np.column_stack([_ranks(cells) for _, cells in X.iloc[rows].items()])
    columns = np.arange(X.shape[1])
    if len(columns) > _LEAK_COLUMNS:
        deciles = y.argsort().argsort() * 10 // len(y)
        shares = _between_group_share(ranks, y if classification else deciles)
        columns = np.sort(np.argsort(-shares)[:_LEAK_COLUMNS])
        text = (
            f"Target leaks were searched in {len(columns)} of {X.shape[1]:,} columns, "
            "those with the largest differences of means."
        )
        yield Finding("sampled", text, len(columns), len(columns) / X.shape[1])
    for column in columns:
        share = _explained_share(ranks[:, [column]], y, classification=classification)
        if share >= _LEAK:
            name = X.columns[column]
            text = f"The column {name!r} alone explains {share:.1%} of the target."
            yield Finding("leak", text, 1, share)


def _ranks(cells: pd.Series) -> np.ndarray:
    if isinstance(cells.dtype, pd.CategoricalDtype):
        return cells.cat.codes.to_numpy(dtype=np.float32)
    return pd.factorize(cells, sort=True)[0].astype(np.float32)


def _between_group_share(ranks: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Return, for each column, the share of its variance that lies between groups."""
    centered = ranks - ranks.mean(axis=0)
    members = np.eye(groups.max() + 1, dtype=np.float32)[groups]  # (rows, groups)
    counts = np.maximum(members.sum(axis=0), 1)
    between = ((members.T @ centered) ** 2 / counts[:, None]).sum(axis=0)
    return between / np.maximum((centered**2).sum(axis=0), 1e-12)


def _explained_share(
    ranks: np.ndarray, y: np.ndarray, *, classification: bool
) -> float:
    """Return the share of a constant's error that a tree on one column removes."""
    model = DecisionTreeClassifier if classification else DecisionTreeRegressor
    error = constant_error = 0.0
    for test in (slice(0, None, 2), slice(1, None, 2)):
        train = slice(1 - test.start, None, 2)
        tree = model(max_leaf_nodes=_LEAK_LEAVES, random_state=0)
        tree.fit(ranks[train], y[train])
        if classification:
            constant = float(np.bincount(y[train]).argmax())
        else:
            constant = float(y[train].mean())
        predicted = tree.predict(ranks[test])
        error += _error(y[test], predicted, classification=classification)
        constant_error += _error(y[test], constant, classification=classification)
    return 1 - error / constant_error if constant_error else 0.0


def _error(
    y: np.ndarray, prediction: np.ndarray | float, *, classification: bool
) -> float:
    return float(np.sum(y != prediction if classification else (y - prediction) ** 2))


def _shorten(names: list[str]) -> str:
    n_more = len(names) - _MAX_LISTED
    more = f" and {n_more:,} more" if n_more > 0 else ""
    return ", ".join(names[:_MAX_LISTED]) + more
