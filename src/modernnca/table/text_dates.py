"""Dates in text: ISO, 31.01.2014, 01/31/2014, 20150123T000000, 31 Jan 2014."""

import datetime as dt
import re

# What comes first where a date such as 01/02/2014 does not tell; "year-first" reads
# only dates that do tell.
DATE_FORMS = ("year-first", "day-first", "month-first")

_MONTHS = (
    *("jan", "feb", "mar", "apr", "may", "jun"),
    *("jul", "aug", "sep", "oct", "nov", "dec"),
)
_MONTH = rf"(?:{'|'.join(_MONTHS)})[a-z]*\.?"
_DATE = re.compile(
    rf"""
    \s* (?:(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*\.?,?\s+)?
    (?: (?P<y1>\d{{4}}) (?P<s1>[-/.]) (?P<m1>\d{{1,2}}) (?P=s1) (?P<d1>\d{{1,2}})
      | (?P<y2>(?:19|20)\d\d) (?P<m2>\d\d) (?P<d2>\d\d)
      | (?P<a>\d{{1,2}}) (?P<s3>[-/.]) (?P<b>\d{{1,2}}) (?P=s3) (?P<y3>\d{{4}}|\d\d)
      | (?P<d4>\d{{1,2}}) [-\s.]* (?P<n4>{_MONTH}) [-\s,]* (?P<y4>\d{{4}}|\d\d)
      | (?P<n5>{_MONTH}) \s* (?P<d5>\d{{1,2}}) (?:st|nd|rd|th)? ,? \s+ (?P<y5>\d{{4}})
    )
    (?: (?:T|,?\s+) (?P<hour>\d{{1,2}}) :? (?P<minute>\d\d)
        (?: :? (?P<second>\d\d) (?:[.,](?P<fraction>\d{{1,9}}))? )?
        \s* (?P<half>[ap]\.?m\.?)?
        \s* (?P<zone>Z|UTC|GMT|[+-]\d\d:?\d\d)?
    )? \s*
    """,
    re.VERBOSE | re.IGNORECASE,
)


def parse_date(text: str, form: str) -> dt.datetime | None:
    """Read a date in text, in UTC if it has a time zone; None if it is not one.

    >>> parse_date("2024-01-31 12:00:00Z", "year-first")
    datetime.datetime(2024, 1, 31, 12, 0)
    >>> parse_date("31.01.2014", "day-first")
    datetime.datetime(2014, 1, 31, 0, 0)
    >>> parse_date("01/31/2014 1:30 PM", "month-first")
    datetime.datetime(2014, 1, 31, 13, 30)
    >>> parse_date("31.01.2014", "month-first") is None
    True
    """
    found = _DATE.fullmatch(text)
    if found is None:
        return None
    try:
        date = dt.datetime(*_year_month_day(found, form), *_time(found))
        return date - _offset(found["zone"])
    except (ValueError, OverflowError):
        return None


def is_open(text: str) -> bool:
    """Return whether the order of day and month is not told by the text itself.

    >>> is_open("01/02/2014"), is_open("2014-01-02"), is_open("soon")
    (True, False, False)
    """
    found = _DATE.fullmatch(text)
    return found is not None and found["a"] is not None


def _year_month_day(found: re.Match[str], form: str) -> tuple[int, int, int]:
    if found["y1"]:
        return int(found["y1"]), int(found["m1"]), int(found["d1"])
    if found["y2"]:
        return int(found["y2"]), int(found["m2"]), int(found["d2"])
    if found["a"]:
        if form == "year-first":
            raise ValueError("the order of day and month is not known")
        first, second = int(found["a"]), int(found["b"])
        month, day = (second, first) if form == "day-first" else (first, second)
        return _full_year(found["y3"]), month, day
    name, day_text, year = found["n4"], found["d4"], found["y4"]
    if name is None:
        name, day_text, year = found["n5"], found["d5"], found["y5"]
    month = _MONTHS.index(name[:3].lower()) + 1
    return _full_year(year), month, int(day_text)


def _full_year(text: str) -> int:
    year = int(text)
    return year if len(text) == 4 else year + (1900 if year >= 69 else 2000)


def _time(found: re.Match[str]) -> tuple[int, int, int, int]:
    hour, half = int(found["hour"] or 0), found["half"]
    if half:
        if not 1 <= hour <= 12:
            raise ValueError("no such hour")
        hour = hour % 12 + (12 if half[0] in "pP" else 0)
    fraction = (found["fraction"] or "").ljust(6, "0")[:6]
    return hour, int(found["minute"] or 0), int(found["second"] or 0), int(fraction)


def _offset(zone: str | None) -> dt.timedelta:
    """How far a time zone is ahead of UTC."""
    if zone is None or zone[0] not in "+-":
        return dt.timedelta()
    sign = -1 if zone[0] == "-" else 1
    digits = zone[1:].replace(":", "")
    return sign * dt.timedelta(hours=int(digits[:2]), minutes=int(digits[2:]))
