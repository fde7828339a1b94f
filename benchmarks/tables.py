"""Read the benchmark tables: a folder for each, with data.parquet and info.json.

The split is that of splits.npz (row numbers for train, val and test) if there is one;
else 64/16/20 is drawn with seed 0, stratified by class.
"""

import json
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split


class Table(NamedTuple):
    """A table in three parts, each (X, y)."""

    name: str
    regression: bool
    train: tuple[pd.DataFrame, np.ndarray]
    val: tuple[pd.DataFrame, np.ndarray]
    test: tuple[pd.DataFrame, np.ndarray]


def read(folder: Path, *, drawn: bool = False) -> Table:
    """Read one table with its split; `drawn` ignores the given split."""
    info = json.loads((folder / "info.json").read_text())
    frame = _frame(folder)
    regression = info["task"] == "regression"
    target = frame.pop(info["target"]).to_numpy()
    given = None if drawn else folder / "splits.npz"
    rows = _split(given, target, regression=regression)
    train, val, test = ((frame.iloc[part], target[part]) for part in rows)
    return Table(info["name"], regression, train, val, test)


def _frame(folder: Path) -> pd.DataFrame:
    if (folder / "data.parquet").exists():
        return pd.read_parquet(folder / "data.parquet")
    # The same columns as arrays, for machines without pyarrow; "" is a missing text.
    with np.load(folder / "data.npz") as arrays:
        columns = {name: arrays[name] for name in arrays.files}
    return pd.DataFrame(
        {
            name: cells
            if cells.dtype.kind != "U"
            else pd.Series(cells.astype(object)).replace("", None)
            for name, cells in columns.items()
        }
    )


def _split(given: Path | None, y: np.ndarray, *, regression: bool) -> list:
    rows = {}
    if given is not None and given.exists():
        with np.load(given) as arrays:
            rows = {name: arrays[name] for name in arrays.files}
    if "test" not in rows:
        all_rows = np.arange(len(y))
        rows["train"], rows["test"] = _draw(all_rows, y, regression=regression)
    if "val" not in rows:
        rows["train"], rows["val"] = _draw(rows["train"], y, regression=regression)
    return [rows[name] for name in ("train", "val", "test")]


def _draw(
    rows: np.ndarray, y: np.ndarray, *, regression: bool
) -> tuple[np.ndarray, np.ndarray]:
    stratify = None
    if not regression and np.unique(y[rows], return_counts=True)[1].min() > 1:
        stratify = y[rows]
    most, rest = train_test_split(
        rows, test_size=0.2, random_state=0, stratify=stratify
    )
    return most, rest
