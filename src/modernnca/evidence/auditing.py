"""Run an audit: every part of it on a fitted ensemble and its remembered rows.

Votes and p-values come in as arrays, so that anyone may make them otherwise.

Shapes: M remembered rows, B rows of another table, V numbers in a vote.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from scipy.spatial import cKDTree

from modernnca.core.rows import Rows
from modernnca.ensemble.ensemble import Ensemble
from modernnca.ensemble.preparation import Preparation
from modernnca.evidence.audit_result import Audit
from modernnca.evidence.column_faults import find_column_faults
from modernnca.evidence.drift import LEVEL, column_drift, corrected
from modernnca.evidence.duplicates import (
    Duplicates,
    comparable,
    find_duplicates,
    find_leaks,
)
from modernnca.evidence.frames import frame
from modernnca.evidence.influence import UNUSED, influence
from modernnca.evidence.regions import (
    Regions,
    embedded_points,
    find_regions,
    name_regions,
    remembered_points,
)
from modernnca.evidence.wrong_targets import (
    Suspicion,
    suspicious_labels,
    suspicious_numbers,
)
from modernnca.table.read import RawTable
from modernnca.table.targets import ClassificationTarget

_N_REGIONS = 8
_N_VOTERS = 5
_MAX_TOLD = 500  # rows whose voters are told
_CONFLICT = 0.1  # standard deviations between the numbers of duplicates
_UNLIKE = 0.05  # p-values below are unlike the memory
_POORER = 2.0  # times the usual error: a region that the model does not know


@dataclass(frozen=True)
class Audited:
    """The remembered rows as an audit needs them."""

    ensemble: Ensemble
    preparation: Preparation
    table: RawTable  # (M)
    rows: Rows  # (M) the same, encoded
    index: np.ndarray  # (M,) row numbers in the table given to `fit`
    votes: np.ndarray  # (M, V) of the other rows on each
    spread: np.ndarray | None = None  # (M,) how much these differ, in regression

    @property
    def classification(self) -> bool:
        """Whether targets are classes."""
        return isinstance(self.preparation.target, ClassificationTarget)

    @property
    def values(self) -> np.ndarray:
        """What the remembered rows vote for, (M, V)."""
        held: np.ndarray = self.ensemble.remembered.values.double().cpu().numpy()
        return held

    def decode(self, values: np.ndarray) -> np.ndarray:
        """Targets as the user gave them, of values (N, V), (N,)."""
        if self.classification:
            return self.preparation.target.decode(values.argmax(1))
        numbers = self.preparation.target.decode(values[:, 0])
        # Remembered in float32; the digits beyond are none of the user's.
        return np.array([float(f"{number:.7g}") for number in numbers])


class OtherTable:
    """Another table, encoded, with what is known of its rows."""

    def __init__(
        self,
        table: RawTable,
        rows: Rows,
        values: np.ndarray | None,
        p_values: np.ndarray | None,
    ) -> None:
        self.table, self.rows = table, rows
        self.values = values  # (B, V) their targets
        self.p_values = p_values  # (B,) that a row is like the remembered ones


def run_audit(of: Audited, other: OtherTable | None = None) -> Audit:
    """All parts of an audit."""
    points = remembered_points(of.ensemble)
    regions = find_regions(points, _N_REGIONS)
    suspicion = _suspicion(of, of.values, of.votes, of.spread)
    placed, p_values = None, None
    if other is not None:
        placed = embedded_points(of.ensemble, other.rows)
        p_values = other.p_values
        if p_values is None:
            p_values = _like_in_both(of, other, points, placed)
    return Audit(
        labels=_labels_frame(of, of.rows, of.values, of.index, suspicion),
        duplicates=_duplicates_frame(of),
        leaks=_leaks_frame(of, other),
        columns=_column_faults(of),
        drift=_drift_frame(of, other),
        regions=_regions_frame(of, regions, suspicion, placed, p_values),
        influence=_influence_frame(of),
        unlike=_unlike_frame(regions, of, placed, p_values),
        new_labels=_new_labels_frame(of, other),
        n_rows=len(of.index),
        n_new=None if other is None else len(other.table),
        classification=of.classification,
    )


def _like_in_both(
    of: Audited, other: OtherTable, points: np.ndarray, placed: np.ndarray
) -> np.ndarray:
    """The p-value that a row is like the remembered ones, by its cells as well.

    An embedding may not tell values apart that are beyond those of training.
    """
    schema, n_rows = of.preparation.preprocessor.schema_, len(of.table)
    cells = comparable([of.table, other.table], schema).numbers
    found = likeness(points, placed)
    if cells.shape[1]:
        by_cells = likeness(cells[:n_rows], cells[n_rows:])
        found = (2 * np.minimum(found, by_cells)).clip(max=1.0)
    return found


def likeness(points: np.ndarray, others: np.ndarray, k: int = 5) -> np.ndarray:
    """The p-value that each of the others (B, D) is like the points (M, D).

    It is the share of points that are at least as far from their neighbors.
    """
    tree, k = cKDTree(points), min(k, len(points) - 1)
    some = np.random.RandomState(0).permutation(len(points))[:2000]
    usual = np.sort(tree.query(points[some], k=k + 1)[0][:, -1])
    far = tree.query(others, k=[k])[0][:, -1]
    above = len(usual) - np.searchsorted(usual, far * (1 - 1e-9), side="left")
    p_values: np.ndarray = (above + 1) / (len(usual) + 1)
    return p_values


def _suspicion(
    of: Audited,
    values: np.ndarray,
    votes: np.ndarray,
    spread: np.ndarray | None = None,
) -> Suspicion:
    if of.classification:
        return suspicious_labels(values.argmax(1), votes)
    return suspicious_numbers(values[:, 0], votes[:, 0], spread)


def _labels_frame(
    of: Audited,
    rows: Rows,
    values: np.ndarray,
    index: np.ndarray,
    found: Suspicion,
    *,
    remembered: bool = True,
) -> Any:
    order = np.argsort(-found.suspicion, kind="stable")
    told = order[: min(_MAX_TOLD, max(20, int(found.likely.sum())))]
    voters = np.full(len(order), "", dtype=object)
    voters[told] = _voters(of, rows, told, remembered=remembered)
    if of.classification:
        suggested = of.preparation.target.decode(found.suggested)
    else:
        suggested = of.decode(found.suggested[:, None])
    evidence = "probability" if of.classification else "residual"
    columns = {
        "row": index,
        "given": of.decode(values),
        "suggested": suggested,
        evidence: found.evidence,
        "suspicion": found.suspicion,
        "likely": found.likely,
        "voters": voters,
    }
    return frame({name: cells[order] for name, cells in columns.items()})


def _voters(
    of: Audited, rows: Rows, some: np.ndarray, *, remembered: bool
) -> list[str]:
    """The other rows with the largest shares of the vote on each of some rows."""
    k = min(_N_VOTERS + 1, len(of.index))
    found = of.ensemble.neighbors(
        rows.take(torch.from_numpy(some).to(rows.device)), k, by="share"
    ).rows
    told = []
    for own, each in zip(some, found, strict=True):
        kept = [row for row in each if not (remembered and row == own)]
        told.append(", ".join(str(of.index[row]) for row in kept[:_N_VOTERS]))
    return told


def _new_labels_frame(of: Audited, other: OtherTable | None) -> Any:
    if other is None or other.values is None:
        none = _suspicion(of, of.values[:2], of.votes[:2])
        whole = _labels_frame(of, of.rows, of.values[:2], of.index[:2], none)
        return whole.iloc[:0]
    votes = of.ensemble.vote(other.rows)
    found = _suspicion(of, other.values, votes)
    index = np.arange(len(other.table))
    return _labels_frame(of, other.rows, other.values, index, found, remembered=False)


def _conflict(of: Audited, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Whether the values (K, V) of two rows are different targets."""
    if of.classification:
        return first.argmax(1) != second.argmax(1)
    conflict: np.ndarray = np.abs(first - second)[:, 0] > _CONFLICT
    return conflict


