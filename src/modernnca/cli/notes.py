"""What estimators warn about a table, as lines on stderr."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer
from sklearn.exceptions import DataConversionWarning

from modernnca.cli.display import printable


@contextmanager
def warnings_as_notes(*, quiet: bool = False) -> Iterator[None]:
    """Print each warning about the data once, in a line; if `quiet`, do not."""
    told = set()
    with warnings.catch_warnings():
        warnings.simplefilter("always", DataConversionWarning)
        show_others = warnings.showwarning

        def show(
            message: Any, category: type[Warning], *place: Any, **more: Any
        ) -> None:
            if not issubclass(category, DataConversionWarning):
                show_others(message, category, *place)
            elif str(message) not in told:
                told.add(str(message))
                if not quiet:
                    typer.echo(printable(message), err=True)

        warnings.showwarning = show
        yield
