"""What helps where a table has many columns for its rows? On several random splits.

    python experiments/feature_selection.py run --data DIR [--tables a,b] [--seeds 3]
    python experiments/feature_selection.py report
    python experiments/feature_selection.py --quick

A record is the error, the log-loss and the processor seconds (one thread) of one way on
one split, 64/16/20 by class; the seed is that of the split. feature_selection.md has
the results.
"""

import time
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
import pandas as pd
import torch
from sklearn.base import ClassifierMixin
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from common import Part, Scores, Table, main
from modernnca import ModernNCAClassifier
from modernnca.lab.bench.dataset import Dataset
from modernnca.lab.bench.splits import split_rows
from modernnca.table.univariate import DesignMatrix, association

Way = Callable[[Part, Part, pd.DataFrame], np.ndarray]  # train, valid, queries
COLUMNS = ("table", "split", "way", "error", "log-loss", "seconds")
# One network with a block, as the records have it whatever the defaults are by now.
ONE = {"n_members": 1, "diversity": "alike", "max_sampled": 1024}
ALL = {**ONE, "feature_selection": False}
PLAIN = {"encoding": "none"}


def net(train: Part, valid: Part, X: pd.DataFrame, *, seed=0, **options) -> np.ndarray:
    """The package's classifier with the preset "default" and some options."""
    model = ModernNCAClassifier(
        preset="default", device="cpu", random_state=seed, config=options
    )
    return model.fit(*train, eval_set=valid).predict_proba(X)


def order(train: Part) -> pd.Index:
    """The numerical columns, the most associated with the target first."""
    x, y = train[0].to_numpy(dtype=np.float64), train[1]
    table = DesignMatrix(x, np.arange(x.shape[1]), 0)
    found = association(table, (y[:, None] == np.unique(y)).astype(float))
    return train[0].columns[np.argsort(-found, kind="stable")]


def first(
    train: Part, valid: Part, X: pd.DataFrame, *, n_columns: int, **options
) -> np.ndarray:
    """One network that sees the most associated columns only."""
    names = order(train)[:n_columns]
    parts = [(part[names], y) for part, y in (train, valid)]
    return net(*parts, X[names], **ALL, **options)


def components(train: Part, valid: Part, X: pd.DataFrame, **options) -> np.ndarray:
    """One network that sees up to 64 principal components instead of columns."""
    n_most = min(64, len(train[0]) - 1, train[0].shape[1])
    pca = make_pipeline(StandardScaler(), PCA(n_most, random_state=0))
    pca.set_output(transform="pandas").fit(train[0])
    parts = [(pca.transform(part), y) for part, y in (train, valid)]
    return net(*parts, pca.transform(X), **ALL, **options)


def halves(
    train: Part, valid: Part, X: pd.DataFrame, *, n_columns: int, **options
) -> np.ndarray:
    """The mean of eight networks, each with a random half of the first columns."""
    names, found = order(train)[:n_columns], []
    for seed in range(8):
        half = np.random.RandomState(seed).permutation(names)[: len(names) // 2]
        own = train[0].columns[train[0].columns.isin(half)]
        parts = [(part[own], y) for part, y in (train, valid)]
        changes = {**ALL, "baseline_check": False, **options}
        found.append(net(*parts, X[own], seed=seed, **changes))
    return np.mean(found, axis=0)


def other(
    train: Part, valid: Part, X: pd.DataFrame, *, model: ClassifierMixin, **_
) -> np.ndarray:
    """Another method, fitted to the training and validation rows."""
    both = pd.get_dummies(pd.concat([train[0], valid[0]]), dummy_na=False).fillna(0)
    asked = pd.get_dummies(X).reindex(columns=both.columns).fillna(0)
    model = model.fit(both.to_numpy(np.float32), np.concatenate([train[1], valid[1]]))
    return model.predict_proba(asked.to_numpy(np.float32))


def scaled(model: ClassifierMixin) -> ClassifierMixin:
    """A model of standardized columns."""
    return make_pipeline(StandardScaler(), model)


LOGISTIC = scaled(LogisticRegression(C=0.01, max_iter=300))
FOREST = RandomForestClassifier(300, random_state=0)
WAYS: dict[str, Way] = {
    "logistic regression": partial(other, model=LOGISTIC),
    "random forest": partial(other, model=FOREST),
    "k-NN": partial(other, model=scaled(KNeighborsClassifier(5))),
    "default, no selection": partial(net, feature_selection=False),
    "default": net,
    "one net, no selection": partial(net, **ALL),
    "one net": partial(net, **ONE),
    "one net, plain": partial(net, **ALL, **PLAIN),
    **{f"first {n}": partial(first, n_columns=n) for n in (8, 16, 64, 256, 512)},
    **{
        f"first {n}, plain": partial(first, n_columns=n, **PLAIN)
        for n in (16, 64, 256, 512, 1024, 2048, 4096)
    },
    "64 components, plain": partial(components, **PLAIN),
    "eight halves of the first 256": partial(halves, n_columns=256),
    "eight halves of the first 1024, plain": partial(halves, n_columns=1024, **PLAIN),
}
QUICK = ("k-NN", "one net", "first 16", "64 components, plain", list(WAYS)[-2])


def trials(table: Table) -> Iterator[tuple[str, Scores]]:
    """Each way, on one split."""
    dataset = table.dataset
    rows = split_rows(dataset, f"random-{table.seed}")
    train, valid, test = ((dataset.X.iloc[part], dataset.y[part]) for part in rows)
    for label in QUICK if table.limits else WAYS:
        if label in table.done:
            continue
        begin = time.process_time()
        shares = np.clip(WAYS[label](train, valid, test[0], **table.limits), 1e-6, 1)
        seconds = time.process_time() - begin
        shares /= shares.sum(1, keepdims=True)
        codes = np.searchsorted(np.unique(train[1]), test[1])
        yield (
            label,
            {
                "error": round((shares.argmax(1) != codes).mean(), 4),
                "log_loss": round(
                    -np.log(shares[np.arange(len(codes)), codes]).mean(), 4
                ),
                "fit_seconds": round(seconds, 1),
            },
        )


def report(records: pd.DataFrame) -> None:
    """Print means over the splits, the best way first."""
    scores = ["error", "log_loss", "fit_seconds"]
    for table, some in records.groupby("dataset"):
        ways = some.astype(dict.fromkeys(scores, float)).groupby("label")
        means = ways[scores].mean().assign(splits=ways.size())
        print(f"\n| {table} | error | log-loss | seconds | splits |")
        print("| --- " * 5 + "|")
        for label, (error, loss, seconds, n) in means.sort_values("error").iterrows():
            print(f"| {label} | {error:.3f} | {loss:.3f} | {seconds:.0f} | {n:.0f} |")


def quick_datasets() -> Iterator[Dataset]:
    """Digits, with columns of noise beside them."""
    X, y = load_digits(n_class=3, return_X_y=True)
    noise = np.random.RandomState(0).randn(100, 200)
    cells = np.hstack([X[:100], noise])
    frame = pd.DataFrame(cells, columns=[f"x{i}" for i in range(cells.shape[1])])
    yield Dataset("digits with noise", "multiclass", frame, y[:100])


if __name__ == "__main__":
    torch.set_num_threads(1)
    words = {"wide off": "no selection"}
    main(
        __doc__,
        __file__,
        trials,
        report,
        records={"columns": COLUMNS, "words": words},
        tables=("arcene", "madelon", "CNAE-9", "COIL20", "TOX-171", "Isolet", "PCMAC"),
        quick=quick_datasets,
    )
