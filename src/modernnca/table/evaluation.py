"""The score and the loss of votes for rows whose targets are known."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from modernnca.table.metrics import METRICS, log_loss
from modernnca.table.targets import ClassificationTarget, RegressionTarget

Result = tuple[float, float]  # a score (higher is better) and a loss (lower is better)


def better_result(new: Result, old: Result) -> bool:
    """Whether a score is higher, or the same at a lower loss; NaN is the worst.

    >>> better_result((0.9, 0.3), (0.9, 0.4)), better_result((0.1, 1.0), (math.nan, 0))
    (True, True)
    """
    return _key(new) > _key(old)


def _key(result: Result) -> tuple[float, float]:
    score, loss = result
    return (
        -math.inf if math.isnan(score) else score,
        -math.inf if math.isnan(loss) else -loss,
    )


@dataclass(frozen=True)
class Evaluator:
    """Evaluates votes (B, V) for some rows by a metric.

    >>> target = RegressionTarget().fit([10.0, 30.0])
    >>> evaluator = Evaluator(np.array([10.0, 30.0]), None, target, "mae")
    >>> evaluator(np.array([[0.0], [1.0]]))  # votes are standardized
    (-5.0, 0.5)
    """

    y: np.ndarray  # (B,) as the user gave it
    weights: np.ndarray | None  # (B,)
    target: ClassificationTarget | RegressionTarget
    metric: str | Callable

    def take(self, rows: np.ndarray) -> "Evaluator":
        """The same for some of the rows."""
        weights = None if self.weights is None else self.weights[rows]
        return replace(self, y=self.y[rows], weights=weights)

    def of(self, y: np.ndarray, weights: np.ndarray | None) -> "Evaluator":
        """The same for other rows."""
        return replace(self, y=y, weights=weights)

    def loss(self, votes: np.ndarray) -> float:
        """The log loss, or the squared error, of votes (B, V)."""
        truth, weights = self.target.encode(self.y), self.weights
        if isinstance(self.target, ClassificationTarget):
            return -log_loss(truth, votes, weights)
        return float(np.average((votes[:, 0] - truth) ** 2, weights=weights))

    def __call__(self, votes: np.ndarray) -> Result:
        """The score of the metric, and the log loss or the squared error."""
        loss, weights = self.loss(votes), self.weights
        if isinstance(self.target, ClassificationTarget):
            known, prediction = self.target.encode(self.y), votes
        else:
            known = self.y if callable(self.metric) else self.y.astype(np.float64)
            prediction = self.target.decode(votes[:, 0])
        if callable(self.metric):
            return float(self.metric(self.y, prediction)), loss
        return METRICS[self.metric].score(known, prediction, weights), loss
