"""Data frames of what was found; pandas is imported when the first is made."""

from typing import Any

from modernnca.errors import MissingExtraError


def import_pandas(purpose: str) -> Any:
    """Pandas, or an error that says what needs it."""
    try:
        import pandas as pd
    except ImportError as error:
        raise MissingExtraError(
            f"{purpose} needs pandas; pip install 'modernnca[audit]'."
        ) from error
    return pd


def frame(columns: dict[str, Any]) -> Any:
    """A pandas frame of these columns, each (N,).

    >>> frame({"row": [3, 1], "kind": ["exact", "near"]}).shape
    (2, 2)
    """
    return import_pandas("A data frame").DataFrame(columns)
