"""Read a dataset by its name.

A name is one of:
    adult              a folder in the data folder, by its own or its TALENT name
    iris               a dataset of scikit-learn, if no folder has this name
    builtin:iris       the same, even if a folder has this name
    tables/a.csv:y     a file (CSV, TSV or Parquet) and its target column
    openml:31          an OpenML ID
"""

from collections.abc import Callable
from difflib import get_close_matches
from pathlib import Path

from modernnca.errors import TableError
from modernnca.lab.bench.bundled import BUNDLED, read_bundled
from modernnca.lab.bench.dataset import Dataset
from modernnca.lab.bench.file_datasets import is_file_name, read_file
from modernnca.lab.bench.folders import (
    DATA_VARIABLE,
    Folder,
    data_folder,
    names_in,
    open_folder,
    paths_by_name,
)
from modernnca.lab.bench.openml import read_openml
from modernnca.lab.bench.parquet_folders import read_parquet_folder
from modernnca.lab.bench.talent import read_talent

_BY_PREFIX: dict[str, Callable[[str], Dataset]] = {
    "builtin": read_bundled,
    "openml": read_openml,
}
_BY_KIND: dict[str, Callable[[Folder], Dataset]] = {
    "parquet": read_parquet_folder,
    "talent": read_talent,
}


def read_dataset(name: str, *, data: Path | None = None) -> Dataset:
    """Read the dataset with this name; the module's docstring lists the names.

    Args:
        data: the data folder; by default that of the variable MODERNNCA_DATA.

    >>> read_dataset("builtin:wine").task
    'multiclass'
    """
    prefix, _, rest = name.partition(":")
    if prefix in _BY_PREFIX and rest:
        return _BY_PREFIX[prefix](rest)
    if is_file_name(name):
        return read_file(name)
    folder = _find_folder(name, data)
    if folder is not None:
        return _BY_KIND[folder.kind](folder)
    if name in BUNDLED:
        return read_bundled(name)
    raise _unknown_error(name, data)


def _find_folder(name: str, data: Path | None) -> Folder | None:
    data = data_folder(data)
    if data is None:
        return None
    path = data / name if name in names_in(data) else paths_by_name(data).get(name)
    return None if path is None else open_folder(path)


def _unknown_error(name: str, data: Path | None) -> TableError:
    """Return an error that says where the dataset was looked for, and what is close."""
    data = data_folder(data)
    names = [*BUNDLED, *(names_in(data) if data else ())]
    searched = (
        f"no folder in {str(data)!r} has this name"
        if data
        else f"no data folder is set by --data or {DATA_VARIABLE}"
    )
    close = get_close_matches(name, names, n=3, cutoff=0.5)
    way_out = (
        f"did you mean {' or '.join(map(repr, close))}?"
        if close
        else "write FILE.csv:TARGET for a file, or openml:ID."
    )
    return TableError(
        f"Unknown dataset {name!r}: it is not built in, and {searched}; {way_out}"
    )
