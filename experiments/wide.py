"""Tables with many columns for their rows: what each idea gives, on drawn splits.

    python experiments/wide.py run --data DATA --tables arcene,madelon --splits 0,1,2
    python experiments/wide.py show

Each run adds to wide.csv the records that are missing: the error, the log-loss and the
seconds of processor time (one thread) of one way on one split, 64/16/20 by class.
"""

import argparse
import csv
import json
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from lightgbm import LGBMClassifier
from modernnca.table.evidence import Spread, evidence
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from modernnca import ModernNCAClassifier

RECORDS = Path(__file__).with_name("wide.csv")
Part = tuple[pd.DataFrame, np.ndarray]
Way = Callable[[Part, Part, pd.DataFrame], np.ndarray]


def net(**settings) -> Way:
    """A model of ours, stopped by the validation rows, which are remembered."""

    def way(train: Part, val: Part, X: pd.DataFrame) -> np.ndarray:
        model = ModernNCAClassifier(**{"random_state": 0, "device": "cpu", **settings})
        return model.fit(*train, eval_set=val).predict_proba(X)

    return way


def first(n_columns: int, way: Way) -> Way:
    """A way that sees the most telling columns only."""

    def screened(train: Part, val: Part, X: pd.DataFrame) -> np.ndarray:
        names = order(train)[:n_columns]
        return way((train[0][names], train[1]), (val[0][names], val[1]), X[names])

    return screened


def order(train: Part) -> pd.Index:
    """The columns of numbers, the most telling first."""
    x, y = train[0].to_numpy(dtype=np.float64), train[1]
    table = Spread(x, np.arange(x.shape[1]), 0)
    found = evidence(table, np.eye(y.max() + 1)[y])
    return train[0].columns[np.argsort(-found, kind="stable")]


def components(n: int, way: Way) -> Way:
    """A way that sees principal components instead of columns."""

    def turned(train: Part, val: Part, X: pd.DataFrame) -> np.ndarray:
        n_most = min(n, len(train[0]) - 1, train[0].shape[1])
        turn = make_pipeline(StandardScaler(), PCA(n_most, random_state=0))
        turn = turn.fit(train[0]).set_output(transform="pandas")
        parts = [(turn.transform(part), y) for part, y in (train, val)]
        return way(*parts, turn.transform(X))

    return turned


