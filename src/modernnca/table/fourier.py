"""Fourier features of a time column: trend, and seasons of the year, week and day."""

from dataclasses import dataclass

import numpy as np

# In days, with the number of harmonics: enough to tell hours, weekdays, months apart.
_OF_DATES = {"year": (365.2425, 3), "week": (7.0, 3), "day": (1.0, 3)}
_N_HALVINGS = 6  # of the range of a column of numbers
_MIN_DEVIATION = 1e-6  # a feature that varies less is dropped
_LARGEST = 1e15  # the square of more overflows float32


@dataclass(frozen=True)
class FourierFeatures:
    """A trend, and a sine and a cosine for each period; zeros where time is missing.

    Without a trend, the features tell the time of day, week and year, but not how long
    ago it was.

    >>> features = learn_fourier(np.arange(15.0), dates=True)
    >>> features.names
    ['trend', 'sin week/1', 'cos week/1', 'sin week/2', 'cos week/2', \
'sin week/3', 'cos week/3']
    >>> one, other = features(np.array([3.0])), features(np.array([10.0]))
    >>> bool(np.allclose(one[:, 1:], other[:, 1:]))
    True
    """

    mean: float
    deviation: float
    periods: dict[str, float]  # by name
    trend: bool = True

    @property
    def names(self) -> list[str]:
        """The names of the features, in order."""
        waves = [f"{part} {name}" for name in self.periods for part in ("sin", "cos")]
        return ["trend", *waves] if self.trend else waves

    def __call__(self, times: np.ndarray) -> np.ndarray:
        """The features (N, F) of times (N,)."""
        features = np.zeros((len(times), len(self.names)))
        known = ~np.isnan(times)
        since = times[known] - self.mean
        if self.trend:
            features[known, 0] = since / self.deviation
        for place, period in enumerate(self.periods.values()):
            angle = 2 * np.pi * since / period
            features[known, self.trend + 2 * place] = np.sin(angle)
            features[known, self.trend + 2 * place + 1] = np.cos(angle)
        return features.clip(-_LARGEST, _LARGEST).astype(np.float32)


def learn_fourier(
    times: np.ndarray, *, dates: bool, trend: bool = True
) -> FourierFeatures:
    """Choose the periods that vary within the times (N,), in days if `dates`.

    Of dates: the year, the week and the day, with two harmonics each, if the table
    spans the period at least once and not all rows are at the same point of it. Of
    numbers: the range, its half, its quarter, and so on.
    """
    known = times[~np.isnan(times)]
    if len(known) == 0:
        return FourierFeatures(0.0, 1.0, {}, trend)
    mean, span = float(known.mean()), float(np.ptp(known))
    if dates:
        periods = {
            f"{name}/{part}": days / part
            for name, (days, n_parts) in _OF_DATES.items()
            for part in range(1, n_parts + 1)
            if span >= days
        }
    else:
        periods = {f"span/{2**i}": span / 2**i for i in range(_N_HALVINGS) if span > 0}
    deviation = float(known.std()) or 1.0
    features = FourierFeatures(mean, deviation, periods, trend=False)(known)
    varies = features.std(0).reshape(-1, 2).max(1) > _MIN_DEVIATION
    kept = {n: p for (n, p), keep in zip(periods.items(), varies, strict=True) if keep}
    return FourierFeatures(mean, deviation, kept, trend)
