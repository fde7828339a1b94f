"""The journal of a search: lines of JSON in a file, each with a digest.

The digest of a line is also of all lines before it, so that a line that was changed,
lost or moved is found, and with it a search that would go on with other trials. An
incomplete last line is that of a process that died; it is dropped before more is
written. This is a backend for Optuna's `JournalStorage`.
"""

import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, NamedTuple

from modernnca._files import open_regular
from modernnca.errors import StoreError

_N_HEX = 16


class JournalError(ValueError):
    """A journal is damaged; the text says where."""


class _Mark(NamedTuple):
    """Where a line ends, and its digest."""

    offset: int = 0
    digest: str = ""


class Journal:
    """The lines of a search; processes that share it hold `lock` while they write."""

    def __init__(self, path: Path, lock: AbstractContextManager[Any]) -> None:
        self.path, self._lock = path, lock
        self._marks = [_Mark()]  # of the lines read so far
        with self._lock:
            path.open("ab").close()

    def read_logs(self, log_number_from: int) -> Iterator[dict[str, Any]]:
        """The lines from this number on; one that is not complete is not read."""
        start = min(log_number_from, len(self._marks) - 1)
        offset, digest = self._marks[start]
        with open_regular(self.path) as file:
            file.seek(offset)
            for number, line in enumerate(file, start):
                if not line.endswith(b"\n"):
                    return
                log, digest = _parse(line, digest, number)
                offset += len(line)
                if number + 1 == len(self._marks):
                    self._marks.append(_Mark(offset, digest))
                if number >= log_number_from:
                    yield log

    def append_logs(self, logs: list[dict[str, Any]]) -> None:
        """Write lines; all of them or, if that fails, none."""
        with self._lock:
            for _ in self.read_logs(len(self._marks) - 1):
                pass  # until the end
            offset, digest = self._marks[-1]
            content = b""
            for log in logs:
                text = json.dumps(log, separators=(",", ":")).encode()
                digest = _digest(digest, text)
                content += digest.encode() + b" " + text + b"\n"
            try:
                _write_at(self.path, offset, content)
            except OSError as error:
                raise StoreError(
                    f"The journal {str(self.path)!r} of the search cannot be written "
                    f"({error.strerror or error}); the trials that ended are safe. "
                    "Make room, and run again: the search resumes."
                ) from error


def _write_at(path: Path, offset: int, content: bytes) -> None:
    """Write behind the complete lines, over an incomplete one."""
    with path.open("r+b", buffering=0) as file:
        file.truncate(offset)
        file.seek(offset)
        try:
            n_written = 0
            while n_written < len(content):
                n_written += file.write(content[n_written:])
            os.fsync(file.fileno())
        except BaseException:
            file.truncate(offset)
            raise


def _parse(line: bytes, digest: str, number: int) -> tuple[dict[str, Any], str]:
    """The content of a line, and its digest."""
    found, _, text = line.rstrip(b"\n").partition(b" ")
    digest = _digest(digest, text)
    if found != digest.encode():
        raise JournalError(f"line {number + 1} is damaged, or of an older version")
    try:
        log = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise JournalError(f"line {number + 1} is damaged: {error}") from error
    if not isinstance(log, dict):
        raise JournalError(f"line {number + 1} is damaged")
    return log, digest


def _digest(before: str, text: bytes) -> str:
    return hashlib.sha256(before.encode() + text).hexdigest()[:_N_HEX]
