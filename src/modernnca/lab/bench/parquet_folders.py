"""Read a dataset from a folder with data.parquet, info.json and maybe splits.npz."""

from pathlib import Path

import numpy as np

from modernnca.errors import TableError
from modernnca.lab.bench.arrays import load_arrays
from modernnca.lab.bench.dataset import PARTS, Dataset, target_values, with_categories
from modernnca.lab.bench.file_datasets import (
    read_frame,
    take_target,
    unreadable_error,
)
from modernnca.lab.bench.folders import Folder


def read_parquet_folder(folder: Folder) -> Dataset:
    """Read a dataset with the split of splits.npz, if there is one."""
    frame, info = read_frame(folder.path / "data.parquet"), folder.info
    source = repr(str(folder.path / "info.json"))
    y = take_target(frame, info.get("target"), source=source)
    splits = folder.path / "splits.npz"
    return Dataset(
        name=folder.name,
        task=folder.task,
        X=with_categories(frame, also=info.get("cat_columns") or ()),
        y=target_values(y, task=folder.task, source=source),
        info=info,
        given=_read_splits(splits, n_rows=len(frame)) if splits.exists() else None,
    )


def _read_splits(path: Path, *, n_rows: int) -> dict[str, np.ndarray]:
    """Read the row numbers of each part; check that they are valid and disjoint."""
    try:
        # Row numbers take 8 bytes each, and a header.
        found = load_arrays(path, most=16 * n_rows + 4096)
        given = {part: found[part] for part in PARTS if part in found}
    except Exception as error:  # a damaged archive may raise anything
        raise unreadable_error(path, error) from error
    shown, way_out = repr(str(path)), "repair or remove the file"
    if not {"train", "test"} <= given.keys():
        raise TableError(f"{shown} has no train or no test rows; {way_out}.")
    for part, rows in given.items():
        if rows.ndim != 1 or rows.dtype.kind not in "iu" or not len(rows):
            raise TableError(
                f"{part} in {shown} is not a list of row numbers; {way_out}."
            )
        wrong = rows[(rows < 0) | (rows >= n_rows)]
        if len(wrong):
            raise TableError(
                f"{part} in {shown} has row {wrong[0]}, but the table has rows 0 to "
                f"{n_rows - 1}; {way_out}."
            )
    rows, counts = np.unique(np.concatenate([*given.values()]), return_counts=True)
    if counts.max() > 1:
        raise TableError(
            f"{shown} has row {rows[counts.argmax()]} more than once, but each row may "
            f"be in one part only; {way_out}."
        )
    return {part: rows.astype(np.int64) for part, rows in given.items()}
