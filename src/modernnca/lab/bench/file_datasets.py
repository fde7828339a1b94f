"""Read a table from one file, CSV, TSV or Parquet, with a target column."""

import re
from collections.abc import Callable
from difflib import get_close_matches
from functools import partial
from pathlib import Path

import pandas as pd
import pyarrow as pa

from modernnca.errors import TableError
from modernnca.lab.bench.dataset import (
    Dataset,
    guess_task,
    target_values,
    with_categories,
)

_FORMATS: dict[str, Callable[[Path], pd.DataFrame]] = {
    ".csv": pd.read_csv,
    ".tsv": partial(pd.read_csv, sep="\t"),
    ".parquet": pd.read_parquet,
}
_NAME = re.compile(r"(?P<path>.+?\.(?:csv|tsv|parquet))(?::(?P<target>.+))?", re.I)


def names_a_file(name: str) -> bool:
    """Say whether a name is that of a file: FILE.csv:TARGET, or without the target.

    >>> names_a_file("tables/wine.csv:quality"), names_a_file("wine.csv.d")
    (True, False)
    """
    return _NAME.fullmatch(name) is not None


def read_file(name: str) -> Dataset:
    """Read the table of `FILE:TARGET`; its task follows from the target's values."""
    match = _NAME.fullmatch(name)
    assert match is not None
    path, target = Path(match["path"]), match["target"]
    frame = read_frame(path)
    if target is None:
        raise TableError(
            f"{name!r} does not say which column is the target; write "
            f"'{name}:{frame.columns[-1]}', for example."
        )
    y = take_target(frame, target, source=repr(str(path)))
    task = guess_task(y)
    return Dataset(
        name=name,
        task=task,
        X=with_categories(frame),
        y=target_values(y, task=task, source=repr(str(path))),
        info={"name": name, "task": task, "target": target, "source": str(path)},
    )


def read_frame(path: Path) -> pd.DataFrame:
    """Read a frame of at least one row, a column and a target."""
    if not path.is_file():
        raise TableError(f"There is no file {str(path)!r}; name another.")
    try:
        frame = _FORMATS[path.suffix.lower()](path)
    except (OSError, ValueError, pa.ArrowException) as error:
        raise unreadable(path, error) from error
    if not len(frame) or frame.shape[1] < 2:
        raise TableError(
            f"{str(path)!r} has {len(frame)} rows and {frame.shape[1]} columns; "
            "a table needs at least one row, one column and a target."
        )
    return frame.reset_index(drop=True).rename(columns=str)


def unreadable(path: Path, error: Exception) -> TableError:
    """Say that a file cannot be read, and why."""
    reason = getattr(error, "strerror", None) or " ".join(str(error).split())
    return TableError(
        f"Cannot read {str(path)!r}: {reason.rstrip('.')}; repair the file, or name "
        "another."
    )


def take_target(frame: pd.DataFrame, target: object, *, source: str) -> pd.Series:
    """Take the target's column out of a frame."""
    if target not in frame.columns:
        names = [*frame.columns]
        close = get_close_matches(str(target), names, n=1) or names[-1:]
        raise TableError(
            f"The target of {source} is said to be {target!r}, which is no column of "
            f"the table; did you mean {close[0]!r}?"
        )
    return frame.pop(target)
