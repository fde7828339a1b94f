"""Scores that others published for a table, told by its info.json."""

from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from modernnca.errors import TableError
from modernnca.lab.bench.folders import (
    Folder,
    data_folder,
    open_folder,
    paths_by_name,
)

_COLUMNS = ("dataset", "task", "method", "mean", "std", "n", "higher")


def published_beside(datasets: Iterable[str], data: Path | None = None) -> pd.DataFrame:
    """Return a scores frame of what was published on the given splits of datasets.

    Tables without such scores, or whose split is not the published one, are left out.
    Only means are told, so std is NaN.
    """
    place = data_folder(data)
    paths = {} if place is None else paths_by_name(place)
    rows = []
    for name in datasets:
        try:
            folder = open_folder(paths[name]) if name in paths else None
        except TableError:
            continue
        if folder is None or not _has_split(folder):
            continue
        info, higher = folder.info, folder.task != "regression"
        for method, mean in (info.get("published") or {}).items():
            if isinstance(mean, int | float):
                score = (float(mean), float("nan"), 15)
                rows.append((name, folder.task, method, *score, higher))
    return pd.DataFrame(rows, columns=list(_COLUMNS))


def _has_split(folder: Folder) -> bool:
    """Whether the rows are split as they were for the published scores."""
    return folder.kind == "talent" or (folder.path / "splits.npz").is_file()
