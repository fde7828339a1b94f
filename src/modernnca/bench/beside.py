"""Scores that others published for a table, told by its info.json."""

from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from modernnca.bench.folders import data_folder, open_folder, paths_by_name
from modernnca.errors import TableError

_COLUMNS = ("dataset", "task", "method", "mean", "std", "n", "higher")


def published_beside(datasets: Iterable[str], data: Path | None = None) -> pd.DataFrame:
    """Return a scores frame of what was published on the given splits of datasets.

    Tables without such scores, or whose split is not the published one, are left out.
    Only means are told, so std is NaN.
    """
    folder = data_folder(data)
    paths = {} if folder is None else paths_by_name(folder)
    rows = []
    for name in datasets:
        try:
            info = open_folder(paths[name]).info if name in paths else {}
        except TableError:
            continue
        if not info.get("split"):
            continue
        higher = info["task"] != "regression"
        for method, mean in (info.get("published") or {}).items():
            if isinstance(mean, int | float):
                score = (float(mean), float("nan"), 15)
                rows.append((name, info["task"], method, *score, higher))
    return pd.DataFrame(rows, columns=list(_COLUMNS))
