"""Files: read only if they are files, written whole or not at all.

Opening a FIFO would wait for ever, and a device may have no end; both are refused. A
file is written beside its place and then moved there in one step, so that whoever is
killed, or finds the disk full, leaves the old file behind.
"""

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

try:
    import fcntl
except ImportError:  # not on Windows
    fcntl = None  # type: ignore[assignment]

_PARTIAL = ".partial"  # how the names of unfinished files end
_MAX_NAME = 200  # bytes of the name of a file that an unfinished one repeats
_KINDS = {
    stat.S_IFIFO: "a FIFO",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
}


def open_regular(path: str | os.PathLike) -> BinaryIO:
    """Open a file to read; raise if it is a folder, a FIFO or a device.

    >>> open_regular("/dev/null")
    Traceback (most recent call last):
    ...
    OSError: '/dev/null' is a device, not a file; name a file.
    """
    # Without O_NONBLOCK, opening a FIFO waits for a writer.
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    handle = os.open(path, flags)
    try:
        check_regular(path, os.fstat(handle).st_mode)
        return os.fdopen(handle, "rb")
    except BaseException:
        os.close(handle)
        raise


def check_regular(path: str | os.PathLike, mode: int) -> None:
    """Raise unless `mode`, of a `stat`, is that of a file."""
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(f"{str(path)!r} is a folder; name a file in it.")
    if not stat.S_ISREG(mode):
        kind = _KINDS.get(stat.S_IFMT(mode), "something else")
        raise OSError(f"{str(path)!r} is {kind}, not a file; name a file.")


def read_regular(path: str | os.PathLike) -> bytes:
    """The content of a file; never more than it had when it was opened."""
    with open_regular(path) as file:
        return file.read(os.fstat(file.fileno()).st_size)


@contextmanager
def written_whole(path: str | os.PathLike) -> Iterator[BinaryIO]:
    """Give a file to write to, which takes the place of `path` if the block succeeds.

    If anything goes wrong, an existing file stays. A link stays a link, and the file
    that it names is replaced; a device or a FIFO is refused. An existing file keeps its
    permissions. What killed writers of the same file left behind is removed.
    """
    place = Path(os.path.realpath(path))
    before = None
    with suppress(FileNotFoundError):
        before = os.stat(place)
        check_regular(path, before.st_mode)
    _remove_left_behind(place)
    beside = place.with_name(f"{_prefix(place)}{secrets.token_hex(4)}{_PARTIAL}")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    try:
        handle = os.open(beside, flags, 0o666 if before is None else 0o600)
        with os.fdopen(handle, "wb") as file:
            _lock(file)
            if before is not None:
                _take_over(file, before)
            yield file
            file.flush()
            os.fsync(file.fileno())
            if fcntl is not None:  # while it is locked, nobody removes it
                os.replace(beside, place)
        if fcntl is None:  # Windows moves no open file
            os.replace(beside, place)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


def _lock(file: BinaryIO) -> None:
    """Lock a new file for as long as its writer lives."""
    if fcntl is None:
        return
    with suppress(OSError):  # some network disks have no locks
        fcntl.flock(file, fcntl.LOCK_EX)
    if not os.fstat(file.fileno()).st_nlink:
        raise OSError("another process has just written the same file; try again.")


def _prefix(place: Path) -> str:
    name = place.name.encode()[:_MAX_NAME].decode(errors="ignore")
    return f".{name}."


def _take_over(file: BinaryIO, before: os.stat_result) -> None:
    """Give a new file the owner and the permissions of the one that it replaces."""
    if hasattr(os, "fchown"):
        with suppress(OSError):  # only root may give files away
            os.fchown(file.fileno(), before.st_uid, before.st_gid)
    if hasattr(os, "fchmod"):
        os.fchmod(file.fileno(), stat.S_IMODE(before.st_mode))


def _remove_left_behind(place: Path) -> None:
    """Remove unfinished files of this place whose writers are dead: no one locks them.

    Where files cannot be locked, they stay.
    """
    if fcntl is None:
        return
    start, length = _prefix(place), len(_prefix(place)) + 8 + len(_PARTIAL)
    with suppress(OSError):
        names = [
            name
            for name in os.listdir(place.parent)
            if name.startswith(start)
            and name.endswith(_PARTIAL)
            and len(name) == length
        ]
        for name in names:
            left = place.with_name(name)
            with suppress(OSError), open_regular(left) as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                left.unlink()
