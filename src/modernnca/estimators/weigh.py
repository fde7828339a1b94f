"""How much each member counts: by how much it errs on held-out rows."""

import numpy as np

# Steep: a member that errs twice as much as another counts a sixteenth of it.
_STEEPNESS = 4.0
_DOUBT = 5.0  # wrong rows added to each member's, lest few rows say too much


def weigh(votes: np.ndarray, values: np.ndarray, *, classes: bool) -> list[float]:
    """The shares of members that gave `votes` (M, B, V) to rows of `values` (B, V).

    >>> values = np.zeros((3, 1))
    >>> weigh(np.array([values + 1, values + 1, values + 2]), values, classes=False)
    [0.48..., 0.48..., 0.03...]
    """
    if classes:
        wrong = votes.argmax(2) != values.argmax(1)
        errors = (wrong.sum(1) + _DOUBT) / (len(values) + _DOUBT)
    else:
        errors = np.sqrt(np.square(votes - values).mean((1, 2)))
    # One that never errs would count for all: ratios of errors end at 1,000.
    errors = errors.clip(min=errors.max() / 1000) if errors.any() else errors + 1.0
    weights = (errors / errors.min()) ** -_STEEPNESS
    return (weights / weights.sum()).tolist()
