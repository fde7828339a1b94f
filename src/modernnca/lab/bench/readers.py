"""A dataset by its name, wherever it is.

A name is one of:
    adult              a folder in the data folder, by its own or its TALENT name
    iris               a table that comes with scikit-learn, if no folder is so called
    builtin:iris       the same, whatever the data folder holds
    tables/a.csv:y     a file (CSV, TSV or Parquet) and its target column
    openml:31          a number of OpenML
"""

from collections.abc import Callable
from difflib import get_close_matches
from pathlib import Path

from modernnca.errors import TableError
from modernnca.lab.bench.bundled import BUNDLED, read_bundled
from modernnca.lab.bench.dataset import Dataset
from modernnca.lab.bench.file_datasets import names_a_file, read_file
from modernnca.lab.bench.folders import (
    VARIABLE,
    Folder,
    data_folder,
    names_in,
    open_folder,
    paths_by_name,
)
from modernnca.lab.bench.house import read_house
from modernnca.lab.bench.openml import read_openml
from modernnca.lab.bench.talent import read_talent

_BY_PREFIX: dict[str, Callable[[str], Dataset]] = {
    "builtin": read_bundled,
    "openml": read_openml,
}
_BY_KIND: dict[str, Callable[[Folder], Dataset]] = {
    "house": read_house,
    "talent": read_talent,
}


def read_dataset(name: str, *, data: Path | None = None) -> Dataset:
    """Read the dataset of this name (see the file's top), or say what is close to it.

    Args:
        data: the folder of folders; without it, the one MODERNNCA_DATA names.

    >>> read_dataset("builtin:wine").task
    'multiclass'
    """
    prefix, _, rest = name.partition(":")
    if prefix in _BY_PREFIX and rest:
        return _BY_PREFIX[prefix](rest)
    if names_a_file(name):
        return read_file(name)
    folder = _find_folder(name, data)
    if folder is not None:
        return _BY_KIND[folder.kind](folder)
    if name in BUNDLED:
        return read_bundled(name)
    raise _unknown(name, data)


def _find_folder(name: str, data: Path | None) -> Folder | None:
    data = data_folder(data)
    if data is None:
        return None
    path = data / name if name in names_in(data) else paths_by_name(data).get(name)
    return None if path is None else open_folder(path)


def _unknown(name: str, data: Path | None) -> TableError:
    """Say that no dataset has this name, where it was looked for, and the way out."""
    data = data_folder(data)
    names = [*BUNDLED, *(names_in(data) if data else ())]
    place = (
        f"no folder in {str(data)!r} has this name"
        if data
        else f"no data folder is named by --data or {VARIABLE}"
    )
    close = get_close_matches(name, names, n=3, cutoff=0.5)
    way_out = (
        f"did you mean {' or '.join(map(repr, close))}?"
        if close
        else "write FILE.csv:TARGET for a file, or openml:NUMBER."
    )
    return TableError(
        f"Unknown dataset {name!r}: it is not built in, and {place}; {way_out}"
    )
