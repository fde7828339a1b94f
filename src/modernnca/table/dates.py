"""Dates as numbers: days since the start, month, day, weekday, hour."""

import numpy as np

_DAY = np.timedelta64(1, "D")
_HOUR = np.timedelta64(1, "h")
_MONTH = np.timedelta64(1, "M")


def date_parts(dates: np.ndarray, start: np.datetime64) -> dict[str, np.ndarray]:
    """Return the parts of dates as numbers; NaN where a date is missing.

    >>> dates = np.array(["2024-01-03T12:30"], dtype="datetime64[us]")
    >>> for part, value in date_parts(dates, np.datetime64("2024-01-01")).items():
    ...     print(part, value[0])
    days 2.5208333333333335
    month 1.0
    day 3.0
    weekday 2.0
    hour 12.5
    """
    days, months = dates.astype("datetime64[D]"), dates.astype("datetime64[M]")
    since_monday = days - np.datetime64("1970-01-05")
    return {
        "days": (dates - start) / _DAY,
        "month": (months - dates.astype("datetime64[Y]")) / _MONTH + 1,
        "day": (days - months) / _DAY + 1,
        "weekday": (since_monday / _DAY) % 7,
        "hour": (dates - days) / _HOUR,
    }
