"""How a column of text is read: as numbers or dates, in one form for all its cells.

The form is found once, from the whole training column, and then applied to each cell by
itself, in `fit` and in prediction. What cannot be read is missing, and counted.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from modernnca.table.text_dates import DATE_FORMS, is_open, parse_date
from modernnca.table.text_numbers import NUMBER_FORMS, is_code, parse_number

_MOSTLY = 0.9  # of the cells can be read: the column is numbers, or dates
_PARTLY = 0.5  # is enough if the values that can be read are many, the others few
_MANY = 10  # times as many distinct values
_N_SAMPLED = 400  # distinct values that are tried first
_MIN_SAMPLED = 0.3  # of these that can be read

Parse = Callable[[str, str], Any]
_PARSERS: dict[str, tuple[Parse, Any, Any]] = {  # kind -> parser, a gap, the dtype
    "number": (parse_number, np.nan, np.float64),
    "datetime": (parse_date, None, "datetime64[us]"),
}
_TEXTS = {
    "point": "numbers in text",
    "comma": "numbers in text, with a decimal comma",
    "year-first": "dates in text",
    "day-first": "dates in text, the day before the month",
    "month-first": "dates in text, the month before the day",
}


@dataclass(frozen=True)
class Reading:
    """How a column of text is read, and what could not be read of one table."""

    kind: str  # number or datetime
    form: str  # see text_numbers.py and text_dates.py
    ambiguous: bool = False  # whether another order of day and month reads as much
    n_unread: int = 0  # cells
    example: str | None = None  # of these

    def __post_init__(self) -> None:
        forms = NUMBER_FORMS if self.kind == "number" else DATE_FORMS
        if self.kind not in _PARSERS or self.form not in forms:
            raise ValueError(f"there is no reading {self.kind!r}, {self.form!r}")

    def __str__(self) -> str:
        return _TEXTS[self.form]

    def read(self, cells: np.ndarray) -> tuple[np.ndarray, "Reading"]:
        """Read a column of texts; also return the reading with what is unread in it.

        >>> cells = np.array(["1,5", "2", None, "many"], dtype=object)
        >>> values, reading = Reading("number", "comma").read(cells)
        >>> values, reading.n_unread, reading.example
        (array([1.5, 2. , nan, nan]), 1, 'many')
        """
        parse, gap, dtype = _PARSERS[self.kind]
        texts = dict.fromkeys(cells)
        texts.pop(None, None)
        known: dict[str | None, Any] = {None: gap}
        unread = set()
        for text in texts:
            value = parse(text, self.form)
            if value is None:
                unread.add(text)
            known[text] = gap if value is None else value
        values = np.array([known[cell] for cell in cells], dtype=dtype)
        n_unread = sum(cell in unread for cell in cells) if unread else 0
        example = next((text for text in texts if text in unread), None)
        return values, replace(self, n_unread=n_unread, example=example)


# What is read where a column held numbers, or dates, and now holds text.
PLAIN_READINGS = {
    "number": Reading("number", "point"),
    "datetime": Reading("datetime", "year-first"),
}


def find_reading(cells: np.ndarray, *, kind: str | None = None) -> Reading | None:
    """Find how a column of texts is read; None if it is neither numbers nor dates.

    A column is read if nine tenths of its cells can be, or half of them and the others
    are a few words. With a `kind`, one cell is enough.

    >>> find_reading(np.array(["1.430,5", "2,0", "12"], dtype=object))
    Reading(kind='number', form='comma', ambiguous=False, n_unread=0, example=None)
    >>> find_reading(np.array(["31/01/2014", "02/03/2014"], dtype=object)).form
    'day-first'
    >>> find_reading(np.array(["red", "green", "1"], dtype=object)) is None
    True
    """
    texts = [text for text in dict.fromkeys(cells) if text is not None]
    sample = texts[:: max(1, len(texts) // _N_SAMPLED)]
    for each, choose in (("datetime", _choose_dates), ("number", _choose_numbers)):
        if kind not in (None, each) or not texts:
            continue
        likely = choose(dict.fromkeys(sample, 1))
        if kind is None and likely.n_read < _MIN_SAMPLED * len(sample):
            continue
        counts = Counter(cells.tolist())
        counts.pop(None, None)
        chosen = choose(counts)
        enough = chosen.n_read > 0 if kind else _is_enough(chosen, counts)
        if enough and not (kind is None and each == "number" and is_code(texts)):
            n_unread = sum(counts.values()) - chosen.n_read
            form, ambiguous = chosen.form, chosen.ambiguous
            return Reading(each, form, ambiguous, n_unread, chosen.example)
    return None


@dataclass(frozen=True)
class _Choice:
    """A form, and how much of a column it reads."""

    form: str
    n_read: int  # cells
    n_distinct: int
    example: str | None  # of what it does not read
    ambiguous: bool = False


def _is_enough(chosen: _Choice, counts: dict[str, int]) -> bool:
    n_cells = sum(counts.values())
    if chosen.n_read >= _MOSTLY * n_cells:
        return True
    n_words = len(counts) - chosen.n_distinct
    return chosen.n_read >= _PARTLY * n_cells and chosen.n_distinct >= _MANY * n_words


def _try(parse: Parse, form: str, counts: dict[str, int]) -> _Choice:
    unread = [text for text in counts if parse(text, form) is None]
    n_read = sum(counts.values()) - sum(counts[text] for text in unread)
    example = unread[0] if unread else None
    return _Choice(form, n_read, len(counts) - len(unread), example)


def _choose_numbers(counts: dict[str, int]) -> _Choice:
    point = _try(parse_number, "point", counts)
    if point.n_distinct == len(counts):
        return point
    comma = _try(parse_number, "comma", counts)
    return comma if comma.n_read > point.n_read else point


def _choose_dates(counts: dict[str, int]) -> _Choice:
    open_texts = {text: count for text, count in counts.items() if is_open(text)}
    if not open_texts:
        return _try(parse_date, "year-first", counts)
    day = _try(parse_date, "day-first", counts)
    month = _try(parse_date, "month-first", counts)
    if day.n_read != month.n_read:
        return max(day, month, key=lambda choice: choice.n_read)
    slashes = sum(count for text, count in open_texts.items() if "/" in text)
    chosen = month if 2 * slashes > sum(open_texts.values()) else day
    differ = any(
        parse_date(text, "day-first") != parse_date(text, "month-first")
        for text in open_texts
    )
    return replace(chosen, ambiguous=differ)
