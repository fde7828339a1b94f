"""Numbers in text: thousands separators, currency signs, percents, decimal commas."""

import math
import re
from typing import Any

# How the decimals are separated; the other sign may stand between thousands.
NUMBER_FORMS = ("point", "comma")

_CURRENCY = r"(?:US\$|[$€£¥₹₽₩₺₴₫฿₪₱¢]|USD|EUR|GBP|JPY|CHF|CAD|AUD|INR|CNY|Rs\.?|kr\.?)"
_EXPONENT = r"(?:[eE][+-]?\d+)?"
_DIGITS = {
    "point": (
        r"(?:\d+|[1-9]\d{0,2}(?:[,'\u2019\s]\d{3})+|[1-9]\d?(?:,\d{2})+,\d{3})"
        rf"(?:\.\d*)?{_EXPONENT}|\.\d+{_EXPONENT}"
    ),
    "comma": (
        r"(?:\d+|[1-9]\d{0,2}(?:[.'\u2019\s]\d{3})+)"
        rf"(?:,\d*)?{_EXPONENT}|,\d+{_EXPONENT}"
    ),
}
_SIGNED: dict[str, re.Pattern[str]] = {
    form: re.compile(
        rf"\s*(?P<open>\()?\s*(?P<sign>[+\u2212-])?\s*{_CURRENCY}?\s*(?P<inner>[+\u2212-])?\s*"
        rf"(?P<digits>{digits})\s*(?:%|{_CURRENCY})?\s*(?P<close>\))?\s*"
    )
    for form, digits in _DIGITS.items()
}
_SEPARATORS = {
    "point": re.compile(r"[,'\u2019\s]"),
    "comma": re.compile(r"[.'\u2019\s]"),
}
_MINUS = ("-", "\u2212")


def parse_number(text: str, form: str) -> float | None:
    """Read a number in text; None if it is not one.

    >>> [parse_number(text, "point") for text in ("1,430.5", "$1,035,000", "12 %")]
    [1430.5, 1035000.0, 12.0]
    >>> parse_number("1.430,5", "comma"), parse_number("(3.50)", "point")
    (1430.5, -3.5)
    >>> parse_number("1,43,0", "point") is None, parse_number("1,5", "point") is None
    (True, True)
    """
    if form == "point":
        try:
            number = float(text)
        except ValueError:
            pass
        else:
            return None if math.isnan(number) else number
    found = _SIGNED[form].fullmatch(text)
    if found is None or (found["open"] is None) != (found["close"] is None):
        return None
    if found["sign"] and found["inner"]:
        return None
    digits = _SEPARATORS[form].sub("", found["digits"]).replace(",", ".")
    negative = found["sign"] in _MINUS or found["inner"] in _MINUS or found["open"]
    return -float(digits) if negative else float(digits)


def is_code(texts: Any) -> bool:
    """Return whether texts of digits are codes: padded with zeros, or all too long.

    Integers from 2^53 on are codes if, as floats, some are no longer told apart.

    >>> is_code(["02139", "10001"]), is_code(["7", "12"]), is_code(["0.5", "10"])
    (True, False, False)
    >>> is_code([str(2**62), str(2**62 + 1)])
    True
    """
    digits = [text for text in texts if text.isdigit()]
    if len(digits) == len(texts) and any(text[0] == "0" for text in digits):
        lengths = set(map(len, digits))
        if len(lengths) == 1 and lengths != {1}:
            return True
    long = [int(text) for text in digits if len(text) > 15]
    return len({float(number) for number in long}) < len(set(long))
