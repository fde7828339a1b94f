"""Drift: what of a new table is distributed otherwise than the remembered rows.

Shapes: M remembered rows, B new rows, R regions.
"""

from typing import NamedTuple

import numpy as np
from scipy.stats import chi2_contingency, ks_2samp

from modernnca.evidence.cell_texts import show_cell
from modernnca.table.read import RawTable, as_levels, missing_in
from modernnca.table.schema import Schema, conform

LEVEL = 0.05  # corrected p-values below count as drift
_MIN_EXPECTED = 5.0  # rows of a level that is compared by itself


class ColumnDrift(NamedTuple):
    """How the distribution of a column differs between two tables."""

    column: str
    test: str  # Kolmogorov-Smirnov or chi-squared
    statistic: float  # of numbers the KS statistic, of levels the total variation
    p_value: float
    before: str  # what it was in the remembered rows
    now: str


def column_drift(
    remembered: RawTable, table: RawTable, schema: Schema
) -> list[ColumnDrift]:
    """The drift of each column, the clearest first.

    Numbers and dates are compared by the test of Kolmogorov and Smirnov, levels by
    chi-squared, and missing cells by chi-squared as well; a column that has both has
    the smaller p-value times two.
    """
    old, new = (conform(each, schema).columns for each in (remembered, table))
    names = [c.name for c in schema.columns if c.kind != "identifier"]
    found = [
        _of_column(name, old[name], new[name])
        for name in names
        if old[name].dtype.kind == new[name].dtype.kind
    ]
    return sorted(found, key=lambda each: (each.p_value, -each.statistic))


def corrected(p_values: np.ndarray) -> np.ndarray:
    """P-values (P,) corrected for their number, by Holm's method.

    >>> corrected(np.array([0.01, 0.04, 0.03])).round(2)
    array([0.03, 0.06, 0.06])
    """
    order = np.argsort(p_values, kind="stable")
    steps = p_values[order] * np.arange(len(p_values), 0, -1)
    result = np.empty(len(p_values))
    result[order] = np.maximum.accumulate(steps).clip(max=1.0)
    return result


def _of_column(name: str, old: np.ndarray, new: np.ndarray) -> ColumnDrift:
    gone_old, gone_new = missing_in(old), missing_in(new)
    p_gaps, share = 1.0, abs(gone_new.mean() - gone_old.mean())
    both = gone_old.any() or gone_new.any()
    if both:
        p_gaps = _chi_squared(gone_old.astype(int), gone_new.astype(int))
    here, there = old[~gone_old], new[~gone_new]
    if not (len(here) and len(there)):
        test, statistic, p_value = "chi-squared", 0.0, 1.0
    elif old.dtype.kind == "O":
        levels = np.concatenate([as_levels(here), as_levels(there)])
        codes = np.unique(levels.astype(str), return_inverse=True)[1]
        first, second = codes[: len(here)], codes[len(here) :]
        test, p_value = "chi-squared", _chi_squared(first, second)
        statistic = _total_variation(first, second)
    else:
        result = ks_2samp(_numbers(here), _numbers(there), method="asymp")
        test, statistic = "Kolmogorov-Smirnov", float(result.statistic)
        p_value = float(result.pvalue)
    if both:
        p_value = min(1.0, 2 * min(p_value, p_gaps))
    statistic = max(statistic, float(share))
    return ColumnDrift(name, test, statistic, p_value, _told(old), _told(new))


def _numbers(cells: np.ndarray) -> np.ndarray:
    if cells.dtype.kind == "M":
        cells = cells.astype("datetime64[us]").astype(np.int64)
    return cells.astype(np.float64)


def _counts(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    n_levels = int(max(first.max(initial=0), second.max(initial=0))) + 1
    return np.stack([np.bincount(part, minlength=n_levels) for part in (first, second)])


def _total_variation(first: np.ndarray, second: np.ndarray) -> float:
    counts = _counts(first, second)
    shares = counts / counts.sum(1, keepdims=True)
    return float(np.abs(shares[0] - shares[1]).sum() / 2)


def _chi_squared(first: np.ndarray, second: np.ndarray) -> float:
    """The p-value that two samples of codes have the same shares; rare ones pooled."""
    counts = _counts(first, second)
    expected = counts.sum(0) * min(len(first), len(second)) / counts.sum()
    rare = expected < _MIN_EXPECTED
    counts = np.column_stack([counts[:, ~rare], counts[:, rare].sum(1)])
    counts = counts[:, counts.sum(0) > 0]
    if counts.shape[1] < 2:
        return 1.0
    return float(chi2_contingency(counts, correction=False).pvalue)


def _told(cells: np.ndarray) -> str:
    """A distribution in a few words."""
    missing = missing_in(cells)
    here, gaps = cells[~missing], f", {missing.mean():.0%} missing"
    if not len(here):
        return "all missing"
    if cells.dtype.kind == "f":
        low, middle, high = map(show_cell, np.quantile(here, [0.25, 0.5, 0.75]))
        text = f"median {middle} ({low} to {high})"
    elif cells.dtype.kind == "M":
        days = np.sort(here).astype("datetime64[D]")
        text = f"{days[0]} to {days[-1]}"
    else:
        levels, counts = np.unique(as_levels(here).astype(str), return_counts=True)
        most = counts.argsort(kind="stable")[::-1][:2]
        parts = [f"{levels[k]} {counts[k] / len(here):.0%}" for k in most]
        more = f" of {len(levels)}" if len(levels) > 2 else ""
        text = ", ".join(parts) + more
    return text + (gaps if missing.any() else "")
