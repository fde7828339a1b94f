"""Write tables as TALENT's folders: plain arrays, for machines without Parquet.

    python benchmarks/portable.py --data DIR --out DIR [--max-train 60000] [--max-mib 8]

The rows of train, val and test are those of the benchmark's split "given". At most
`--max-train` training rows are kept and a quarter as many validation rows, drawn with
seed 0; all test rows are kept. Categories become numbers in the order of their levels.
Tables that take more than `--max-mib` are left out. `modernnca bench run --data OUT`
reads the result, so that all machines of a run see the same rows.
"""

import argparse
import json
from pathlib import Path

import numpy as np
import pandas as pd

from modernnca.lab.bench.dataset import Dataset
from modernnca.lab.bench.readers import read_dataset
from modernnca.lab.bench.splits import split_rows

_PARTS = ("train", "val", "test")


def smallest(numbers: np.ndarray) -> np.ndarray:
    """The same numbers in the smallest dtype that holds them."""
    for kind in ("i1", "i2", "i4", "f2", "f4"):
        with np.errstate(all="ignore"):
            small = numbers.astype(kind)  # too large a number is not equal below
        if np.array_equal(small.astype(numbers.dtype), numbers, equal_nan=True):
            return small
    return numbers


def codes(column: pd.Series) -> np.ndarray:
    """Numbers for levels, and NaN for a missing one."""
    found = column.cat.codes.to_numpy(dtype=np.float64)
    return np.where(found < 0, np.nan, found)


def arrays_of(dataset: Dataset, max_train: int) -> dict[str, np.ndarray]:
    """The arrays of a table, by the names of their files."""
    levels = dataset.X.select_dtypes("category")
    numbers = dataset.X.drop(columns=levels.columns)
    blocks = {"y": dataset.y}
    if numbers.shape[1]:
        blocks["N"] = smallest(numbers.to_numpy(dtype=np.float64, na_value=np.nan))
    if levels.shape[1]:
        blocks["C"] = smallest(
            np.column_stack([codes(levels[name]) for name in levels])
        )
    if dataset.task != "regression":
        blocks["y"] = pd.factorize(dataset.y, sort=True)[0].astype(np.int16)
    limits = {"train": max_train, "val": max_train // 4, "test": len(dataset.y)}
    made = {}
    for part, rows in zip(_PARTS, split_rows(dataset, "given"), strict=True):
        drawn = np.random.RandomState(0).permutation(len(rows))[: limits[part]]
        rows = rows[np.sort(drawn)]
        made |= {f"{kind}_{part}": cells[rows] for kind, cells in blocks.items()}
    return made


def write(folder: Path, out: Path, max_train: int, max_mib: float) -> str:
    """Write one table; returns a message."""
    dataset = read_dataset(folder.name, data=folder.parent)
    made = arrays_of(dataset, max_train)
    mib = sum(cells.nbytes for cells in made.values()) / 2**20
    if mib > max_mib:
        return f"{mib:.1f} MiB, left out"
    n_levels = dataset.X.select_dtypes("category").shape[1]
    info = {
        **dataset.info,
        "task_type": dataset.task,
        "n_num_features": dataset.X.shape[1] - n_levels,
        "n_cat_features": n_levels,
        **{f"{part}_size": len(made[f"y_{part}"]) for part in _PARTS},
    }
    if dataset.given is None:  # the published scores are of other rows
        info.pop("published", None)
    out.mkdir(parents=True, exist_ok=True)
    for name, cells in made.items():
        np.save(out / f"{name}.npy", cells)
    (out / "info.json").write_text(json.dumps(info))
    return f"{mib:.1f} MiB"


def main() -> None:
    """Write all tables of a folder."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--max-train", type=int, default=60_000)
    parser.add_argument("--max-mib", type=float, default=8.0)
    asked = parser.parse_args()
    for info in sorted(asked.data.glob("*/info.json")):
        folder = info.parent
        message = write(folder, asked.out / folder.name, asked.max_train, asked.max_mib)
        print(f"{folder.name}: {message}", flush=True)


if __name__ == "__main__":
    main()