def _kinds(found: Duplicates) -> np.ndarray:
    return np.where(found.exact, "exact", "near").astype(object)


def _duplicates_frame(of: Audited) -> Any:
    schema = of.preparation.preprocessor.schema_
    order = np.argsort(of.index, kind="stable")  # the first row is the original
    found = find_duplicates(of.table.take(order), schema)
    index, values = of.index[order], of.values[order]
    return frame(
        {
            "row": index[found.rows],
            "other": index[found.others],
            "kind": _kinds(found),
            "conflict": _conflict(of, values[found.rows], values[found.others]),
            "target": of.decode(values[found.rows]),
            "other_target": of.decode(values[found.others]),
        }
    )


def _leaks_frame(of: Audited, other: OtherTable | None) -> Any:
    none = np.zeros(0, dtype=np.int64)
    found = Duplicates(none, none, none.astype(bool))
    if other is not None:
        schema = of.preparation.preprocessor.schema_
        found = find_leaks(other.table, of.table, schema)
    columns: dict[str, Any] = {
        "row": found.rows,
        "other": of.index[found.others],
        "kind": _kinds(found),
    }
    if other is not None and other.values is not None:
        ours, theirs = other.values[found.rows], of.values[found.others]
        columns["conflict"] = _conflict(of, ours, theirs)
    return frame(columns)


