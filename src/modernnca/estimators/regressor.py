"""ModernNCARegressor."""

from sklearn.base import RegressorMixin

from modernnca.estimators.estimator import BaseModernNCA


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

    def predict(self, X, groups=None):
        """Predict the number of each row of `X`.

        With `groups`, rows of a query's own group do not vote; see `fit`.
        """
        votes = self._votes(X, groups)
        return self.preparation_.target.decode(votes[:, 0])
