"""The number target."""

import numpy as np
import torch
from sklearn.base import RegressorMixin
from torch import Tensor

from modernnca.estimators.base import BaseModernNCA
from modernnca.estimators.learning import Judge
from modernnca.estimators.parts import Part
from modernnca.estimators.settings import Settings, Task
from modernnca.table.metrics import METRICS
from modernnca.table.targets import NumberTarget


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

    _task = "numbers"
    _learns_from: Task = "numbers"
    _target_type = NumberTarget

    def predict(self, X):
        """Predict the number of each row of `X`."""
        votes = self._votes(X)
        return self.target_.decode(votes[:, 0])

    def _resolve(self, n_rows: int = 0) -> Settings:
        if self.class_weight is not None:
            raise ValueError(
                f"class_weight is for classes; leave it at None for regression "
                f"(got {self.class_weight!r}) or use sample_weight."
            )
        return super()._resolve(n_rows)

    def _values(self, y: np.ndarray) -> Tensor:
        return torch.from_numpy(self.target_.encode(y)).float()[:, None]

    def _judge(self, part: Part) -> Judge:
        values = self.target_.encode(part.y)
        metric, decode = self.settings_.stopping_metric, self.target_.decode

        def judge(votes: Tensor) -> tuple[float, float]:
            prediction = votes[:, 0].double().cpu().numpy()
            if callable(metric):
                score = float(metric(part.y, decode(prediction)))
            else:
                y = part.y.astype(np.float64)
                score = METRICS[str(metric)].score(y, decode(prediction), part.weights)
            errors = (prediction - values) ** 2
            return score, float(np.average(errors, weights=part.weights))

        return judge
