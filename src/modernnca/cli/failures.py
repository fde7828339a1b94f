"""Expected errors as one line on stderr, with exit code 1."""

import errno
import os
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec

import pyarrow as pa
import typer

Arguments = ParamSpec("Arguments")

# Errors that the user can fix; anything else is a bug and shows its traceback.
EXPECTED = (ValueError, TypeError, OSError, ImportError, pa.ArrowException)
TRACEBACK = "MODERNNCA_TRACEBACK"  # set in the environment by developers


def one_line(error: BaseException) -> str:
    """The message of an error in one line.

    >>> one_line(ValueError("dim must be\\n  a whole number"))
    'dim must be a whole number'
    >>> one_line(FileNotFoundError(2, "No such file or directory", "a.csv"))
    "No such file or directory: 'a.csv'"
    """
    text = str(error)
    if isinstance(error, OSError) and error.strerror:
        place = "" if error.filename is None else f": {str(error.filename)!r}"
        text = error.strerror + place
    return " ".join(text.split()) or type(error).__name__


def in_one_line(command: Callable[Arguments, None]) -> Callable[Arguments, None]:
    """Wrap a command so that it fails in one line instead of a traceback."""

    @wraps(command)
    def run(*args: Arguments.args, **options: Arguments.kwargs) -> None:
        try:
            command(*args, **options)
        except EXPECTED as error:
            # A closed pipe, as in `| head`, is left to typer, which prints nothing.
            gone = isinstance(error, OSError) and error.errno == errno.EPIPE
            if gone or os.environ.get(TRACEBACK):
                raise
            typer.echo(f"Error: {one_line(error)}", err=True)
            raise typer.Exit(1) from None

    return run
