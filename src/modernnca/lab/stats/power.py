"""Power: how many datasets it takes to tell a difference from none."""

import math

from scipy.stats import norm


def n_datasets_needed(
    effect: float, spread: float, *, power: float = 0.8, level: float = 0.95
) -> float:
    """Return how many datasets decide whether a mean difference is on one side of zero.

    With so many, the interval of the mean excludes zero with probability `power`, if
    the true mean is `effect` and the differences of single datasets have the standard
    deviation `spread`; infinity if there is no effect.

    >>> n_datasets_needed(0.5, 1.0)
    32
    >>> n_datasets_needed(0.0, 1.0)
    inf
    """
    if not 0 < power < 1 or not 0 < level < 1:
        raise ValueError(
            f"power and level must be between 0 and 1; got {power!r} and {level!r}."
        )
    if math.isnan(effect) or math.isnan(spread):
        return math.nan
    if effect == 0:
        return math.inf
    z = norm.ppf((1 + level) / 2) + norm.ppf(power)
    return math.ceil((z * spread / effect) ** 2)
