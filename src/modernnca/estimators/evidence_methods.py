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

    def audit(self, X=None, y=None, *, n_folds=0):
        """What is wrong with the remembered rows, and with another table `X`.

        Looks for likely wrong targets, by the leave-one-out votes of the remembered
        rows; duplicates; columns that identify the rows or give the target away; rows
        that are never used. Of `X`, a table to predict or to test on, it tells which
        rows are remembered ones, and what has drifted; with its targets `y` also which
        of them are likely wrong. See docs/audit.md.

        With `n_folds`, wrong targets are looked for by the votes of models that were
        fitted without the row, too: so many fits of the preset "fast". This finds more
        where targets are noisy, and a network can learn wrong ones by heart.

        Returns an `Audit`: pandas frames, with `to_html` and `to_csv`.
        """
        from modernnca.estimators.audited_model import audit_model

        return audit_model(self, X, y, n_folds)

    def map(self, X=None, color="target"):
        """The embedding of the remembered rows in two dimensions; see docs/map.md.

        By t-SNE if openTSNE is installed (`modernnca[map]`), else by its two principal
        components.

        Args:
            X: new rows, to be placed on the map.
            color: target, prediction, error, uncertainty, or the name of a column.

        Returns a `Map` with `coordinates` (M, 2), `new` (B, 2) and `prototypes`;
        `plot`, `to_html`, and a view in notebooks. The order is that of `fit`.
        """
        from modernnca.estimators.audited_model import map_model

        return map_model(self, X, color)