def subspaces(n_members: int, n_columns: int, **settings) -> Way:
    """The mean of networks, each with a random half of the most telling columns."""

    def way(train: Part, val: Part, X: pd.DataFrame) -> np.ndarray:
        names, found = order(train)[:n_columns], []
        for seed in range(n_members):
            half = np.random.RandomState(seed).permutation(names)[: len(names) // 2]
            own = train[0].columns[train[0].columns.isin(half)]
            alone = net(random_state=seed, guard=False, **ALONE, **settings)
            parts = [(part[own], y) for part, y in (train, val)]
            found.append(alone(*parts, X[own]))
        return np.mean(found, axis=0)

    return way


def opponent(make: Callable) -> Way:
    """Another method, fitted to the train and validation rows."""

    def way(train: Part, val: Part, X: pd.DataFrame) -> np.ndarray:
        both = pd.get_dummies(pd.concat([train[0], val[0]]), dummy_na=False).fillna(0)
        asked = pd.get_dummies(X).reindex(columns=both.columns).fillna(0)
        y = np.concatenate([train[1], val[1]])
        model = make().fit(both.to_numpy(np.float32), y)
        return model.predict_proba(asked.to_numpy(np.float32))

    return way


# One network with a block, as the records have it whatever the defaults are by now.
ONE = {"n_members": 1, "variety": "alike", "max_sampled": 1024}
ALONE = {**ONE, "wide": False}
PLAIN = {"encoding": "none"}
WAYS: dict[str, Way] = {
    "logistic regression": opponent(
        lambda: make_pipeline(
            StandardScaler(), LogisticRegression(C=0.01, max_iter=300)
        )
    ),
    "random forest": opponent(lambda: RandomForestClassifier(300, random_state=0)),
    "k-NN": opponent(lambda: make_pipeline(StandardScaler(), KNeighborsClassifier(5))),
    "LightGBM": opponent(
        lambda: LGBMClassifier(n_estimators=200, n_jobs=1, verbose=-1, random_state=0)
    ),
    "default, wide off": net(wide=False),
    "default": net(),
    "one net, wide off": net(**ALONE),
    "one net": net(**ONE),
    "one net, plain": net(**ALONE, **PLAIN),
    **{f"first {k}": first(k, net(**ALONE)) for k in (8, 16, 64, 256, 512)},
    **{
        f"first {k}, plain": first(k, net(**ALONE, **PLAIN))
        for k in (16, 64, 256, 512, 1024, 2048, 4096)
    },
    "64 components, plain": components(64, net(**ALONE, **PLAIN)),
    "eight halves of the first 256": subspaces(8, 256),
    "eight halves of the first 1024, plain": subspaces(8, 1024, **PLAIN),
}


def read(folder: Path) -> Part:
    """A table, its classes as numbers from 0."""
    info = json.loads((folder / "info.json").read_text())
    frame = pd.read_parquet(folder / "data.parquet")
    target = frame.pop(info["target"])
    return frame, np.unique(target, return_inverse=True)[1]


def split(y: np.ndarray, seed: int) -> list[np.ndarray]:
    """Row numbers of train, val and test."""
    rows = np.arange(len(y))
    rows, test = train_test_split(rows, test_size=0.2, random_state=seed, stratify=y)
    train, val = train_test_split(
        rows, test_size=0.2, random_state=seed, stratify=y[rows]
    )
    return [train, val, test]


def run(data: Path, tables: list[str], splits: list[int], ways: list[str]) -> None:
    """Run what is missing."""
    done = set()
    if RECORDS.exists():
        with RECORDS.open() as file:
            done = {tuple(row[:3]) for row in csv.reader(file)}
    for name in tables:
        X, y = read(data / name)
        for seed in splits:
            rows = split(y, seed)
            train, val, test = ((X.iloc[part], y[part]) for part in rows)
            for way in ways:
                if (name, str(seed), way) in done:
                    continue
                began = time.process_time()
                shares = WAYS[way](train, val, test[0])
                seconds = time.process_time() - began
                record = [name, seed, way, *scores(shares, test[1]), round(seconds, 1)]
                print(*record, flush=True)
                with RECORDS.open("a") as file:
                    csv.writer(file, lineterminator="\n").writerow(record)


def scores(shares: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """The error and the log-loss."""
    shares = np.clip(shares, 1e-6, 1)
    shares = shares / shares.sum(1, keepdims=True)
    log_loss = -np.log(shares[np.arange(len(y)), y]).mean()
    return round((shares.argmax(1) != y).mean(), 4), round(log_loss, 4)


def show() -> None:
    """The means over the splits, as tables."""
    names = ["table", "split", "way", "error", "log-loss", "seconds"]
    records = pd.read_csv(RECORDS, names=names)
    for table, some in records.groupby("table"):
        means = some.groupby("way")[["error", "log-loss", "seconds"]].mean()
        means["splits"] = some.groupby("way").size()
        print(f"\n### {table}\n\n| way | error | log-loss | seconds | splits |")
        print("| --- | --- | --- | --- | --- |")
        for way, row in means.sort_values("error").iterrows():
            cells = f"{row['error']:.3f} | {row['log-loss']:.3f} | {row['seconds']:.0f}"
            print(f"| {way} | {cells} | {row['splits']:.0f} |")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["run", "show"])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--tables", default="arcene,madelon,CNAE-9,COIL20")
    parser.add_argument("--splits", default="0,1,2")
    parser.add_argument("--ways", default=";".join(WAYS), help="names, with ; between")
    given = parser.parse_args()
    torch.set_num_threads(1)
    if given.what == "show":
        show()
    else:
        run(
            given.data,
            given.tables.split(","),
            [int(seed) for seed in given.splits.split(",")],
            given.ways.split(";"),
        )
