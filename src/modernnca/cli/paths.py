"""Files named by the user: checked before any work, written whole or not at all."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


def check_input(path: Path) -> None:
    """Say so if there is no such file to read."""
    if path.is_dir():
        raise IsADirectoryError(f"{str(path)!r} is a folder; name a file in it.")
    if not path.exists():
        raise FileNotFoundError(
            f"There is no file {path.name!r} in {str(path.absolute().parent)!r}; "
            "check its name and folder."
        )


def check_output(path: Path) -> None:
    """Say so if no such file can be written."""
    folder = str(path.parent)
    if path.is_dir():
        raise IsADirectoryError(
            f"{str(path)!r} is a folder; name a file in it with --out."
        )
    if not path.parent.is_dir():
        raise FileNotFoundError(
            f"There is no folder {folder!r} to write {path.name!r} into; "
            "create it, or choose another with --out."
        )
    if not os.access(path.parent, os.W_OK):
        raise PermissionError(
            f"The folder {folder!r} may not be written to; choose another with --out."
        )


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Say which file it was, if what the block writes fails (no space left, say)."""
    try:
        yield
    except OSError as error:
        raise OSError(
            f"Cannot write {str(path)!r}: {error.strerror or error}; "
            "make room, or choose another place with --out."
        ) from error


@contextmanager
def written_whole(path: Path) -> Iterator[BinaryIO]:
    """Give a file to write to, which takes the place of `path` if the block succeeds.

    If anything goes wrong, a file that was there before stays.
    """
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with open(beside, "xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
