"""The option --set: any argument of an estimator, as name=value."""

import json
from collections.abc import Iterable
from typing import Any

from modernnca._named import named

_WORDS = {"None": None, "True": True, "False": False}  # as in Python, beside JSON's
_ONLY_IN_PYTHON = "callbacks"  # functions cannot be written in a shell


def read_arguments(texts: Iterable[str], known: dict[str, Any]) -> dict[str, Any]:
    """Read texts such as "dim=64"; `known` are the arguments there are.

    >>> read_arguments(["dim=64", "loss=sum"], {"dim": "auto", "loss": "auto"})
    {'dim': 64, 'loss': 'sum'}
    """
    names = {name: name for name in known if name != _ONLY_IN_PYTHON}
    given = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise ValueError(
                f"--set {text!r} has no '='; write --set name=value, "
                "such as --set dim=64."
            )
        given[named("argument", name, names)] = read_value(value)
    return given


def read_value(text: str) -> Any:
    """Read JSON, or one of Python's words; all else is text.

    >>> [read_value(text) for text in ("64", "1e-3", "null", "None", "cosine")]
    [64, 0.001, None, None, 'cosine']
    """
    if text in _WORDS:
        return _WORDS[text]
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text
