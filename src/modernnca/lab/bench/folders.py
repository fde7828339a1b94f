"""The datasets of a data folder, and their info.json.

Each dataset is a folder of one of two kinds:
    parquet  data.parquet, info.json with "task" and "target", optionally splits.npz
    talent   N_*.npy, C_*.npy and y_*.npy for train, val and test, and info.json
"""

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from modernnca.errors import TableError
from modernnca.lab.bench.dataset import TASKS

DATA_VARIABLE = "MODERNNCA_DATA"  # environment variable that names the data folder
_MARKER_FILES = {"parquet": "data.parquet", "talent": "y_train.npy"}
_TASK_KEYS = {"parquet": "task", "talent": "task_type"}


@dataclass(frozen=True)
class Folder:
    """A dataset on disk, of which only info.json has been read."""

    path: Path
    kind: str  # "parquet" or "talent"
    info: dict[str, Any]

    @property
    def name(self) -> str:
        """The name of the dataset: that of its folder."""
        return self.path.name

    @property
    def task(self) -> str:
        """One of TASKS."""
        return str(self.info[_TASK_KEYS[self.kind]])

    @property
    def n_rows(self) -> int | None:
        """Number of rows, if info.json has it."""
        sizes = ("train_size", "val_size", "test_size")
        return self._sum(("n_rows",) if self.kind == "parquet" else sizes)

    @property
    def n_columns(self) -> int | None:
        """Number of columns without the target, if info.json has it."""
        if self.kind == "parquet":
            return self._sum(("n_num", "n_cat"))
        return self._sum(("n_num_features", "n_cat_features"))

    def _sum(self, keys: tuple[str, ...]) -> int | None:
        values = [self.info.get(key) for key in keys]
        integers = [value for value in values if isinstance(value, int)]
        return sum(integers) if len(integers) == len(keys) else None


def data_folder(data: Path | None) -> Path | None:
    """Return the data folder: the one given, or that of the environment variable."""
    if data is None and os.environ.get(DATA_VARIABLE):
        data = Path(os.environ[DATA_VARIABLE])
    if data is not None and not data.is_dir():
        raise TableError(
            f"The data folder {str(data)!r} does not exist; set it with --data or "
            f"{DATA_VARIABLE}."
        )
    return data


def names_in(data: Path) -> list[str]:
    """Return the names of the datasets in a data folder."""
    markers = ("info.json", *_MARKER_FILES.values())
    return sorted(
        path.name
        for path in data.iterdir()
        if any((path / marker).is_file() for marker in markers)
    )


def open_folder(path: Path) -> Folder:
    """Read the info.json of a dataset."""
    kinds = [kind for kind, file in _MARKER_FILES.items() if (path / file).is_file()]
    if not kinds:
        raise TableError(
            f"The folder {str(path)!r} has neither "
            f"{' nor '.join(_MARKER_FILES.values())}; add one, or remove the folder."
        )
    file = path / "info.json"
    try:
        info = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        reason = getattr(error, "strerror", None) or str(error).rstrip(".")
        raise TableError(
            f"Cannot read {str(file)!r}: {reason}; it must be JSON with the task."
        ) from error
    key = _TASK_KEYS[kinds[0]]
    task = info.get(key) if isinstance(info, dict) else None
    if task not in TASKS:
        raise TableError(
            f"{str(file)!r} has {key} {task!r}; it must be one of: {', '.join(TASKS)}."
        )
    columns = info.get("cat_columns") or []
    if not isinstance(columns, list) or not all(isinstance(c, str) for c in columns):
        raise TableError(f"{str(file)!r} has cat_columns that are no list of names.")
    return Folder(path, kinds[0], info)


def paths_by_name(data: Path) -> dict[str, Path]:
    """Map every name of a dataset to its folder: folder names first, then aliases."""
    paths: dict[str, Path] = {}
    for folder in names_in(data):
        try:
            info = open_folder(data / folder).info
        except TableError:  # raised again when the dataset is opened
            info = {}
        for alias in (info.get("talent_name_if_in_tables"), info.get("name")):
            if isinstance(alias, str):
                paths.setdefault(alias, data / folder)
    return paths | {folder: data / folder for folder in names_in(data)}
