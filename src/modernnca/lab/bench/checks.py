"""Faults of a table and its split that flatter some methods, neighbors above all.

Duplicates, row numbers and constant columns are counted in all rows; leaks of the
target are looked for in 5,000 rows and, in wide tables, in the 200 likeliest columns.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from modernnca.lab.bench.dataset import Dataset
from modernnca.lab.bench.splits import Parts

_FEWEST_ROWS_OF_A_CLASS = 10
_FEWEST_ROWS = 20  # of fewer, any column may be sorted, or tell the target, by chance
_NEARLY_UNIQUE = 0.95  # the share of distinct texts from which they name rows
_LEAK = 0.95  # the share of the target that one column must explain
_LEAK_ROWS, _LEAK_COLUMNS, _LEAK_LEAVES = 5_000, 200, 256
_N_NAMED = 5  # so many classes or columns are named in a text


@dataclass(frozen=True)
class Finding:
    """A fault: its kind, a sentence, how many it concerns, and which share of all."""

    kind: str
    text: str
    count: int
    share: float


def check(dataset: Dataset, parts: Parts) -> list[Finding]:
    """Return what is suspicious in a table, given a split of its rows.

    Kinds: missing-target, tiny-class, absent-class, duplicate, duplicate-with-target,
    constant, row-id, leak, and sampled (not all columns were searched for leaks).

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
        *_few_of_a_class(dataset, parts),
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
            f"{missing.sum():,} of {len(missing):,} rows have no target and are in no "
            "part.",
            int(missing.sum()),
            float(missing.mean()),
        )


def _few_of_a_class(dataset: Dataset, parts: Parts) -> Iterator[Finding]:
    if dataset.classes is None:
        return
    labels = pd.Series(dataset.y[dataset.has_target])
    counts = labels.value_counts().sort_index()
    tiny = counts[counts < _FEWEST_ROWS_OF_A_CLASS]
    absent = counts.drop(np.unique(dataset.y[parts.train]))
    for kind, few, what in (
        ("tiny-class", tiny, f"fewer than {_FEWEST_ROWS_OF_A_CLASS} rows"),
        ("absent-class", absent, "no row in train"),
    ):
        if len(few):
            listed = _in_short([f"{label!r} ({n})" for label, n in few.items()])
            text = f"{len(few)} of {len(counts)} classes have {what}: {listed}."
            yield Finding(kind, text, len(few), float(few.sum() / counts.sum()))


def _duplicates(dataset: Dataset, parts: Parts) -> Iterator[Finding]:
    """Find the test rows that are also in train or validation."""
    features = pd.util.hash_pandas_object(dataset.X, index=False).to_numpy()
    target = pd.util.hash_array(pd.factorize(dataset.y)[0])
    learned = np.concatenate([parts.train, parts.val])
    for kind, keys, what in (
        ("duplicate", features, "the features"),
        ("duplicate-with-target", features ^ target, "the features and the target"),
    ):
        twins = np.isin(keys[parts.test], keys[learned])
        if twins.any():
            text = (
                f"{twins.mean():.1%} of the test rows ({twins.sum():,} of "
                f"{len(twins):,}) have {what} of a row in train or validation."
            )
            yield Finding(kind, text, int(twins.sum()), float(twins.mean()))


def _constants(distinct: pd.Series) -> Iterator[Finding]:
    names = [*map(repr, distinct.index[distinct <= 1])]
    if names:
        text = f"{len(names)} columns hold one value only: {_in_short(names)}."
        yield Finding("constant", text, len(names), len(names) / len(distinct))


def _row_ids(X: pd.DataFrame, distinct: pd.Series) -> Iterator[Finding]:
    """Find columns that name rows: numbers that count them, or texts all different."""
    if len(X) < _FEWEST_ROWS:
        return
    shares = distinct / len(X)
    for name, share in shares[shares >= _NEARLY_UNIQUE].items():
        cells = X[name]
        numeric = pd.api.types.is_numeric_dtype(cells)
        if not numeric or (share == 1 and _counts_rows(cells)):
            what = "numbers" if numeric else "names"
            text = f"The column {name!r} {what} the rows: {share:.1%} are distinct."
            yield Finding("row-id", text, int(distinct[name]), float(share))


