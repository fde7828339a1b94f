"""Read a dataset from one CSV, TSV or Parquet file with a target column."""

import re
from collections.abc import Callable
from difflib import get_close_matches
from functools import partial
from pathlib import Path

import pandas as pd

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


def is_file_name(name: str) -> bool:
    """Return whether a dataset name has the form FILE.csv:TARGET or FILE.csv.

    >>> is_file_name("tables/wine.csv:quality"), is_file_name("wine.csv.d")
    (True, False)
    """
    return _NAME.fullmatch(name) is not None


def read_file(name: str) -> Dataset:
    """Read the dataset `FILE:TARGET` and guess its task from the target."""
    match = _NAME.fullmatch(name)
    assert match is not None
    path, target = Path(match["path"]), match["target"]
    frame = read_frame(path)
    if target is None:
        raise TableError(
            f"{name!r} has no target column; write, for example, "
            f"'{name}:{frame.columns[-1]}'."
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
    """Read a frame with at least one row, one feature and a target."""
    if not path.is_file():
        raise TableError(f"The file {str(path)!r} does not exist; check the path.")
    try:
        frame = _FORMATS[path.suffix.lower()](path)
    except Exception as error:  # damage may raise anything, such as a KeyError
        raise unreadable_error(path, error) from error
    if not len(frame) or frame.shape[1] < 2:
        raise TableError(
            f"{str(path)!r} has {len(frame)} rows and {frame.shape[1]} columns; "
            "a dataset needs at least one row, one feature and a target."
        )
    return frame.reset_index(drop=True).rename(columns=str)


def unreadable_error(path: Path, error: Exception) -> TableError:
    """Return an error that says which file cannot be read, and why."""
    reason = getattr(error, "strerror", None) or " ".join(str(error).split())
    return TableError(
        f"Cannot read {str(path)!r}: {reason.rstrip('.')}; repair the file, or choose "
        "another."
    )


def take_target(frame: pd.DataFrame, target: object, *, source: str) -> pd.Series:
    """Remove the target column from the frame and return it."""
    if not isinstance(target, str) or target not in frame.columns:
        names = [*frame.columns]
        close = get_close_matches(str(target), names, n=1) or names[-1:]
        raise TableError(
            f"The target {target!r} of {source} is not a column of the table; "
            f"did you mean {close[0]!r}?"
        )
    return frame.pop(target)
