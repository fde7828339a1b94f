"""Read TALENT's folders: arrays N_ (numbers), C_ (categories) and y_ for each part."""

from typing import Any

import numpy as np
import pandas as pd

from modernnca.errors import TableError
from modernnca.lab.bench.arrays import load_array
from modernnca.lab.bench.dataset import PARTS, Dataset, as_categories, target_values
from modernnca.lab.bench.folders import Folder

_GAPS = ("nan", "NaN", "")  # what TALENT itself takes for a missing category


def read_talent(folder: Folder) -> Dataset:
    """Read a table whose rows are those of train, val and test, in this order."""
    shown = repr(str(folder.path))
    arrays = {kind: _read(folder, kind) for kind in "NCy"}
    sizes = {part: len(cells) for part, cells in arrays["y"].items()}
    if "test" not in sizes:
        raise TableError(f"{shown} has no y_test.npy; complete the folder.")
    if not arrays["N"] and not arrays["C"]:
        raise TableError(f"{shown} has no N_train.npy or C_train.npy; complete it.")
    for kind in "NC":
        there = {part: len(cells) for part, cells in arrays[kind].items()}
        if there and there != sizes:
            raise TableError(
                f"The arrays {kind}_ and y_ of {shown} have different rows: {there} "
                f"and {sizes}; complete the folder."
            )
    try:
        blocks = {kind: _stack(arrays[kind], sum(sizes.values())) for kind in "NC"}
        if blocks["N"].dtype.kind not in "biuf":
            blocks["N"] = blocks["N"].astype(np.float64)
    except ValueError as error:
        raise TableError(
            f"The arrays N_ or C_ of {shown} do not fit together: {error}."
        ) from error
    columns = [
        *blocks["N"].T,
        *(as_categories(cells, gaps=_GAPS) for cells in blocks["C"].T),
    ]
    names = _names(folder.info, [block.shape[1] for block in blocks.values()])
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
    """Put the parts of one kind of columns on top of each other: (N, columns)."""
    if not arrays:
        return np.empty((n_rows, 0))
    return np.concatenate([cells.reshape(len(cells), -1) for cells in arrays.values()])


def _names(info: dict[str, Any], widths: list[int]) -> list[str]:
    """Take the names of the columns from info.json; if they do not fit, number them."""
    both = info.get("feature_intro") or {}
    described = [
        name
        for key in ("num", "cat")
        for name in info.get(f"{key}_feature_intro") or both.get(key) or ()
    ]
    if len(described) == len(set(described)) == sum(widths):
        return described
    numbered = zip("NC", widths, strict=True)
    return [f"{kind}{place}" for kind, width in numbered for place in range(width)]
