"""Combining votes: weights of members, and an outlier threshold for single votes.

Shapes: K members, B queries, V numbers in a vote.
"""

from dataclasses import dataclass

import numpy as np

# A member with twice the error of another gets a sixteenth of its weight.
_POWER = 4.0
_PRIOR_ROWS = 10.0  # that all members explain equally, lest few rows decide too much
_MIN_PROBABILITY = 1e-4  # of a class without a vote
_N_STEPS = 300
_THRESHOLD_QUANTILE = 0.99


@dataclass(frozen=True)
class Combiner:
    """How the votes of the members become one."""

    weights: tuple[float, ...]  # of each member, out of 1
    outlier_threshold: float = np.inf  # in units of the vote

    def __post_init__(self) -> None:
        if not self.outlier_threshold >= 0:
            raise ValueError(
                "The outlier threshold must be at least 0; "
                f"got {self.outlier_threshold!r}."
            )
        valid = all(np.isfinite(w) and w >= 0 for w in self.weights)
        if not (valid and np.isclose(sum(self.weights), 1)):
            raise ValueError(
                f"The weights of members must add up to 1; got {self.weights}."
            )

    @classmethod
    def mean(cls, n_members: int) -> "Combiner":
        """All members count alike."""
        return cls((1 / n_members,) * n_members)

    def __call__(self, votes: np.ndarray) -> np.ndarray:
        """Combine votes (K, B, V) to (B, V)."""
        combined: np.ndarray = (votes * self.weights_for(votes)[..., None]).sum(0)
        return combined

    def weights_for(self, votes: np.ndarray) -> np.ndarray:
        """The weight of each member for each query, (K, B), out of 1.

        A single network may be far off on a query unlike all training rows. Beyond the
        outlier threshold, a member counts less the farther it is from the median of
        all; what it loses goes to all, to each as it is near. Where all disagree, all
        count alike.

        >>> votes = np.array([[[0.0]], [[1.0]], [[9.0]]])
        >>> Combiner((1 / 3, 1 / 3, 1 / 3), 1.0).weights_for(votes).ravel()
        array([0.47..., 0.47..., 0.05...])
        """
        if len(votes) != len(self.weights):
            raise ValueError(
                f"There are votes of {len(votes)} members, but {len(self.weights)} "
                "weights."
            )
        given = np.repeat(np.array(self.weights)[:, None], votes.shape[1], axis=1)
        if not 0 < self.outlier_threshold < np.inf:
            return given
        near = self.outlier_threshold / _deviation(votes).clip(
            min=self.outlier_threshold
        )
        kept = given * near
        weights: np.ndarray = kept + (1 - kept.sum(0)) * near / near.sum(0)
        return weights


def fit_combiner(
    votes: np.ndarray, values: np.ndarray, *, classification: bool
) -> Combiner:
    """Learn a combiner from votes (K, B, V) for validation rows of values (B, V).

    In classification, the weights are the mixture of members under which the true
    classes are most likely; it sees which members are right where others are wrong. In
    regression they follow from the errors.

    >>> values = np.zeros((3, 1))
    >>> votes = np.array([values + 1, values + 1, values + 2])
    >>> fit_combiner(votes, values, classification=False).weights
    (0.48..., 0.48..., 0.03...)
    """
    if classification:
        true = (votes * values).sum(2).clip(_MIN_PROBABILITY)
        return Combiner(tuple(_mixture_weights(true).tolist()))
    errors = np.sqrt(np.square(votes - values).mean((1, 2)))
    # A member without an error would get all the weight: ratios end at 1,000.
    errors = errors.clip(min=errors.max() / 1000) if errors.any() else errors + 1.0
    weights = (errors / errors.min()) ** -_POWER
    threshold = outlier_threshold(votes)
    return Combiner(tuple((weights / weights.sum()).tolist()), threshold)


def _mixture_weights(probabilities: np.ndarray) -> np.ndarray:
    """Weights (K,) of a mixture, by the probabilities (K, B) of the true classes: EM.

    >>> _mixture_weights(np.array([[0.9, 0.1, 0.9], [0.1, 0.9, 0.9]])).round(3)
    array([0.5, 0.5])
    """
    weights = np.full(len(probabilities), 1 / len(probabilities))
    for _ in range(_N_STEPS):
        joint = weights[:, None] * probabilities
        weights = (joint / joint.sum(0)).sum(1) + _PRIOR_ROWS / len(probabilities)
        weights /= weights.sum()
    return weights


def outlier_threshold(votes: np.ndarray) -> float:
    """How far votes (K, B, V) usually are from the median of the members, at most.

    With two members neither can be called an outlier.

    >>> votes = np.zeros((3, 100, 1))
    >>> votes[0, :50] = 2.0
    >>> outlier_threshold(votes), outlier_threshold(votes[:2])
    (2.0, inf)
    """
    if len(votes) < 3:
        return np.inf
    return float(np.quantile(_deviation(votes), _THRESHOLD_QUANTILE))


def _deviation(votes: np.ndarray) -> np.ndarray:
    return np.abs(votes - np.median(votes, axis=0)).max(axis=2)
