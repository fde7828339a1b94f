"""Records on disk: one SQLite file in a folder, read as a frame.

Each record is appended in one transaction. A damaged file is set aside, and its
readable records are kept: every record has a digest.
"""

import fcntl
import hashlib
import io
import json
import os
import socket
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from modernnca.errors import StoreError
from modernnca.lab.bench.arrays import load_arrays
from modernnca.lab.bench.job import KINDS, Job, Record
from modernnca.lab.bench.provenance import now
from modernnca.table.metrics import METRICS

_TABLES = (
    "CREATE TABLE IF NOT EXISTS records ("
    "key TEXT PRIMARY KEY, record TEXT NOT NULL, arrays BLOB, digest TEXT NOT NULL)",
    "CREATE TABLE IF NOT EXISTS jobs (key TEXT PRIMARY KEY, job TEXT NOT NULL)",
)
_MAX_ROWID = 2**62  # above every row ID in use
_MAX_EXPANSION = 1200  # of what is compressed: a constant column is a thousandth
_FACTS = (
    *("fit_seconds", "predict_seconds", "peak_bytes", "model_bytes"),
    *("n_train", "n_test", "n_columns"),
)
_COLUMNS = (
    *("key", "dataset", "task", "method", "settings", "split", "seed", "status"),
    *("error", *METRICS, *_FACTS, "finished"),
)


