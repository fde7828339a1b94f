"""Standard streams that whoever started us has closed, as `>&-` does, or closes later.

Python then has no `sys.stdout`, and the next file that is opened gets its number: what
a library prints would go into that file. So each closed stream becomes the null device.
What cannot be written to stderr (a progress bar, on a terminal that is gone) is left
out: no fit is lost for it.
"""

import io
import os
import sys
from contextlib import suppress
from typing import NamedTuple


class Closed(NamedTuple):
    """Which streams were closed when the process began."""

    out: bool
    err: bool


_closed = Closed(out=False, err=False)


def closed_streams() -> Closed:
    """Which streams `open_closed_streams` has found closed."""
    return _closed


def open_closed_streams() -> None:
    """Open what is closed of stdin, stdout and stderr; call this first."""
    global _closed
    _closed = Closed(sys.stdout is None, sys.stderr is None)
    while (number := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(number, True)
    os.close(number)
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115 - as long as we live
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    else:
        sys.stderr = _Forgiving(
            io.FileIO(2, "w", closefd=False),
            encoding=sys.stderr.encoding,
            errors="backslashreplace",
            write_through=True,
        )


class _Forgiving(io.TextIOWrapper):
    """Text for stderr; what cannot be written is left out."""

    def write(self, text: str) -> int:
        with suppress(OSError):
            super().write(text)
        return len(text)

    def flush(self) -> None:
        with suppress(OSError):
            super().flush()
