"""How large an error is to be expected of a prediction, learned from held-out rows."""

from dataclasses import dataclass

import numpy as np

from modernnca.ensemble.moments import Uncertainty

_MIN_ERROR = 0.02  # in units of the mean error: a smaller one has no useful logarithm
_MIN_SPREAD = 0.03  # of the mean spread
_RIDGE = 5.0  # rows that say "no difference"
_MIN_ROWS = 40  # with fewer, all errors are expected to be alike
_N_FOLDS = 5
_BOUND = 4.0  # a query is not expected to be off by more times the worst held-out row


@dataclass(frozen=True)
class ErrorScale:
    """The expected size of an error, log-linear in what is known of a prediction."""

    center: np.ndarray  # (F,) of the features
    scale: np.ndarray  # (F,)
    slopes: np.ndarray  # (F,)
    intercept: float
    least: tuple[float, float]  # of the spreads that have a logarithm
    limits: tuple[float, float]  # of the logarithm of the size

    def __call__(self, predictions: np.ndarray, spread: Uncertainty) -> np.ndarray:
        """The size (B,) for predictions (B,)."""
        features = _features(predictions, spread, self.least)
        logs = ((features - self.center) / self.scale) @ self.slopes + self.intercept
        return np.exp(logs.clip(*self.limits))


def fit_scale(
    predictions: np.ndarray, spread: Uncertainty, errors: np.ndarray
) -> ErrorScale:
    """Learn it from absolute errors (H,): a ridge regression of their logarithms.

    >>> spread = Uncertainty(np.linspace(1, 2, 50), np.ones(50))
    >>> scale = fit_scale(np.zeros(50), spread, 3 * spread.neighbors)
    >>> float(scale(np.zeros(50), spread)[0].round(1))
    3.1
    """
    least = tuple(
        max(_MIN_SPREAD * float(part.mean()), 1e-9)
        for part in (spread.neighbors, spread.members)
    )
    features = _features(predictions, spread, (least[0], least[1]))  # (H, F)
    logs = np.log(np.maximum(errors, max(_MIN_ERROR * errors.mean(), 1e-9)))
    center, scale = features.mean(0), features.std(0)
    scale[scale < 1e-9] = 1.0
    slopes = np.zeros(features.shape[1])
    if len(errors) >= _MIN_ROWS:
        shaped = (features - center) / scale
        gram = shaped.T @ shaped + _RIDGE * np.eye(len(slopes))
        slopes = np.linalg.solve(gram, shaped.T @ (logs - logs.mean()))
    fitted = ((features - center) / scale) @ slopes + logs.mean()
    limits = float(fitted.min()), float(fitted.max() + np.log(_BOUND))
    return ErrorScale(
        center, scale, slopes, float(logs.mean()), (least[0], least[1]), limits
    )


def cross_fitted_scales(
    predictions: np.ndarray, spread: Uncertainty, errors: np.ndarray
) -> np.ndarray:
    """The size expected of each row (H,), learned from the rows of other folds."""
    found, folds = np.empty(len(errors)), np.arange(len(errors)) % _N_FOLDS
    if len(errors) < 2 * _N_FOLDS:
        return fit_scale(predictions, spread, errors)(predictions, spread)
    for fold in range(_N_FOLDS):
        own = folds == fold
        rest = Uncertainty(*(part[~own] for part in spread))
        asked = Uncertainty(*(part[own] for part in spread))
        scale = fit_scale(predictions[~own], rest, errors[~own])
        found[own] = scale(predictions[own], asked)
    return found


def _features(
    predictions: np.ndarray, spread: Uncertainty, least: tuple[float, float]
) -> np.ndarray:
    """What is known of predictions (B,): (B, F)."""
    neighbors = np.log(spread.neighbors + least[0])
    members = np.log(spread.members + least[1])
    return np.stack([neighbors, members, predictions], 1)