class Store:
    """A folder of records.

    `notes` describes the repairs made when the store was opened.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self.notes: list[str] = []
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(
                f"{str(self.folder)!r} cannot be used as a store ({error.strerror}); "
                "choose a writable folder."
            ) from error
        self.file = self.folder / "records.sqlite"
        self._recover()

    @property
    def trials(self) -> Path:
        """The folder for the trials of searches."""
        return self.folder / "trials"

    @contextmanager
    def write_lock(self) -> Iterator[None]:
        """Hold the lock that lets one process at a time run jobs."""
        try:
            lock = (self.folder / "lock").open("a+")
        except OSError as error:
            raise StoreError(
                f"{str(self.folder)!r} cannot be used as a store ({error.strerror}); "
                "choose a writable folder."
            ) from error
        with lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                lock.seek(0)
                holder = lock.read().strip() or "Another process"
                raise StoreError(
                    f"{holder} is writing to the store {str(self.folder)!r}; wait for "
                    "it, stop it, or choose another store. (Status and report work "
                    "meanwhile.)"
                ) from error
            lock.truncate(0)
            lock.write(
                f"Process {os.getpid()} on {socket.gethostname()}, since {now()},"
            )
            lock.flush()
            yield

    def append(self, record: Record) -> bool:
        """Write one record; return False if its job already has one."""
        text, arrays = _to_text(record), _to_bytes(record)
        row = (record.job.key, text, arrays, _digest(text, arrays))
        with self._writing() as file:
            done = file.execute("INSERT OR IGNORE INTO records VALUES (?,?,?,?)", row)
            return done.rowcount == 1

    def plan(self, jobs: Iterable[Job]) -> None:
        """Record which jobs are planned, to count the missing ones."""
        rows = [(job.key, json.dumps(asdict(job), sort_keys=True)) for job in jobs]
        with self._writing() as file:
            file.executemany("INSERT OR REPLACE INTO jobs VALUES (?, ?)", rows)

    def planned(self) -> list[Job]:
        """Return the jobs planned by all runs so far."""
        with closing(self._open()) as file:
            rows = file.execute("SELECT job FROM jobs ORDER BY rowid").fetchall()
        return [Job(**json.loads(text)) for (text,) in rows]

    def delete(self, keys: list[str]) -> None:
        """Delete records, so that their jobs run again."""
        with self._writing() as file:
            file.executemany(
                "DELETE FROM records WHERE key = ?", [(key,) for key in keys]
            )

    def records(
        self, *, arrays: bool = False, kinds: Sequence[str] = KINDS
    ) -> list[Record]:
        """Return all records sorted by key, with predictions only if `arrays`."""
        columns = "record, arrays" if arrays else "record, NULL"
        with closing(self._open()) as file:
            # Not filtered by SQL, whose JSON has no NaN.
            rows = file.execute(f"SELECT {columns} FROM records ORDER BY key")
            found = (_to_record(*row) for row in rows)
            return [record for record in found if record.job.kind in kinds]

    def keys(self) -> set[str]:
        """Return the keys of the jobs that have a record."""
        with closing(self._open()) as file:
            return {key for (key,) in file.execute("SELECT key FROM records")}

    def frame(self) -> pd.DataFrame:
        """Return one row for each fit: job, status, scores, costs."""
        rows = [to_row(each) for each in self.records() if each.job.kind == "fit"]
        return pd.DataFrame(rows, columns=list(_COLUMNS))

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """One transaction; if the disk is full, say which file is."""
        try:
            with closing(self._open()) as file, file:
                yield file
        except sqlite3.Error as error:
            raise StoreError(
                f"A record could not be written to {str(self.file)!r} ({error}); the "
                "records before it are safe. Free some disk space or check the "
                "permissions, and run again: only missing jobs will run."
            ) from error

    def _open(self) -> sqlite3.Connection:
        file = sqlite3.connect(self.file, timeout=30)
        for table in _TABLES:
            file.execute(table)
        return file

    def _recover(self) -> None:
        """Set a damaged file aside, and start a new one with its readable records."""
        try:
            with closing(self._open()) as file:
                checked = file.execute("PRAGMA quick_check").fetchall()
                rows = file.execute("SELECT key, record, arrays, digest FROM records")
                jobs = file.execute("SELECT key, job FROM jobs")
                intact = (
                    checked == [("ok",)]
                    and all(_is_intact(*row) for row in rows)
                    and all(_is_planned(*row) for row in jobs)
                )
        except sqlite3.OperationalError as error:
            if "malformed" not in str(error) and "disk image" not in str(error):
                raise StoreError(
                    f"{str(self.file)!r} cannot be opened ({error}); check that the "
                    "folder is writable and the disk has space."
                ) from error
            intact = False
        except sqlite3.DatabaseError:
            intact = False
        if intact:
            return
        damaged = self.file.with_name(f"damaged-{now().replace(':', '')}.sqlite")
        self.file.rename(damaged)
        for rest in self.folder.glob("records.sqlite-*"):
            rest.rename(
                damaged.with_name(damaged.name + rest.name[len(self.file.name) :])
            )
        kept = 0
        with closing(self._open()) as file, file:
            for row in _intact_rows(damaged):
                file.execute("INSERT OR IGNORE INTO records VALUES (?,?,?,?)", row)
                kept += 1
        self.notes.append(
            f"The store was damaged. It was set aside as {damaged.name}; {kept} "
            "readable records were kept, and missing jobs will run again."
        )


def _intact_rows(damaged: Path) -> Iterator[tuple[str, str, bytes | None, str]]:
    """Yield the rows of a damaged file that are readable and match their digest.

    Reading continues behind a damaged page: by ascending row ID up to it, then by
    descending row ID, then one by one in between.
    """
    with closing(sqlite3.connect(f"file:{damaged}?mode=ro", uri=True)) as file:
        low, high = 0, _MAX_ROWID
        for row in _select(file, "rowid > 0 ORDER BY rowid"):
            low = row[0]
            yield from _if_intact(row)
        for row in _select(file, f"rowid > {low} ORDER BY rowid DESC"):
            high = row[0]
            yield from _if_intact(row)
        if high < _MAX_ROWID:
            for rowid in range(low + 1, high):
                for row in _select(file, f"rowid = {rowid}"):
                    yield from _if_intact(row)


def _select(file: sqlite3.Connection, where: str) -> Iterator[tuple]:
    """Yield rows up to the first one that cannot be read."""
    try:
        yield from file.execute(
            "SELECT rowid, key, record, arrays, digest FROM records "
            f"NOT INDEXED WHERE {where}"
        )
    except sqlite3.Error:
        return


def _if_intact(row: tuple) -> Iterator[tuple]:
    """Yield the row without its row ID, if it matches its digest."""
    if _is_intact(*row[1:]):
        yield row[1:]


def _is_intact(key: Any, text: Any, arrays: Any, digest: Any) -> bool:
    """Whether a row is a record that matches its digest and its key."""
    try:
        record = _to_record(text, None)
        return (
            _digest(text, arrays) == digest
            and record.job.key == key
            and isinstance(record.scores, dict)
            and isinstance(record.facts, dict)
            and all(isinstance(score, int | float) for score in record.scores.values())
        )
    except Exception:  # a damaged row may raise anything
        return False


def _is_planned(key: Any, text: Any) -> bool:
    try:
        return bool(Job(**json.loads(text)).key == key)
    except Exception:
        return False


def _digest(text: str, arrays: bytes | None) -> str:
    return hashlib.sha256(text.encode() + b"\0" + (arrays or b"")).hexdigest()


def _to_text(record: Record) -> str:
    fields = asdict(record)
    del fields["prediction"], fields["truth"]
    return json.dumps(fields, sort_keys=True, default=_to_json)


def _to_json(value: Any) -> Any:
    """Convert NumPy scalars among the settings to plain numbers."""
    return value.item() if hasattr(value, "item") else str(value)


def _to_bytes(record: Record) -> bytes | None:
    if record.prediction is None or record.truth is None:
        return None
    file = io.BytesIO()
    np.savez_compressed(file, prediction=record.prediction, truth=record.truth)
    return file.getvalue()


def _to_record(text: str, arrays: bytes | None) -> Record:
    fields = json.loads(text)
    fields["job"] = Job(**fields["job"])
    if arrays is not None:
        stored = load_arrays(io.BytesIO(arrays), most=_MAX_EXPANSION * len(arrays))
        fields.update(prediction=stored["prediction"], truth=stored["truth"])
    return Record(**fields)


def to_row(record: Record) -> dict[str, Any]:
    """Return a record as a row of a frame."""
    job = record.job
    return {
        "key": job.key,
        "dataset": job.dataset,
        "task": record.task,
        "method": job.label or job.method,
        "settings": "tuned" if job.trials else "default",
        "split": job.split,
        "seed": job.seed,
        "status": record.status,
        "error": record.error,
        **record.scores,
        **{name: record.facts.get(name) for name in _FACTS},
        "finished": record.finished,
    }
