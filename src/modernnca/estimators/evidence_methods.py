"""The methods of a fitted model that show evidence; the work is done in `evidence`."""

from collections.abc import Callable

from modernnca.ensemble.ensemble import Ensemble
from modernnca.ensemble.neighbors import Neighbors
from modernnca.ensemble.preparation import Preparation
from modernnca.evidence.explanation import Explanation
from modernnca.table.raw_examples import RawExamples


class EvidenceMixin:
    """What a fitted model can tell besides its predictions."""

    ensemble_: Ensemble
    preparation_: Preparation
    rows_: RawExamples
    _neighbors: Callable[..., Neighbors]

    def explain(self, X, n_neighbors=10, groups=None):
        """The remembered rows with the largest shares of the vote on each row of `X`.

        Returns an `Explanation` with `indices`, `shares`, `distances`, each (B,
        n_neighbors), and `rest` (B,), the share of all other rows. Over all rows the
        shares, times the targets, are the prediction (before calibration).
        """
        found = self._neighbors(X, n_neighbors, by="share", groups=groups)
        indices, rest = self.rows_.index[found.rows], 1 - found.shares.sum(1)
        return Explanation(indices, found.shares, found.distances, rest.clip(0))
