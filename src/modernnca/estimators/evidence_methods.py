"""The methods of a fitted model that show evidence; the work is done in `evidence`."""

from collections.abc import Callable
from typing import Any

from modernnca.core.rows import Rows
from modernnca.ensemble.ensemble import Ensemble, Neighbors
from modernnca.ensemble.preparation import Preparation, values_of
from modernnca.evidence.explanation import Explanation
from modernnca.table.raw_examples import RawExamples
from modernnca.table.schema import conform, read_table
from modernnca.table.targets import read_numbers, read_target


class EvidenceMixin:
    """What a fitted model can tell besides its predictions."""

    ensemble_: Ensemble
    preparation_: Preparation
    rows_: RawExamples
    _neighbors: Callable[..., Neighbors]
    _read_queries: Callable[..., Rows]
    _encode: Callable[..., Rows]
    _check_fitted: Callable[[], None]

    def explain(self, X, n_neighbors=10):
        """The remembered rows with the largest shares of the vote on each row of `X`.

        Returns an `Explanation` with `indices`, `shares`, `distances`, each (B,
        n_neighbors), and `rest` (B,), the share of all other rows. Over all rows the
        shares, times the targets, are the prediction (before calibration).
        """
        found = self._neighbors(X, n_neighbors, by="share")
        indices, rest = self.rows_.index[found.rows], 1 - found.shares.sum(1)
        return Explanation(indices, found.shares, found.distances, rest.clip(0))

    def audit(self, X=None, y=None):
        """What is wrong with the remembered rows, and with another table `X`.

        Looks for likely wrong targets, by the leave-one-out votes of the remembered
        rows; duplicates; columns that identify the rows or give the target away; rows
        that are never used. Of `X`, a table to predict or to test on, it tells which
        rows are remembered ones, and what has drifted; with its targets `y` also which
        of them are likely wrong. See docs/audit.md.

        Returns an `Audit`: pandas frames, with `to_html` and `to_csv`.
        """
        # These need pandas, which is not needed to predict.
        from modernnca.evidence.auditing import run_audit
        from modernnca.evidence.frames import import_pandas

        self._check_fitted()
        import_pandas("audit")
        if X is None and y is not None:
            raise ValueError("y was given without X; give the rows of y as X, too.")
        if not self.rows_.table.columns:
            raise ValueError(
                "audit needs the raw rows, but the model was saved without them; save "
                "it with save(path, rows=True), or audit the model before it is saved."
            )
        return run_audit(self._audited(), self._other_table(X, y))

    def _audited(self) -> Any:
        from modernnca.evidence.auditing import Audited
        from modernnca.evidence.influence import leave_one_out_votes

        rows = self._encode(self.rows_.table)
        return Audited(
            self.ensemble_,
            self.preparation_,
            self.rows_.table,
            rows,
            self.rows_.index,
            leave_one_out_votes(self.ensemble_, rows),
        )

    def _other_table(self, X: Any, y: Any) -> Any:
        from modernnca.evidence.auditing import OtherTable

        if X is None:
            return None
        rows = self._read_queries(X)
        names = getattr(self, "feature_names_in_", None)
        table = read_table(X, only=None if names is None else set(names))
        table = conform(table, self.preparation_.preprocessor.schema_)
        values = None
        if y is not None:
            targets, _ = read_numbers(read_target(y), self.rows_.reading)
            if len(targets) != len(table):
                raise ValueError(
                    f"X has {len(table):,} rows, but y has {len(targets):,} targets; "
                    "give one for each row."
                )
            values = values_of(self.preparation_.target, targets)
        return OtherTable(table, rows, values, None)
