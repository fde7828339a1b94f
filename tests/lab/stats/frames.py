"""Frames of scores for the tests."""

import numpy as np
import pandas as pd
from pandas import DataFrame

# Demsar (2006), Table 6: AUC of C4.5, with m and cf tuned inside. Voting's third and
# fourth are printed alike and ranked 2 and 3: a difference below the print is restored.
DEMSAR = DataFrame(
    {
        "adult": [0.763, 0.768, 0.771, 0.798],
        "breast cancer": [0.599, 0.591, 0.590, 0.569],
        "breast cancer wisconsin": [0.954, 0.971, 0.968, 0.967],
        "cmc": [0.628, 0.661, 0.654, 0.657],
        "ionosphere": [0.882, 0.888, 0.886, 0.898],
        "iris": [0.936, 0.931, 0.916, 0.931],
        "liver disorders": [0.661, 0.668, 0.609, 0.685],
        "lung cancer": [0.583, 0.583, 0.563, 0.625],
        "lymphography": [0.775, 0.838, 0.866, 0.875],
        "mushroom": [1.000, 1.000, 1.000, 1.000],
        "primary tumor": [0.940, 0.962, 0.965, 0.962],
        "rheum": [0.619, 0.666, 0.614, 0.669],
        "voting": [0.972, 0.981, 0.9751, 0.975],
        "wine": [0.957, 0.978, 0.946, 0.970],
    },
    index=["C4.5", "C4.5+m", "C4.5+cf", "C4.5+m+cf"],
).T


def scores_of(means, *, std=0.0, n=15, task="binclass"):
    """A scores frame of means laid out as datasets x methods; tasks by dataset."""
    tall = means.rename_axis(index="dataset", columns="method")
    tall = tall.stack(future_stack=True).rename("mean").reset_index()
    tall["task"] = tall["dataset"].map(task) if isinstance(task, dict) else task
    tall["std"] = std
    return tall.assign(n=n, higher=tall["task"] != "regression")


def random_scores(seed=0, *, n_datasets=12, n_methods=5, holes=True):
    """Both tasks, ties, spreads of all sizes, failures and absences."""
    rng = np.random.default_rng(seed)
    datasets = [f"d{i:02}" for i in range(n_datasets)]
    methods = [f"m{i}" for i in range(n_methods)]
    numbers = rng.uniform(size=(n_datasets, n_methods)).round(1)
    tasks = {name: ("binclass", "regression")[i % 2] for i, name in enumerate(datasets)}
    frame = scores_of(DataFrame(numbers, index=datasets, columns=methods), task=tasks)
    frame["std"] = rng.choice([0.0, 0.01, 0.2], size=len(frame))
    if holes:
        frame.loc[rng.choice(len(frame), 4, replace=False), "mean"] = np.nan
        frame = frame.drop(index=rng.choice(len(frame), 3, replace=False))
    return frame.reset_index(drop=True)


def shuffled(frame, seed=0):
    return frame.sample(frac=1, random_state=seed)


def rescaled(frame):
    """The same with the RMSE of each dataset in another unit."""
    units = {
        name: 10.0 ** (i % 7 - 3) for i, name in enumerate(frame["dataset"].unique())
    }
    unit = frame["dataset"].map(units).where(~frame["higher"], 1.0)
    return frame.assign(mean=frame["mean"] * unit, std=frame["std"] * unit)


def records_of(rows):
    """Records from (dataset, task, method, split, seed, status, score)."""
    columns = ["dataset", "task", "method", "split", "seed", "status", "score"]
    frame = pd.DataFrame(rows, columns=columns).assign(settings="default")
    numbers = frame["task"] == "regression"
    return frame.assign(
        accuracy=frame["score"].mask(numbers), rmse=frame["score"].where(numbers)
    )
