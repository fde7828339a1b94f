"""Leave-one-out votes: what all other remembered rows say about each of them.

Nothing is refitted. No row votes on itself, in any member, and the votes are combined
and calibrated as in prediction. The embedding was learned with the row, so the votes of
a trained network are optimistic.
"""

from dataclasses import dataclass

import numpy as np
import torch

from modernnca.ensemble.calibration import Calibration
from modernnca.ensemble.ensemble import Ensemble
from modernnca.evidence.score_error import Score, accuracy_score, r2_score
from modernnca.table.targets import ClassificationTarget, RegressionTarget

_N_ROWS = 8192  # combined at a time


@dataclass(frozen=True)
class LeaveOneOut:
    """The votes of all other rows on each remembered row, in the order of `fit`."""

    rows: np.ndarray  # (N,) row numbers of the table given to `fit`
    y: np.ndarray  # (N,) their targets
    predictions: np.ndarray  # (N,)
    probabilities: np.ndarray | None  # (N, classes); None in regression
    score: float  # accuracy, or R² in regression
    score_error: float  # its standard error
    optimism: float | None = None  # how far the score is above the expected one

    def __repr__(self) -> str:
        score = Score(self.score, self.score_error, len(self.y))
        return f"LeaveOneOut({score} on {len(self.y):,} rows)"


def leave_one_out(
    ensemble: Ensemble,
    target: ClassificationTarget | RegressionTarget,
    calibration: Calibration,
    index: np.ndarray,
    expected: Score | None = None,
) -> LeaveOneOut:
    """Leave each remembered row out of the vote on itself.

    Args:
        ensemble: what votes.
        target: what decodes votes.
        calibration: of class probabilities.
        index: (M,) row numbers of the remembered rows, by which they are ordered.
        expected: the score of honest votes.
    """
    order = np.argsort(index, kind="stable")
    votes = votes_without_self(ensemble)[order]  # (N, V)
    values = ensemble.remembered.values.cpu().numpy()[order]
    if isinstance(target, ClassificationTarget):
        codes, predicted = values.argmax(1), votes.argmax(1)
        score = accuracy_score(predicted == codes)
        y, predictions = target.decode(codes), target.decode(predicted)
        probabilities = calibration(votes)
    else:
        y, predictions = target.decode(values[:, 0]), target.decode(votes[:, 0])
        score, probabilities = r2_score(y, predictions), None
    optimism = None if expected is None else score.value - expected.value
    return LeaveOneOut(
        index[order], y, predictions, probabilities, score.value, score.error, optimism
    )


def votes_without_self(
    ensemble: Ensemble, rows: np.ndarray | None = None
) -> np.ndarray:
    """The combined vote (M, V) of all other rows on each remembered row, or on some."""
    n_rows = len(ensemble.remembered.values)
    if n_rows < 2:
        raise ValueError(
            f"Leave-one-out needs at least 2 remembered rows; the model has {n_rows}."
        )
    asked, votes = None, []
    if rows is not None:
        asked = torch.from_numpy(rows).to(ensemble.remembered.values.device)
    for member in ensemble.members:
        with torch.inference_mode():
            found = member.leave_one_out(asked)
        if found is None:
            raise ValueError(
                f"A member of kind {member.kind!r} cannot leave a row out of its "
                "vote; give it a method `leave_one_out`, or fit without it."
            )
        votes.append(found.mean)
    parts = zip(*(each.split(_N_ROWS) for each in votes), strict=True)
    return np.concatenate(
        [ensemble.combine(torch.stack(p).double().cpu().numpy()) for p in parts]
    )
