"""The methods of a fitted model that show evidence; the work is done in `evidence`."""

from collections.abc import Callable
from typing import Any

from modernnca.core.rows import Rows
from modernnca.ensemble.ensemble import Ensemble
from modernnca.ensemble.preparation import Preparation
from modernnca.evidence.explainer import Explainer
from modernnca.evidence.explanation import explain
from modernnca.table.raw_examples import RawExamples
from modernnca.table.read import RawTable


class EvidenceMixin:
    """What a fitted model can tell besides its predictions."""

    ensemble_: Ensemble
    preparation_: Preparation
    rows_: RawExamples
    _read_table: Callable[[Any], RawTable]
    _encode_queries: Callable[[RawTable, Any], Rows]
    _check_n_neighbors: Callable[[Any, int], None]

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
