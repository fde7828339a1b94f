"""Published scores of a dataset, from its info.json."""

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


def published_scores(datasets: Iterable[str], data: Path | None = None) -> pd.DataFrame:
    """Return the published scores on the given splits of datasets, as a scores frame.

    Datasets without published scores, or with another split than the published one, are
    left out. Only means are published, so std is NaN.
    """
    root = data_folder(data)
    paths = {} if root is None else paths_by_name(root)
    rows = []
    for name in datasets:
        try:
            folder = open_folder(paths[name]) if name in paths else None
        except TableError:
            continue
        if folder is None or not _has_published_split(folder):
            continue
        info, higher = folder.info, folder.task != "regression"
        for method, mean in (info.get("published") or {}).items():
            if isinstance(mean, int | float):
                score = (float(mean), float("nan"), 15)
                rows.append((name, folder.task, method, *score, higher))
    return pd.DataFrame(rows, columns=list(_COLUMNS))


def _has_published_split(folder: Folder) -> bool:
    """Return whether the split is that of the published scores."""
    return folder.kind == "talent" or (folder.path / "splits.npz").is_file()
