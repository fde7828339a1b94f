"""The methods of a fitted model that show evidence; the work is done in `evidence`."""

from collections.abc import Callable

from modernnca.ensemble.calibration import Calibration
from modernnca.ensemble.ensemble import Ensemble, Neighbors
from modernnca.ensemble.preparation import Preparation
from modernnca.evidence.explanation import Explanation
from modernnca.evidence.leave_one_out import LeaveOneOut, leave_one_out
from modernnca.table.raw_examples import RawExamples


class EvidenceMixin:
    """What a fitted model can tell besides its predictions."""

    ensemble_: Ensemble
    preparation_: Preparation
    calibration_: Calibration
    rows_: RawExamples
    _check_fitted: Callable[[], None]
    _neighbors: Callable[..., Neighbors]

    def explain(self, X, n_neighbors=10):
        """The remembered rows with the largest shares of the vote on each row of `X`.

        Returns an `Explanation` with `indices`, `shares`, `distances`, each (B,
        n_neighbors), and `rest` (B,), the share of all other rows. Over all rows the
        shares, times the targets, are the prediction (before calibration).
        """
        found = self._neighbors(X, n_neighbors, by="share")
        indices, rest = self.rows_.index[found.rows], 1 - found.shares.sum(1)
        return Explanation(indices, found.shares, found.distances, rest.clip(0))

    def loo(self) -> LeaveOneOut:
        """What all other remembered rows say about each of them, without refitting.

        Returns a `LeaveOneOut` with `rows`, `y`, `predictions`, `probabilities` (None
        in regression), `score` (accuracy, or R²) and `score_error`, in the order of the
        table given to `fit`. The distance was learned with these rows, so the score is
        optimistic.
        """
        self._check_fitted()
        index, target = self.rows_.index, self.preparation_.target
        return leave_one_out(self.ensemble_, target, self.calibration_, index)
