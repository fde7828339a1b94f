"""The option --set: any option of an estimator, as name=value."""

import json
from collections.abc import Iterable
from typing import Any

from modernnca._named import named

_CONSTANTS = {  # as in Python, beside JSON's
    "None": None,
    "True": True,
    "False": False,
    "inf": float("inf"),
}
_ONLY_IN_PYTHON = ("callbacks", "members", "config")  # objects and functions


def apply_options(model: Any, texts: Iterable[str]) -> None:
    """Set options given as texts such as "dim=64" or "distance=cosine"."""
    params = model.get_params(deep=True)
    names = {name.removeprefix("config__"): name for name in params}
    names |= {name: name for name in model.get_params(deep=False)}
    for name in _ONLY_IN_PYTHON:
        del names[name]
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise ValueError(
                f"--set {text!r} has no '='; write --set name=value, "
                "such as --set dim=64."
            )
        model.set_params(**{named("option", name, names): read_value(value)})


def read_value(text: str) -> Any:
    """Read JSON, or one of Python's constants; everything else is text.

    >>> [read_value(text) for text in ("64", "1e-3", "null", "None", "cosine")]
    [64, 0.001, None, None, 'cosine']
    """
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text
