"""Files named by the user: checked before any work."""

import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from modernnca._files import check_regular


def check_input(path: Path) -> None:
    """Raise if there is no such file to read."""
    if not path.exists():
        raise FileNotFoundError(
            f"There is no file {path.name!r} in {str(path.absolute().parent)!r}; "
            "check its name and folder."
        )
    check_regular(path, path.stat().st_mode)


def check_output(path: Path, *, inputs: Iterable[Path] = ()) -> None:
    """Raise if no such file can be written, or if it is one of the `inputs`.

    A link is followed: what it names would be replaced.
    """
    place = Path(os.path.realpath(path))
    folder = str(place.parent if path.is_symlink() else path.parent)
    if path.is_dir():
        raise IsADirectoryError(
            f"{str(path)!r} is a folder; name a file in it with --out."
        )
    if path.exists() and not path.is_file():
        raise OSError(
            f"{str(path)!r} is a device, a FIFO or a socket; name a file with --out."
        )
    for given in inputs:
        if path.exists() and given.exists() and path.samefile(given):
            raise ValueError(
                f"The output would replace {str(given)!r}, which is read; name another."
            )
    if not place.parent.is_dir():
        raise FileNotFoundError(
            f"There is no folder {folder!r} to write {path.name!r} into; "
            "create it, or choose another with --out."
        )
    try:  # os.access says yes to root, even where a disk is mounted read-only
        with tempfile.TemporaryFile(dir=place.parent) as file:
            file.write(b"?")
    except OSError as error:
        raise PermissionError(
            f"The folder {folder!r} cannot be written to "
            f"({error.strerror or error}); choose another with --out."
        ) from error


def check_space(path: Path, n_bytes: int) -> None:
    """Raise if there is no room for a file of about this size."""
    free = shutil.disk_usage(path.parent).free
    if free < n_bytes:
        raise OSError(
            f"The model will take about {n_bytes / 1e6:,.0f} MB, but only "
            f"{free / 1e6:,.0f} MB are free in {str(path.parent)!r}; make room, or "
            "choose another place with --out."
        )


def write_somewhere(write: Callable[[Path], None], path: Path) -> None:
    """Write a file that took long to make; if that fails, write it somewhere else.

    The error then says where it is, so that nothing is lost.
    """
    try:
        write(path)
        return
    except OSError as error:
        failed = error
    message = f"Cannot write {str(path)!r}: {failed.strerror or failed}"
    for folder in (Path.home(), Path(tempfile.gettempdir())):
        name = f"{path.stem}-{os.getpid()}{path.suffix}"  # not that of another file
        try:
            write(folder / name)
        except OSError:
            continue
        raise OSError(
            f"{message}. The model is in {str(folder / name)!r} instead; move it from "
            "there."
        ) from failed
    raise OSError(
        f"{message}, nor to the home or temporary folder; make room, or "
        "choose another place with --out."
    ) from failed


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Name the file if writing it fails (no space left, say)."""
    try:
        yield
    except OSError as error:
        raise OSError(
            f"Cannot write {str(path)!r}: {error.strerror or error}; "
            "make room, or choose another place with --out."
        ) from error