def _column_faults(of: Audited) -> Any:
    schema = of.preparation.preprocessor.schema_
    y = of.values.argmax(1) if of.classification else of.values[:, 0]
    faults = find_column_faults(of.table, schema, y, classification=of.classification)
    names = ("column", "problem", "score", "text")
    return frame({name: [getattr(f, name) for f in faults] for name in names})


def _drift_frame(of: Audited, other: OtherTable | None) -> Any:
    found = []
    if other is not None:
        schema = of.preparation.preprocessor.schema_
        found = column_drift(of.table, other.table, schema)
    p_values = np.array([each.p_value for each in found])
    adjusted = corrected(p_values)
    return frame(
        {
            "column": [each.column for each in found],
            "test": [each.test for each in found],
            "statistic": [each.statistic for each in found],
            "p_value": p_values,
            "p_corrected": adjusted,
            "drifted": adjusted < LEVEL,
            "before": [each.before for each in found],
            "now": [each.now for each in found],
        }
    )


def _regions_frame(
    of: Audited,
    regions: Regions,
    suspicion: Suspicion,
    placed: np.ndarray | None,
    p_values: np.ndarray | None,
) -> Any:
    """Each region: where it is, how many rows it has, how well the model knows it."""
    schema, n_regions = of.preparation.preprocessor.schema_, len(regions.centers)
    wrong = suspicion.suggested != of.values.argmax(1)
    errors = wrong if of.classification else np.abs(suspicion.evidence)
    counts = np.bincount(regions.of_rows, minlength=n_regions)
    mean_error = np.bincount(regions.of_rows, errors, n_regions) / counts.clip(min=1)
    columns: dict[str, Any] = {
        "region": np.arange(n_regions),
        "name": name_regions(of.table, schema, regions.of_rows),
        "prototype": of.index[regions.prototypes],
        "rows": counts,
        "error": mean_error,
        "share": counts / counts.sum(),
        "new_share": np.full(n_regions, np.nan),
        "unlike": np.full(n_regions, np.nan),
    }
    if placed is not None and p_values is not None and len(placed):
        of_new = regions.find(placed)
        n_new = np.bincount(of_new, minlength=n_regions)
        n_unlike = np.bincount(of_new, p_values < _UNLIKE, n_regions)
        columns["new_share"] = n_new / n_new.sum()
        columns["unlike"] = np.where(n_new > 0, n_unlike / n_new.clip(min=1), np.nan)
    usual = float(np.mean(errors))
    strange = np.nan_to_num(columns["unlike"]) > 2 * _UNLIKE
    columns["unknown"] = (mean_error > _POORER * usual) | strange
    order = np.lexsort((-mean_error, ~columns["unknown"]))
    return frame({name: np.asarray(cells)[order] for name, cells in columns.items()})


def _unlike_frame(
    regions: Regions,
    of: Audited,
    placed: np.ndarray | None,
    p_values: np.ndarray | None,
) -> Any:
    if placed is None or p_values is None:
        placed, p_values = np.zeros((0, regions.centers.shape[1])), np.zeros(0)
    rows = np.flatnonzero(p_values < _UNLIKE)
    rows = rows[np.argsort(p_values[rows], kind="stable")]
    return frame(
        {"row": rows, "p_value": p_values[rows], "region": regions.find(placed[rows])}
    )


def _influence_frame(of: Audited) -> Any:
    found = influence(of.ensemble, of.rows, classification=of.classification)
    order = np.argsort(-found.share, kind="stable")
    columns = {
        "row": of.index,
        "share": found.share,
        "support": found.support,
        "unused": found.share < UNUSED,
    }
    return frame({name: cells[order] for name, cells in columns.items()})
