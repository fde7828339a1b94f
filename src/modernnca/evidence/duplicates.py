"""Duplicates: rows that are equal, or nearly so, in one table or in two.

Rows are compared by their cells, not by what a model makes of them. Numbers are near
each other if they differ by at most 1 % of the spread of their column, or of
themselves where they are far out; texts if they differ in case and spaces only. Near
duplicates agree so in every column, and are ten times nearer than rows usually are.

Shapes: N rows, P columns of numbers, C other columns.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.spatial import cKDTree

from modernnca.table.read import RawTable, missing_in
from modernnca.table.schema import Schema, conform

_TOLERANCE = 0.01  # of the spread of a column
_MIN_SPREAD = 0.2  # of the standard deviation; mostly it is that of the middle half
_NEARER = 0.1  # of the usual distance to the nearest row
_N_SAMPLED = 500  # rows that tell the usual distance
_N_AXES = 8  # that candidates are searched in
_MAX_CANDIDATES = 50  # pairs for a row
_NOT_COMPARED = ("identifier", "constant")


class Duplicates(NamedTuple):
    """Pairs of rows: numbers of lines, not yet those of the table given to `fit`."""

    rows: np.ndarray  # (K,) the later row, or that of the second table
    others: np.ndarray  # (K,) the first row like it
    exact: np.ndarray  # (K,) whether they are equal


class Comparable(NamedTuple):
    """Rows as they are compared."""

    exact: np.ndarray  # (N,) equal rows have the same number
    levels: np.ndarray  # (N,) rows of equal levels and gaps have the same number
    numbers: np.ndarray  # (N, P) in units of the spread of their columns


def comparable(tables: Sequence[RawTable], schema: Schema) -> Comparable:
    """The rows of all tables, one table after the other."""
    read = [conform(table, schema).columns for table in tables]
    names = [c.name for c in schema.columns if c.kind not in _NOT_COMPARED]
    n_rows = sum(len(table) for table in tables)
    exact = levels = np.zeros(n_rows, dtype=np.int64)
    numbers = []
    for name in names:
        parts = [columns[name] for columns in read]
        if len({part.dtype.kind for part in parts}) > 1:  # of a column not in use
            continue
        cells = np.concatenate(parts)
        exact = _refined(exact, _codes(cells))
        if cells.dtype.kind == "O":
            levels = _refined(levels, _codes(_normalized(cells)))
        else:
            levels = _refined(levels, missing_in(cells).astype(np.int64))
            numbers.append(_scaled(cells))
    stacked = np.stack(numbers, axis=1) if numbers else np.zeros((n_rows, 0))
    return Comparable(exact, levels, stacked)


def _codes(cells: np.ndarray) -> np.ndarray:
    """Equal cells have the same code, int64 (N,)."""
    if cells.dtype.kind == "O":
        known: dict[object, int] = {}
        found = [known.setdefault(cell, len(known)) for cell in cells.tolist()]
        return np.array(found, dtype=np.int64)
    return np.unique(cells, return_inverse=True)[1].astype(np.int64)


def _refined(groups: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Groups (N,) cut by the codes of a further column."""
    if not len(groups):
        return groups
    both = groups * (codes.max() + 1) + codes
    return np.unique(both, return_inverse=True)[1].astype(np.int64)


def _normalized(cells: np.ndarray) -> np.ndarray:
    """Texts without regard to case and spaces."""
    return np.array(
        [" ".join(c.split()).casefold() if isinstance(c, str) else c for c in cells],
        dtype=object,
    )


def _scaled(cells: np.ndarray) -> np.ndarray:
    """Numbers in units of their spread; those far out by their logarithm; gaps are 0.

    >>> _scaled(np.array([0.0, 1.0, 2.0, 3.0, np.nan])).round(2)
    array([-1.11, -0.44,  0.44,  1.11,  0.  ])
    """
    gaps = missing_in(cells)
    if cells.dtype.kind == "M":
        cells = cells.astype("datetime64[us]").astype(np.int64)
    numbers = np.where(gaps, np.nan, cells.astype(np.float64))
    numbers[~np.isfinite(numbers)] = np.nan
    if np.isnan(numbers).all():
        return np.zeros(len(numbers))
    low, middle, high = np.nanquantile(numbers, [0.25, 0.5, 0.75])
    scale = max((high - low) / 1.349, _MIN_SPREAD * np.nanstd(numbers)) or 1.0
    scaled: np.ndarray = np.arcsinh((numbers - middle) / scale)
    return np.nan_to_num(scaled)


def find_duplicates(table: RawTable, schema: Schema) -> Duplicates:
    """The duplicates within a table; each row is told once, with the first like it."""
    rows = comparable([table], schema)
    first, _, later, earlier = _equal(rows.exact)
    kept = _take(rows, first)
    pairs = first[_near_pairs(kept, np.ones(len(first), dtype=bool))]
    near = _first_like_it(pairs.max(1), pairs.min(1))
    return _joined((later, earlier), near)


