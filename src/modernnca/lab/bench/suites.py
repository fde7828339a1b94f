"""Named lists of datasets, and the choice among them by task and size."""

import json
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from modernnca._named import named
from modernnca.errors import TableError
from modernnca.lab.bench.bundled import BUNDLED
from modernnca.lab.bench.dataset import TASKS
from modernnca.lab.bench.folders import (
    VARIABLE,
    data_folder,
    names_in,
    open_folder,
    paths_by_name,
)
from modernnca.lab.bench.readers import read_dataset

_LOGGER = logging.getLogger(__name__)
_TASKS = {
    "binclass": ("binclass",),
    "multiclass": ("multiclass",),
    "classification": ("binclass", "multiclass"),
    "regression": ("regression",),
}


@dataclass(frozen=True)
class Suite:
    """A list of datasets with a name; without datasets, all in the data folder."""

    name: str
    title: str
    datasets: tuple[str, ...] | None


class Chosen(NamedTuple):
    """The datasets to use, and those that were asked for but cannot be read."""

    names: tuple[str, ...]
    missing: tuple[str, ...]


class _Facts(NamedTuple):
    """What the filters ask of a dataset."""

    name: str
    task: str
    n_rows: int
    n_columns: int


def _read_suites() -> dict[str, Suite]:
    """Read the suites of the paper beside the two that need no list."""
    lists = json.loads(Path(__file__).with_name("suites.json").read_text())
    builtin = tuple(f"builtin:{name}" for name in BUNDLED)
    suites = (
        Suite("builtin", "The tables that come with scikit-learn", builtin),
        Suite("all", "Every table of the data folder", None),
        *(
            Suite(name, suite["title"], tuple(suite["datasets"]))
            for name, suite in lists.items()
        ),
    )
    return {suite.name: suite for suite in suites}


SUITES: dict[str, Suite] = _read_suites()


def choose(
    suite: str | Sequence[str],
    *,
    data: Path | None = None,
    task: str | None = None,
    min_rows: int | None = None,
    max_rows: int | None = None,
    max_columns: int | None = None,
) -> Chosen:
    """Choose the datasets of a suite, or of a list of names, that pass the filters.

    What a suite names and the data folder lacks, or holds in a broken folder, is
    `missing`; a name of a list that nobody knows raises a `TableError`. Filters read
    info.json only, where that says enough. A table has the name of its folder, however
    it was asked for.

    Args:
        task: one of TASKS, or "classification" for both kinds of classes.

    >>> choose("builtin", task="regression")
    Chosen(names=('builtin:diabetes',), missing=())
    """
    tasks = TASKS if task is None else named("task", task, _TASKS)
    data = data_folder(data)
    paths = {} if data is None else paths_by_name(data)
    chosen: list[_Facts] = []
    missing: list[str] = []
    for name in _asked(suite, data):
        # A suite means folders: TALENT's wine is not the wine of scikit-learn.
        if isinstance(suite, str) and name not in paths and ":" not in name:
            missing.append(name)
            continue
        try:
            chosen.append(_facts(name, paths, data))
        except TableError as error:
            if not isinstance(suite, str):
                raise
            _LOGGER.warning("%s", error)
            missing.append(name)
    names = [
        facts.name
        for facts in chosen
        if facts.task in tasks
        and (min_rows is None or facts.n_rows >= min_rows)
        and (max_rows is None or facts.n_rows <= max_rows)
        and (max_columns is None or facts.n_columns <= max_columns)
    ]
    return Chosen(tuple(dict.fromkeys(names)), tuple(missing))


def _asked(suite: str | Sequence[str], data: Path | None) -> Sequence[str]:
    if not isinstance(suite, str):
        return suite
    datasets = named("suite", suite, SUITES).datasets
    if datasets is not None:
        return datasets
    if data is None:
        raise TableError(
            f"The suite {suite!r} is all that the data folder holds; say where that is "
            f"with --data or {VARIABLE}."
        )
    return names_in(data)


def _facts(name: str, paths: dict[str, Path], data: Path | None) -> _Facts:
    """Read what info.json says of a dataset; if there is none, the dataset itself."""
    if name in paths:
        folder = open_folder(paths[name])
        if folder.n_rows is not None and folder.n_columns is not None:
            return _Facts(folder.name, folder.task, folder.n_rows, folder.n_columns)
    dataset = read_dataset(name, data=data)
    return _Facts(dataset.name, dataset.task, *dataset.X.shape)
