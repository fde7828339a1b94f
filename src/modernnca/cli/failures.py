"""Every expected failure as one line on stderr, and the exit code 1."""

import errno
import os
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec

import pyarrow as pa
import typer

Arguments = ParamSpec("Arguments")

# What the caller of a command can set right; anything else is a bug, and shows as one.
EXPECTED = (ValueError, TypeError, OSError, ImportError, pa.ArrowException)
TRACEBACK = "MODERNNCA_TRACEBACK"  # set in the environment by developers


def in_words(error: BaseException) -> str:
    """Say in one line what went wrong.

    >>> in_words(ValueError("dim must be\\n  a whole number"))
    'dim must be a whole number'
    >>> in_words(FileNotFoundError(2, "No such file or directory", "a.csv"))
    "No such file or directory: 'a.csv'"
    """
    text = str(error)
    if isinstance(error, OSError) and error.strerror:
        place = "" if error.filename is None else f": {str(error.filename)!r}"
        text = error.strerror + place
    return " ".join(text.split()) or type(error).__name__


def in_one_line(command: Callable[Arguments, None]) -> Callable[Arguments, None]:
    """Give a command that fails in one line instead of a traceback."""

    @wraps(command)
    def run(*args: Arguments.args, **options: Arguments.kwargs) -> None:
        try:
            command(*args, **options)
        except EXPECTED as error:
            # A reader that has gone, as in `| head`, is typer's matter: no words.
            gone = isinstance(error, OSError) and error.errno == errno.EPIPE
            if gone or os.environ.get(TRACEBACK):
                raise
            typer.echo(f"Error: {in_words(error)}", err=True)
            raise typer.Exit(1) from None

    return run