def _counts_rows(cells: pd.Series) -> bool:
    """Say whether distinct numbers are whole, and sorted or without a gap."""
    if not (cells % 1 == 0).all():
        return False
    sorted_ = cells.is_monotonic_increasing or cells.is_monotonic_decreasing
    return sorted_ or float(cells.max()) - float(cells.min()) == len(cells) - 1


def _leaks(dataset: Dataset, X: pd.DataFrame) -> Iterator[Finding]:
    """Find columns that tell the target alone, by a small tree and two folds."""
    rows = np.flatnonzero(dataset.has_target)
    rows = np.random.RandomState(0).permutation(rows)[:_LEAK_ROWS]
    if len(rows) < _FEWEST_ROWS or not X.shape[1]:
        return
    labels = dataset.task != "regression"
    y = pd.factorize(dataset.y[rows])[0] if labels else dataset.y[rows]
    # Of any cells, missing ones too, a tree needs to know the order only.
    ranks = np.column_stack([_ranks(cells) for _, cells in X.iloc[rows].items()])
    places = np.arange(X.shape[1])
    if len(places) > _LEAK_COLUMNS:
        groups = y if labels else y.argsort().argsort() * 10 // len(y)  # tenths
        places = np.sort(np.argsort(-_spread(ranks, groups))[:_LEAK_COLUMNS])
        text = (
            f"Leaks of the target were looked for in {len(places)} of {X.shape[1]:,} "
            "columns, those with the largest differences of means."
        )
        yield Finding("sampled", text, len(places), len(places) / X.shape[1])
    for place in places:
        share = _told(ranks[:, [place]], y, labels=labels)
        if share >= _LEAK:
            name = X.columns[place]
            text = f"The column {name!r} alone tells {share:.1%} of the target."
            yield Finding("leak", text, 1, share)


def _ranks(cells: pd.Series) -> np.ndarray:
    if isinstance(cells.dtype, pd.CategoricalDtype):
        return cells.cat.codes.to_numpy(dtype=np.float32)
    return pd.factorize(cells, sort=True)[0].astype(np.float32)


def _spread(ranks: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Return for each column the share of its variance that lies between groups."""
    centered = ranks - ranks.mean(axis=0)
    members = np.eye(groups.max() + 1, dtype=np.float32)[groups]  # (rows, groups)
    counts = np.maximum(members.sum(axis=0), 1)
    between = ((members.T @ centered) ** 2 / counts[:, None]).sum(axis=0)
    return between / np.maximum((centered**2).sum(axis=0), 1e-12)


def _told(ranks: np.ndarray, y: np.ndarray, *, labels: bool) -> float:
    """Return which share of a constant guess's error a tree on one column mends."""
    model = DecisionTreeClassifier if labels else DecisionTreeRegressor
    error = constant = 0.0
    for held in (slice(0, None, 2), slice(1, None, 2)):
        kept = slice(1 - held.start, None, 2)
        tree = model(max_leaf_nodes=_LEAK_LEAVES, random_state=0)
        tree.fit(ranks[kept], y[kept])
        guess = float(np.bincount(y[kept]).argmax() if labels else y[kept].mean())
        error += _errors(y[held], tree.predict(ranks[held]), labels=labels)
        constant += _errors(y[held], guess, labels=labels)
    return 1 - error / constant if constant else 0.0


def _errors(y: np.ndarray, prediction: np.ndarray | float, *, labels: bool) -> float:
    return float(np.sum(y != prediction if labels else (y - prediction) ** 2))


def _in_short(names: list[str]) -> str:
    more = f" and {len(names) - _N_NAMED:,} more" if len(names) > _N_NAMED else ""
    return ", ".join(names[:_N_NAMED]) + more
