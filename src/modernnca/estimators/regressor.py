"""ModernNCARegressor."""

import numpy as np
from sklearn.base import RegressorMixin

from modernnca.estimators.estimator import BaseModernNCA
from modernnca.evidence.conformal import check_coverage, intervals, quantiles
from modernnca.evidence.distribution import PredictiveDistribution, check_levels
from modernnca.evidence.uncertainty import known
from modernnca.table.targets import RegressionTarget


class ModernNCARegressor(RegressorMixin, BaseModernNCA):
    """Predict a number for each row of a table by a vote of the training rows near it.

    The arguments are those of `ModernNCAClassifier`. Targets are standardized inside;
    predictions come in their own units.

    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = ModernNCARegressor(max_epochs=5, random_state=0).fit(X, y)
    >>> model.predict(X[:2]).shape, bool(model.score(X, y) > 0.3)
    ((2,), True)
    """

    _task = "regression"

    def predict(self, X, groups=None, abstain=None):
        """Predict the number of each row of `X`.

        With `groups`, rows of a query's own group do not vote; see `fit`. With
        `abstain`, a number between 0 and 1, the predictions are a numpy masked array:
        rows of an `ood_score` below it are masked.
        """
        votes = self._votes(X, groups)
        found = self.preparation_.target.decode(votes[:, 0])
        return self._abstaining(found, X, abstain)

    def predict_interval(self, X, coverage=0.9, by=None) -> np.ndarray:
        """An interval (B, 2) for each row that holds the target with this probability.

        Split-conformal: of held-out rows like the new ones, at least this share would
        be covered. The intervals are wider where the neighbors' targets, or the
        members, differ more. Held-out rows were predicted before the final model
        learned them too; that is mostly a little better, so the share is mostly a
        little higher (docs/uncertainty.md).

        Args:
            X: the rows.
            coverage: the probability.
            by: a column; each of its values with enough held-out rows is calibrated by
                itself, so that the coverage holds for each.
        """
        self._check_fitted()
        check_coverage(coverage)
        held_out, parts = known(self.held_out_), self._parts(X, by)
        votes, spread = self._combined(X)
        found = intervals(held_out, votes[:, 0], spread, coverage, parts)
        return self._decoded(found)

    def predict_quantiles(self, X, q, calibrated=True) -> np.ndarray:
        """Quantiles of the target, (B,) for a number `q` and (B, K) for K of them.

        They come from the errors on held-out rows, relative to what was expected of
        them; with calibrated=False, from the neighbors' targets, as
        `predict_distribution` has them.
        """
        self._check_fitted()
        levels = check_levels(q)
        if not calibrated:
            return self.predict_distribution(X).quantile(q)
        votes, spread = self._combined(X)
        asked = np.atleast_1d(levels).tolist()
        found = quantiles(known(self.held_out_), votes[:, 0], spread, asked)
        return self._decoded(found)[:, 0] if levels.ndim == 0 else self._decoded(found)

    def predict_distribution(self, X) -> PredictiveDistribution:
        """The neighbors' targets by their shares of the vote, as a distribution.

        Its `mean` is the prediction; it has `std`, `cdf`, `pdf`, `quantile`, `sample`
        and `crps`. It is not calibrated: `predict_quantiles` is.
        """
        queries, target = self._read_queries(X), self.preparation_.target
        assert isinstance(target, RegressionTarget)
        return PredictiveDistribution(self.ensemble_, queries, target)

    def _decoded(self, standardized: np.ndarray) -> np.ndarray:
        decoded = self.preparation_.target.decode(standardized.ravel())
        return decoded.reshape(standardized.shape)
