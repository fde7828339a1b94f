"""The tables of a data folder, and what their info.json says of them.

A table is a folder of its own, of one of two kinds:
    house   data.parquet, info.json with "task" and "target", maybe splits.npz
    talent  N_*.npy, C_*.npy and y_*.npy for train, val and test, and info.json
"""

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from modernnca.errors import TableError
from modernnca.lab.bench.dataset import TASKS

VARIABLE = "MODERNNCA_DATA"  # the environment's word on where the tables are
_MARKS = {"house": "data.parquet", "talent": "y_train.npy"}
_TASK_KEYS = {"house": "task", "talent": "task_type"}


@dataclass(frozen=True)
class Folder:
    """A table on disk, of which only info.json was read."""

    path: Path
    kind: str  # "house" or "talent"
    info: dict[str, Any]

    @property
    def name(self) -> str:
        """The name of the folder, by which the table is known."""
        return self.path.name

    @property
    def task(self) -> str:
        """One of TASKS."""
        return str(self.info[_TASK_KEYS[self.kind]])

    @property
    def n_rows(self) -> int | None:
        """How many rows it has, if info.json says so."""
        sizes = ("train_size", "val_size", "test_size")
        return self._sum(("n_rows",) if self.kind == "house" else sizes)

    @property
    def n_columns(self) -> int | None:
        """How many columns it has without the target, if info.json says so."""
        house = self.kind == "house"
        return self._sum(
            ("n_num", "n_cat") if house else ("n_num_features", "n_cat_features")
        )

    def _sum(self, keys: tuple[str, ...]) -> int | None:
        values = [self.info.get(key) for key in keys]
        whole = [value for value in values if isinstance(value, int)]
        return sum(whole) if len(whole) == len(keys) else None


def data_folder(data: Path | None) -> Path | None:
    """Return the folder that holds the tables: the one given, or the environment's."""
    if data is None and os.environ.get(VARIABLE):
        data = Path(os.environ[VARIABLE])
    if data is not None and not data.is_dir():
        raise TableError(
            f"There is no folder {str(data)!r}; say where the tables are with --data "
            f"or {VARIABLE}."
        )
    return data


def names_in(data: Path) -> list[str]:
    """Name the tables of a data folder: the folders in it that hold one."""
    marks = ("info.json", *_MARKS.values())
    return sorted(
        path.name
        for path in data.iterdir()
        if any((path / mark).is_file() for mark in marks)
    )


def open_folder(path: Path) -> Folder:
    """Read what info.json says of a table."""
    kinds = [kind for kind, mark in _MARKS.items() if (path / mark).is_file()]
    if not kinds:
        raise TableError(
            f"The folder {str(path)!r} has neither {' nor '.join(_MARKS.values())}; "
            "put the table there, or remove the folder."
        )
    file = path / "info.json"
    try:
        info = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error).rstrip(".")
        raise TableError(
            f"Cannot read {str(file)!r}: {reason}; it must say the task in JSON."
        ) from error
    key = _TASK_KEYS[kinds[0]]
    task = info.get(key) if isinstance(info, dict) else None
    if task not in TASKS:
        raise TableError(
            f"{str(file)!r} has {key} {task!r}; make it one of: {', '.join(TASKS)}."
        )
    return Folder(path, kinds[0], info)


def paths_by_name(data: Path) -> dict[str, Path]:
    """Map each name of a table to its folder: the folder's own, then TALENT's."""
    paths: dict[str, Path] = {}
    for folder in names_in(data):
        try:
            info = open_folder(data / folder).info
        except TableError:  # told to whoever opens it
            info = {}
        for alias in (info.get("talent_name_if_in_tables"), info.get("name")):
            if isinstance(alias, str):
                paths.setdefault(alias, data / folder)
    return paths | {folder: data / folder for folder in names_in(data)}
