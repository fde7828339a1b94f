"""How much each member counts: by how much it errs on held-out rows."""

from collections.abc import Sequence

import numpy as np

# Steep: a member that errs twice as much as another counts a sixteenth of it.
_STEEPNESS = 4.0
_DOUBT = 5.0  # wrong rows added to each member's, lest few rows say too much


def weigh(
    votes: Sequence[np.ndarray], values: Sequence[np.ndarray], *, classes: bool
) -> list[float]:
    """The shares of members, each of which gave votes (b, V) to rows of values (b, V).

    Where members were asked about different rows, some had easier ones: differences of
    errors count only as far as they are larger than chance would make them.

    >>> zeros = np.zeros((3, 1))
    >>> weigh([zeros + 1, zeros + 1, zeros + 2], [zeros] * 3, classes=False)
    [0.48..., 0.48..., 0.03...]
    """
    error = _share_wrong if classes else _rmse
    pairs = zip(votes, values, strict=True)
    errors, noise = np.transpose([error(given, right) for given, right in pairs])
    # One that never errs would count for all: ratios of errors end at 1,000.
    errors = errors.clip(min=errors.max() / 1000) if errors.any() else errors + 1.0
    logs = np.log(errors)
    if any(right is not values[0] for right in values):
        logs *= max(0.0, 1 - noise.mean() / max(logs.var(ddof=1), 1e-30))
    weights = np.exp(-_STEEPNESS * (logs - logs.min()))
    return (weights / weights.sum()).tolist()


def _share_wrong(votes: np.ndarray, values: np.ndarray) -> tuple[float, float]:
    """The share of wrong rows, and the variance of its logarithm."""
    wrong = (votes.argmax(1) != values.argmax(1)).sum() + _DOUBT
    share = wrong / (len(values) + _DOUBT)
    return float(share), float((1 - share) / wrong)


def _rmse(votes: np.ndarray, values: np.ndarray) -> tuple[float, float]:
    """The root of the mean squared error, and the variance of its logarithm."""
    squares = np.square(votes - values).mean(1)
    mean = max(float(squares.mean()), 1e-300)
    return mean**0.5, float(squares.var() / mean**2 / (4 * len(squares)))
