"""The methods of a fitted model that show evidence; the work is done in `evidence`."""

from collections.abc import Callable
from typing import Any

import numpy as np

from modernnca.core.rows import Rows
from modernnca.ensemble.calibration import Calibration
from modernnca.ensemble.ensemble import Ensemble
from modernnca.ensemble.held_out import HeldOut
from modernnca.ensemble.preparation import Preparation
from modernnca.evidence.conformal import Groups
from modernnca.evidence.explainer import Explainer
from modernnca.evidence.explanation import explain
from modernnca.evidence.leave_one_out import LeaveOneOut, leave_one_out
from modernnca.evidence.score_error import Score
from modernnca.evidence.uncertainty import (
    Combined,
    combined_votes,
    expected_score,
    groups_by,
    held_out_from,
    known,
)
from modernnca.evidence.unlikeness import p_values
from modernnca.table.raw_examples import RawExamples
from modernnca.table.schema import RawTable, conform, read_table


class EvidenceMixin:
    """What a fitted model can tell besides its predictions."""

    ensemble_: Ensemble
    preparation_: Preparation
    calibration_: Calibration
    held_out_: HeldOut | None
    rows_: RawExamples
    _check_fitted: Callable[[], None]
    _check_n_neighbors: Callable[[Any, int], None]
    _read_table: Callable[[Any], RawTable]
    _read_queries: Callable[..., Rows]
    _encode_queries: Callable[[RawTable, Any], Rows]
    _encode: Callable[[RawTable], Rows]

    def explain(self, X, n_neighbors=10, groups=None):
        """The remembered rows with the largest shares of the vote on each row of `X`.

        Returns an `Explanation` with `indices`, `shares`, `distances`, each (B,
        n_neighbors), and `rest` (B,), the share of all other rows. Over all rows the
        shares, times the targets, are the prediction (before calibration). It also
        tells which columns made the neighbors near, and which rows disagree. With
        `groups`, rows of a query's own group do not vote; see `fit`.

        >>> from modernnca import ModernNCAClassifier
        >>> model = ModernNCAClassifier(max_epochs=1, random_state=0)
        >>> model = model.fit([[0], [1], [8], [9]] * 5, [0, 0, 1, 1] * 5)
        >>> found = model.explain([[2]], n_neighbors=3)
        >>> found.shares.shape, found.columns.shape
        ((1, 3), (1, 3, 1))
        """
        table = self._read_table(X)
        query = self._encode_queries(table, groups)
        self._check_n_neighbors(n_neighbors, len(self.rows_.index))
        explainer = Explainer(
            self.ensemble_, self.preparation_, self.rows_, query, table
        )
        return explain(explainer, n_neighbors)

    def loo(self) -> LeaveOneOut:
        """What all other remembered rows say about each of them, without refitting.

        Returns a `LeaveOneOut` with `rows`, `y`, `predictions`, `probabilities` (None
        in regression), `score` (accuracy, or R²) and `score_error`, in the order of the
        table given to `fit`. The distance was learned with these rows, so the score is
        optimistic, by `optimism`; `expected_score_` is not.
        """
        self._check_fitted()
        index, target = self.rows_.index, self.preparation_.target
        expected = self.expected_score_
        return leave_one_out(self.ensemble_, target, self.calibration_, index, expected)

    @property
    def expected_score_(self) -> Score | None:
        """What `score` (accuracy, or R²) to expect on new rows, with a standard error.

        It is the score on the validation rows, before anything was learned from them,
        by members that were combined without them. None if no rows were held out.
        """
        self._check_fitted()
        return None if self.held_out_ is None else expected_score(self.held_out_)

    def calibrate_on(self, X, y):
        """Take rows that the model has not seen as its held-out rows from now on.

        Expected scores, intervals and sets are then about this very model, so that
        their promises hold exactly for rows like these.
        """
        queries = self._read_queries(X)
        truth = self.preparation_.target.encode(y)
        if len(truth) != queries.n_rows:
            raise ValueError(
                f"X has {queries.n_rows:,} rows, but y has {len(truth):,} targets; "
                "give as many."
            )
        first = int(self.rows_.index.max()) + 1
        self.held_out_ = held_out_from(
            self.ensemble_, self.calibration_, queries, truth, first
        )
        return self

    def ood_score(self, X) -> np.ndarray:
        """How like the training rows each row of `X` is: a p-value (B,).

        It is the share of remembered rows that are as far from their nearest others, in
        the columns of the table: about uniform on rows like the training rows, and near
        0 on rows unlike them all.
        """
        queries = self._read_queries(X)
        if not self.rows_.table.columns:
            raise ValueError(
                "ood_score needs the raw rows, but the model was saved without them; "
                "save it with rows=True."
            )
        remembered = self._encode(self.rows_.table)
        return p_values(remembered, queries, self.preparation_.shape)

    def audit(self, X=None, y=None, *, n_folds=0):
        """What is wrong with the remembered rows, and with another table `X`.

        Looks for likely wrong targets, by the leave-one-out votes of the remembered
        rows; duplicates; columns that identify the rows or give the target away; rows
        that are never used. Of `X`, a table to predict or to test on, it tells which
        rows are remembered ones, and what has drifted; with its targets `y` also which
        of them are likely wrong. See docs/audit.md.

        With `n_folds`, wrong targets are looked for by the votes of models that were
        fitted without the row, too: so many fits of the preset "fast". Where that was
        measured it found fewer; see docs/audit.md.

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

    def _combined(self, X: Any) -> Combined:
        """The combined votes on rows, and how unsure they are."""
        return combined_votes(self.ensemble_, self._read_queries(X))

    def _parts(self, X: Any, by: Any) -> Groups | None:
        """The groups of the held-out rows and of `X`, by a column."""
        if by is None:
            return None
        schema = self.preparation_.preprocessor.schema_
        table: RawTable = conform(read_table(X), schema)
        return groups_by(by, known(self.held_out_), self.rows_, table)

    def _abstaining(self, predictions: np.ndarray, X: Any, abstain: Any) -> np.ndarray:
        """The predictions, masked where a row is too unlike the training rows."""
        if abstain is None:
            return predictions
        number = isinstance(abstain, int | float | np.number)
        if not number or not 0 < abstain < 1:
            raise ValueError(
                "abstain must be between 0 and 1, the least ood_score of a row that is "
                f"predicted; got {abstain!r}."
            )
        return np.ma.masked_array(predictions, mask=self.ood_score(X) < abstain)
