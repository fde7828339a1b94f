"""What held-out rows say about a fitted model: its expected score, and new queries."""

from typing import Any, NamedTuple

import numpy as np

from modernnca.core.rows import Rows
from modernnca.ensemble.calibration import Calibration
from modernnca.ensemble.ensemble import Ensemble
from modernnca.ensemble.held_out import HeldOut
from modernnca.ensemble.moments import Uncertainty, moments, spread_of
from modernnca.evidence.conformal import Groups
from modernnca.evidence.score_error import Score, accuracy_score, r2_score
from modernnca.table.raw_examples import RawExamples
from modernnca.table.schema import RawTable

_LACKING = (
    "This model has no held-out rows: it was fitted without validation rows, or in too "
    "little time, or saved by an earlier version. Fit it with validation rows "
    "(validation_fraction above 0), or call calibrate_on(X, y) with rows that it has "
    "not seen."
)


class Combined(NamedTuple):
    """The combined votes on queries, and how unsure they are."""

    votes: np.ndarray  # (B, V)
    spread: Uncertainty


def combined_votes(ensemble: Ensemble, queries: Rows) -> Combined:
    """The combined votes on queries, in one pass over the remembered rows."""
    found = moments(ensemble, queries)
    return Combined(ensemble.combine(found.votes), spread_of(found, ensemble.combine))


def known(held_out: HeldOut | None) -> HeldOut:
    """The held-out rows; raise if there are none."""
    if held_out is None or not len(held_out):
        raise ValueError(_LACKING)
    return held_out


def expected_score(held_out: HeldOut) -> Score:
    """The score of the votes on held-out rows: accuracy, or R²."""
    if held_out.votes.shape[1] > 1:
        return accuracy_score(held_out.votes.argmax(1) == held_out.truth)
    return r2_score(held_out.truth, held_out.votes[:, 0])


def held_out_from(
    ensemble: Ensemble,
    calibration: Calibration,
    queries: Rows,
    truth: np.ndarray,
    first: int,
) -> HeldOut:
    """Rows that the model has not seen, with its votes.

    Args:
        truth: (H,) codes of classes, or standardized targets.
        first: the row number of the first of them.
    """
    votes, spread = combined_votes(ensemble, queries)
    if votes.shape[1] > 1:
        votes = calibration(votes).clip(0, 1)
    index = first + np.arange(len(truth))
    return HeldOut(index, truth.astype(np.float64), votes, *spread)


def groups_by(
    column: Any, held_out: HeldOut, remembered: RawExamples, queries: RawTable
) -> Groups:
    """The cells of a column, for the held-out rows and for the queries."""
    if column not in queries.columns:
        names = ", ".join(map(repr, queries.columns))
        raise ValueError(f"by must be a column of the table: {names}; got {column!r}.")
    place = {number: row for row, number in enumerate(remembered.index.tolist())}
    rows = [place.get(number, -1) for number in held_out.index.tolist()]
    if not remembered.table.columns or -1 in rows:
        raise ValueError(
            "by needs the raw cells of the held-out rows, but the model does not hold "
            "them; fit it with refit='remember' or 'full', and save it with rows=True."
        )
    cells = remembered.table.columns[column][np.array(rows)]
    return cells.astype(str), queries.columns[column].astype(str)
