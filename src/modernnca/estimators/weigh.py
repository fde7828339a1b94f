"""How much each member counts: by what it says of held-out rows, and where it is far
from all others.
"""

import numpy as np

# Steep: a member that errs twice as much as another counts a sixteenth of it.
_STEEPNESS = 4.0
_DOUBT = 10.0  # rows that all members explain alike, lest few rows say too much
_LEAST = 1e-4  # of a class that got no vote: nobody should be that sure
_N_STEPS = 300
_USUAL = 0.99  # the share of held-out votes that a member's is usually among


def weigh(votes: np.ndarray, values: np.ndarray, *, classes: bool) -> list[float]:
    """The shares of members that gave `votes` (M, B, V) to rows of `values` (B, V).

    For classes, the mixture of members under which the true classes are likeliest; it
    sees which members are right where others are wrong. For numbers, by the errors.

    >>> values = np.zeros((3, 1))
    >>> weigh(np.array([values + 1, values + 1, values + 2]), values, classes=False)
    [0.48..., 0.48..., 0.03...]
    """
    if classes:
        return _likeliest((votes * values).sum(2).clip(_LEAST)).tolist()
    errors = np.sqrt(np.square(votes - values).mean((1, 2)))
    # One that never errs would count for all: ratios of errors end at 1,000.
    errors = errors.clip(min=errors.max() / 1000) if errors.any() else errors + 1.0
    weights = (errors / errors.min()) ** -_STEEPNESS
    return (weights / weights.sum()).tolist()


def _likeliest(chances: np.ndarray) -> np.ndarray:
    """Shares (M,) of a mixture, by the chances (M, B) of what came true: EM.

    >>> _likeliest(np.array([[0.9, 0.1, 0.9], [0.1, 0.9, 0.9]])).round(3)
    array([0.5, 0.5])
    """
    shares = np.full(len(chances), 1 / len(chances))
    for _ in range(_N_STEPS):
        owed = shares[:, None] * chances
        shares = (owed / owed.sum(0)).sum(1) + _DOUBT / len(chances)
        shares /= shares.sum()
    return shares


def usual_reach(votes: np.ndarray) -> float:
    """How far members' votes (M, B, V) usually are from the median of all.

    Of two, nobody can say which one is far off.

    >>> votes = np.zeros((3, 100, 1))
    >>> votes[0, :50] = 2.0
    >>> usual_reach(votes), usual_reach(votes[:2])
    (2.0, inf)
    """
    if len(votes) < 3:
        return np.inf
    return float(np.quantile(_distance(votes), _USUAL))


def counts(votes: np.ndarray, weights: list[float], reach: float) -> np.ndarray:
    """How much each member counts for each row of votes (M, B, V): (M, B), out of 1.

    A row like no other may lead a single network anywhere. So a member counts less the
    farther it is from the median of all, beyond the usual reach; what it loses goes to
    all, to each as it is near. Where all are at odds, all count alike.

    >>> counts(np.array([[[0.0]], [[1.0]], [[9.0]]]), [1 / 3] * 3, reach=1.0).ravel()
    array([0.47..., 0.47..., 0.05...])
    """
    given = np.repeat(np.array(weights)[:, None], votes.shape[1], axis=1)
    if not 0 < reach < np.inf:
        return given
    near = reach / _distance(votes).clip(min=reach)
    kept = given * near
    return kept + (1 - kept.sum(0)) * near / near.sum(0)


def _distance(votes: np.ndarray) -> np.ndarray:
    return np.abs(votes - np.median(votes, axis=0)).max(axis=2)
