"""Small tables on disk, as the readers expect them."""

import json

import numpy as np
import pandas as pd


def make_frame(n_rows=50, seed=0):
    """Numbers with gaps, categories with gaps, and a target of three classes."""
    rng = np.random.RandomState(seed)
    frame = pd.DataFrame(
        {
            "size": rng.normal(size=n_rows),
            "count": rng.randint(0, 9, n_rows),
            "color": pd.Categorical(rng.choice(["red", "green", "blue"], n_rows)),
            "kind": rng.choice(["a", "b", "c"], n_rows, p=[0.5, 0.3, 0.2]),
        }
    )
    frame.loc[::7, "size"] = np.nan
    frame.loc[::9, "color"] = np.nan
    return frame


def make_parquet_folder(data, folder="toys", *, frame=None, splits=None, **info):
    """Write a folder with data.parquet; `info` overrides its info.json."""
    path = data / folder
    path.mkdir()
    frame = make_frame() if frame is None else frame
    frame.to_parquet(path / "data.parquet")
    said = {
        "name": folder,
        "task": "multiclass",
        "target": "kind",
        "n_rows": len(frame),
    }
    said |= {"n_rows": len(frame), "n_num": 2, "n_cat": 1}
    (path / "info.json").write_text(json.dumps(said | info))
    if splits is not None:
        np.savez(path / "splits.npz", **splits)
    return path


def make_talent(data, name="bank", *, info=None, **arrays):
    """Write a folder as TALENT does: pickled objects for categories."""
    folder = data / name
    folder.mkdir()
    made = {
        "N_train": np.array([[1, 2], [3, 4], [5, 6]]),
        "N_val": np.array([[7, 8]]),
        "N_test": np.array([[9, 10], [11, 12]]),
        "C_train": np.array([["a"], [None], ["nan"]], dtype=object),
        "C_val": np.array([["b"]], dtype=object),
        "C_test": np.array([["a"], [float("nan")]], dtype=object),
        "y_train": np.array([0, 1, 1]),
        "y_val": np.array([0]),
        "y_test": np.array([1, 0]),
    }
    for key, cells in (made | arrays).items():
        if cells is not None:
            np.save(folder / f"{key}.npy", cells, allow_pickle=True)
    said = {"task_type": "binclass", "train_size": 3, "val_size": 1, "test_size": 2}
    said |= {"n_num_features": 2, "n_cat_features": 1}
    (folder / "info.json").write_text(json.dumps(said | (info or {})))
    return folder
