"""Named lists of datasets, and filters by task and size."""

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
    DATA_VARIABLE,
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
    """A named list of datasets; None stands for all datasets in the data folder."""

    name: str
    title: str
    datasets: tuple[str, ...] | None


class Selection(NamedTuple):
    """The datasets to use, and the requested ones that cannot be read."""

    names: tuple[str, ...]
    missing: tuple[str, ...]


class _Summary(NamedTuple):
    """The properties of a dataset that the filters use."""

    name: str
    task: str
    n_rows: int
    n_columns: int


def _read_suites() -> dict[str, Suite]:
    """Return the paper's suites, from suites.json, and the two without a list."""
    lists = json.loads(Path(__file__).with_name("suites.json").read_text())
    builtin = tuple(f"builtin:{name}" for name in BUNDLED)
    suites = (
        Suite("builtin", "The datasets that come with scikit-learn", builtin),
        Suite("all", "Every dataset of the data folder", None),
        *(
            Suite(name, suite["title"], tuple(suite["datasets"]))
            for name, suite in lists.items()
        ),
    )
    return {suite.name: suite for suite in suites}


SUITES: dict[str, Suite] = _read_suites()


def select_datasets(
    suite: str | Sequence[str],
    *,
    data: Path | None = None,
    task: str | None = None,
    min_rows: int | None = None,
    max_rows: int | None = None,
    max_columns: int | None = None,
) -> Selection:
    """Select the datasets of a suite, or of a list of names, that pass the filters.

    Datasets of a suite that the data folder lacks or that cannot be read are `missing`;
    an unknown name in a list raises a `TableError`. Filters read only info.json where
    that is enough. A dataset is returned under the name of its folder, even if it was
    requested by an alias.

    Args:
        task: one of TASKS, or "classification" for binclass and multiclass.

    >>> select_datasets("builtin", task="regression")
    Selection(names=('builtin:diabetes',), missing=())
    """
    tasks = TASKS if task is None else named("task", task, _TASKS)
    data = data_folder(data)
    paths = {} if data is None else paths_by_name(data)
    summaries: list[_Summary] = []
    missing: list[str] = []
    for name in _requested(suite, data):
        # A suite names folders: TALENT's wine is not scikit-learn's wine.
        if isinstance(suite, str) and name not in paths and ":" not in name:
            missing.append(name)
            continue
        try:
            summaries.append(_summarize(name, paths, data))
        except TableError as error:
            if not isinstance(suite, str):
                raise
            _LOGGER.warning("%s", error)
            missing.append(name)
    names = [
        summary.name
        for summary in summaries
        if summary.task in tasks
        and (min_rows is None or summary.n_rows >= min_rows)
        and (max_rows is None or summary.n_rows <= max_rows)
        and (max_columns is None or summary.n_columns <= max_columns)
    ]
    return Selection(tuple(dict.fromkeys(names)), tuple(missing))


def _requested(suite: str | Sequence[str], data: Path | None) -> Sequence[str]:
    if not isinstance(suite, str):
        return suite
    datasets = named("suite", suite, SUITES).datasets
    if datasets is not None:
        return datasets
    if data is None:
        raise TableError(
            f"The suite {suite!r} needs a data folder; set it with --data or "
            f"{DATA_VARIABLE}."
        )
    return names_in(data)


def _summarize(name: str, paths: dict[str, Path], data: Path | None) -> _Summary:
    """Summarize a dataset from its info.json or, if that is not enough, its data."""
    if name in paths:
        folder = open_folder(paths[name])
        if folder.n_rows is not None and folder.n_columns is not None:
            return _Summary(folder.name, folder.task, folder.n_rows, folder.n_columns)
    dataset = read_dataset(name, data=data)
    return _Summary(dataset.name, dataset.task, *dataset.X.shape)