def find_leaks(table: RawTable, remembered: RawTable, schema: Schema) -> Duplicates:
    """The rows of a table that are among the remembered ones, too."""
    rows, n_old = comparable([remembered, table], schema), len(remembered)
    first, of_group, later, earlier = _equal(rows.exact)
    exact = (later >= n_old) & (earlier < n_old)
    kept = _take(rows, first)
    pairs = np.sort(first[_near_pairs(kept, first < n_old)], axis=1)
    ours = (pairs[:, 1] >= n_old) & (pairs[:, 0] < n_old)
    new, old = _first_like_it(pairs[ours, 1], pairs[ours, 0])
    # Whatever equals a row of the table that is near is near as well.
    near = dict(zip(new.tolist(), old.tolist(), strict=True))
    same = np.arange(n_old, n_old + len(table))
    as_first = first[of_group[same]]
    found = np.array([near.get(row, -1) for row in as_first.tolist()], dtype=np.int64)
    near_rows = (same[found >= 0], found[found >= 0])
    all_found = _joined((later[exact], earlier[exact]), near_rows)
    return all_found._replace(rows=all_found.rows - n_old)


def _equal(
    groups: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The first row of each group, the group of each row, and the pairs in groups."""
    _, first, of_group = np.unique(groups, return_index=True, return_inverse=True)
    earlier = first[of_group]
    later = np.flatnonzero(earlier != np.arange(len(groups)))
    return first, of_group, later, earlier[later]


def _take(rows: Comparable, kept: np.ndarray) -> Comparable:
    return Comparable(rows.exact[kept], rows.levels[kept], rows.numbers[kept])


def _first_like_it(
    rows: np.ndarray, others: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Each row once, with the first of the others."""
    order = np.lexsort((others, rows))
    rows, others = rows[order], others[order]
    once = np.ones(len(rows), dtype=bool)
    once[1:] = rows[1:] != rows[:-1]
    return rows[once], others[once]


def _joined(
    exact: tuple[np.ndarray, np.ndarray], near: tuple[np.ndarray, np.ndarray]
) -> Duplicates:
    """Exact and near pairs in the order of the rows; exact ones go first."""
    new = ~np.isin(near[0], exact[0])
    rows = np.concatenate([exact[0], near[0][new]]).astype(np.int64)
    others = np.concatenate([exact[1], near[1][new]]).astype(np.int64)
    is_exact = np.arange(len(rows)) < len(exact[0])
    order = np.lexsort((rows, ~is_exact))
    return Duplicates(rows[order], others[order], is_exact[order])


def _near_pairs(rows: Comparable, known: np.ndarray) -> np.ndarray:
    """Pairs of distinct rows (K, 2) that agree in every cell.

    Candidates are searched in few directions, in which rows are as near as in all
    columns or nearer; so none is missed. `known` (N,) are the rows that tell how far
    apart rows usually are.
    """
    n_rows, n_numbers = rows.numbers.shape
    if n_rows < 2:
        return np.zeros((0, 2), dtype=np.int64)
    points = rows.numbers
    if n_numbers > _N_AXES:
        axes = np.random.RandomState(0).randn(n_numbers, _N_AXES)
        points = points @ np.linalg.qr(axes)[0]
    # A coordinate that keeps rows of other levels apart.
    points = np.column_stack([points, rows.levels.astype(np.float64)])
    tree, tolerance = cKDTree(points), _TOLERANCE
    while tree.count_neighbors(tree, radius := tolerance * max(1, n_numbers) ** 0.5) > (
        _MAX_CANDIDATES * n_rows
    ):
        if tolerance < 1e-9:
            return np.zeros((0, 2), dtype=np.int64)
        tolerance /= 4
    pairs = tree.query_pairs(min(radius, 0.5), output_type="ndarray")
    gaps = np.abs(rows.numbers[pairs[:, 0]] - rows.numbers[pairs[:, 1]])  # (K, P)
    near = (gaps <= tolerance).all(1)
    near &= rows.levels[pairs[:, 0]] == rows.levels[pairs[:, 1]]
    if n_numbers:
        usual = _usual_distance(rows.numbers[known])
        near &= np.sqrt(np.square(gaps).sum(1)) <= _NEARER * usual
    found: np.ndarray = pairs[near]
    return found


def _usual_distance(numbers: np.ndarray) -> float:
    """The median distance of a row to the nearest that differs in its numbers."""
    some = np.random.RandomState(0).permutation(len(numbers))[:_N_SAMPLED]
    nearest = cKDTree(numbers).query(numbers[some], k=min(8, len(numbers)))[0]
    nearest = np.where(nearest > 0, nearest, np.inf).reshape(len(some), -1).min(1)
    nearest = nearest[np.isfinite(nearest)]
    return float(np.median(nearest)) if len(nearest) else np.inf
