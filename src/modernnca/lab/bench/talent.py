"""Read TALENT's folders: arrays N_ (numeric), C_ (categorical) and y_ for each part."""

from typing import Any

import numpy as np
import pandas as pd

from modernnca.errors import TableError
from modernnca.lab.bench.arrays import load_array
from modernnca.lab.bench.dataset import PARTS, Dataset, as_categories, target_values
from modernnca.lab.bench.folders import Folder

_GAPS = ("nan", "NaN", "")  # texts that TALENT treats as missing categories


def read_talent(folder: Folder) -> Dataset:
    """Read a dataset with the rows of train, val and test, in this order."""
    shown = repr(str(folder.path))
    arrays = {kind: _read(folder, kind) for kind in "NCy"}
    sizes = {part: len(cells) for part, cells in arrays["y"].items()}
    if "test" not in sizes:
        raise TableError(f"{shown} has no y_test.npy; complete the folder.")
    if not arrays["N"] and not arrays["C"]:
        raise TableError(f"{shown} has no N_train.npy or C_train.npy; add one of them.")
    for kind in "NC":
        lengths = {part: len(cells) for part, cells in arrays[kind].items()}
        if lengths and lengths != sizes:
            raise TableError(
                f"The arrays {kind}_ and y_ of {shown} have different numbers of rows: "
                f"{lengths} and {sizes}; complete the folder."
            )
    try:
        blocks = {kind: _stack(arrays[kind], sum(sizes.values())) for kind in "NC"}
        if blocks["N"].dtype.kind not in "biuf":
            blocks["N"] = blocks["N"].astype(np.float64)
    except ValueError as error:
        raise TableError(
            f"The arrays N_ or C_ of {shown} cannot be combined: {error}."
        ) from error
    columns = [
        *blocks["N"].T,
        *(as_categories(cells, gaps=_GAPS) for cells in blocks["C"].T),
    ]
    widths = [block.shape[1] for block in blocks.values()]
    names = _column_names(folder.info, widths)
    target = pd.Series(np.concatenate([*arrays["y"].values()]).ravel(), name="y")
    ends = np.cumsum([*sizes.values()])
    return Dataset(
        name=folder.name,
        task=folder.task,
        X=pd.DataFrame(dict(zip(names, columns, strict=True))),
        y=target_values(target, task=folder.task, source=shown),
        info=folder.info,
        given={
            part: np.arange(end - sizes[part], end)
            for part, end in zip(sizes, ends, strict=True)
        },
    )


def _read(folder: Folder, kind: str) -> dict[str, np.ndarray]:
    paths = {part: folder.path / f"{kind}_{part}.npy" for part in PARTS}
    return {part: load_array(path) for part, path in paths.items() if path.exists()}


def _stack(arrays: dict[str, np.ndarray], n_rows: int) -> np.ndarray:
    """Stack the parts of one kind of columns: (N, columns)."""
    if not arrays:
        return np.empty((n_rows, 0))
    return np.concatenate([cells.reshape(len(cells), -1) for cells in arrays.values()])


def _column_names(info: dict[str, Any], widths: list[int]) -> list[str]:
    """Take the column names from info.json; if their number is wrong, number them."""
    both = info.get("feature_intro") or {}
    described = [
        name
        for key in ("num", "cat")
        for name in info.get(f"{key}_feature_intro") or both.get(key) or ()
    ]
    if len(described) == len(set(described)) == sum(widths):
        return described
    numbered = zip("NC", widths, strict=True)
    return [f"{kind}{index}" for kind, width in numbered for index in range(width)]
