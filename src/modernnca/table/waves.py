"""What a time tells about day, week, season and trend: Fourier features of a column."""

from dataclasses import dataclass

import numpy as np

# In days. As many waves as let a feature tell apart what differs in daily life: hours,
# days of the week, months.
_OF_DATES = {"year": (365.2425, 3), "week": (7.0, 3), "day": (1.0, 3)}
_N_HALVINGS = 6  # of the span of a column of numbers
_LEAST = 1e-6  # a wave that moves less is none


@dataclass(frozen=True)
class Waves:
    """A trend, and for each period a sine and a cosine; zeros where time is missing.

    Without a trend, what is told is when in the day, the week and the year it was, and
    not how long ago.

    >>> waves = learn_waves(np.arange(15.0), dates=True)
    >>> waves.names
    ['trend', 'sin week/1', 'cos week/1', 'sin week/2', 'cos week/2', \
'sin week/3', 'cos week/3']
    >>> bool(np.allclose(waves(np.array([3.0]))[:, 1:], waves(np.array([10.0]))[:, 1:]))
    True
    """

    middle: float
    spread: float
    periods: dict[str, float]  # by name
    trend: bool = True

    @property
    def names(self) -> list[str]:
        """What the features are, in their order."""
        waves = [f"{part} {name}" for name in self.periods for part in ("sin", "cos")]
        return ["trend", *waves] if self.trend else waves

    def __call__(self, times: np.ndarray) -> np.ndarray:
        """The features (N, F) of times (N,)."""
        features = np.zeros((len(times), len(self.names)))
        known = ~np.isnan(times)
        since = times[known] - self.middle
        if self.trend:
            features[known, 0] = since / self.spread
        for place, period in enumerate(self.periods.values()):
            angle = 2 * np.pi * since / period
            features[known, self.trend + 2 * place] = np.sin(angle)
            features[known, self.trend + 2 * place + 1] = np.cos(angle)
        return features.astype(np.float32)


def learn_waves(times: np.ndarray, *, dates: bool, trend: bool = True) -> Waves:
    """Choose periods that the times (N,), in days if `dates`, tell something about.

    Of dates: the year, the week and the day, with two overtones each, where the table
    spans the period once and not all rows are at the same point of it. Of numbers: the
    span, and its halves, and theirs.
    """
    known = times[~np.isnan(times)]
    if len(known) == 0:
        return Waves(0.0, 1.0, {}, trend)
    middle, span = float(known.mean()), float(np.ptp(known))
    if dates:
        periods = {
            f"{name}/{part}": days / part
            for name, (days, n_parts) in _OF_DATES.items()
            for part in range(1, n_parts + 1)
            if span >= days
        }
    else:
        periods = {f"span/{2**i}": span / 2**i for i in range(_N_HALVINGS) if span > 0}
    spread = float(known.std()) or 1.0
    spreads = Waves(middle, spread, periods, False)(known).std(0).reshape(-1, 2).max(1)
    moving = zip(periods.items(), spreads, strict=True)
    kept = {name: period for (name, period), moves in moving if moves > _LEAST}
    return Waves(middle, spread, kept, trend)
