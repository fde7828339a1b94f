"""Columns of no use, or of too much: constants, identifiers, gaps, leaks."""

from typing import NamedTuple

import numpy as np
from sklearn.metrics import r2_score, roc_auc_score
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from modernnca.table.identifiers import is_identifier
from modernnca.table.read import RawTable, missing_in
from modernnca.table.schema import Schema

MOSTLY = 0.5  # a column with a larger share of gaps is mostly missing
LEAK = 0.98  # the cross-validated AUC, or R2, of a column that gives the target away
_N_ROWS = 5000  # that a single column is tried on
_N_FOLDS = 3
_MIN_PER_CLASS = 2 * _N_FOLDS  # rows of a class that is asked for
_MIN_ROWS = 30


class ColumnFault(NamedTuple):
    """What is wrong with a column."""

    column: str
    problem: str  # constant, identifier, missing or leak
    score: float  # of the column alone, cross-validated; NaN if that was not asked
    text: str


def find_column_faults(
    table: RawTable, schema: Schema, y: np.ndarray, *, classification: bool
) -> list[ColumnFault]:
    """What is wrong with the columns of a table, given the targets y (N,)."""
    some = np.random.RandomState(0).permutation(len(table))[:_N_ROWS]
    metric, faults = "AUC" if classification else "R2", []
    for column in schema.columns:
        cells = table.columns[column.name]
        missing = missing_in(cells)
        if column.kind == "constant":
            text = "Every cell is missing." if missing.all() else "Every cell is equal."
            faults.append(ColumnFault(column.name, "constant", np.nan, text))
            continue
        score = skill_of_column(cells[some], y[some], classification=classification)
        if column.kind == "identifier" or is_identifier(column.name, cells):
            text = "It is different in every row."
            faults.append(ColumnFault(column.name, "identifier", score, text))
        if score >= LEAK:
            text = (
                f"Alone, it predicts the target almost perfectly ({metric} "
                f"{score:.3f}): was it known when the target was not?"
            )
            faults.append(ColumnFault(column.name, "leak", score, text))
        if missing.mean() > MOSTLY:
            text = f"{missing.mean():.0%} of its cells are missing."
            faults.append(ColumnFault(column.name, "missing", score, text))
    order = {"leak": 0, "identifier": 1, "missing": 2, "constant": 3}
    return sorted(faults, key=lambda fault: order[fault.problem])


def skill_of_column(cells: np.ndarray, y: np.ndarray, *, classification: bool) -> float:
    """How well one column predicts the target: the cross-validated AUC or R2 of a tree.

    Of several classes, the AUC is the mean over the classes that have enough rows. NaN
    if there are too few rows.

    >>> y = np.repeat([0, 1], 50)
    >>> skill_of_column(y * 3.0, y, classification=True)
    1.0
    """
    x = _as_numbers(cells)[:, None]
    if classification:
        _, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
        enough = (counts >= _MIN_PER_CLASS)[codes]
        x, y = x[enough], codes[enough]
        if len(np.unique(y)) < 2:
            return np.nan
    if len(y) < _MIN_ROWS or (not classification and np.ptp(y) == 0):
        return np.nan
    n_leaf = max(2, len(y) // 500)
    if classification:
        return _auc(x, y, n_leaf)
    predicted = np.empty(len(y))
    for train, test in KFold(_N_FOLDS, shuffle=True, random_state=0).split(x):
        tree = DecisionTreeRegressor(min_samples_leaf=n_leaf, random_state=0)
        predicted[test] = tree.fit(x[train], y[train]).predict(x[test])
    return float(r2_score(y, predicted))


def _auc(x: np.ndarray, y: np.ndarray, n_leaf: int) -> float:
    labels, y = np.unique(y, return_inverse=True)
    predicted = np.empty((len(y), len(labels)))
    folds = StratifiedKFold(_N_FOLDS, shuffle=True, random_state=0)
    for train, test in folds.split(x, y):
        tree = DecisionTreeClassifier(min_samples_leaf=n_leaf, random_state=0)
        predicted[test] = tree.fit(x[train], y[train]).predict_proba(x[test])
    each = [roc_auc_score(y == k, predicted[:, k]) for k in range(len(labels))]
    return float(np.mean(each))


def _as_numbers(cells: np.ndarray) -> np.ndarray:
    """A column as numbers for a tree: levels by their order, gaps as NaN."""
    if cells.dtype.kind == "f":
        return np.where(np.isinf(cells), np.nan, cells).clip(-3e38, 3e38)
    missing = missing_in(cells)
    if cells.dtype.kind == "M":
        days = cells.astype("datetime64[us]").astype(np.int64) / 86_400e6
        return np.where(missing, np.nan, days)
    places = {text: i for i, text in enumerate(sorted(set(cells[~missing])))}
    found = [np.nan if cell is None else places[cell] for cell in cells.tolist()]
    return np.array(found, dtype=np.float64)
