"""What do the options of a time column give, where the future is to be predicted?

    python experiments/time_column.py run --data DIR [--tables a,b] [--seeds 2]
    python experiments/time_column.py report
    python experiments/time_column.py --quick

Tables are ordered by time: the first 80 % of the rows are given to fit, which holds out
a fifth of them in its own way; the last 20 % are the test. Each configuration is one
network of the preset "fast" (patience 10) with some options changed. In the base,
random rows are held out, the time is a column like others, and all rows vote.
time_column.md has the results.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import pandas as pd

from common import Scores, Table, main, score_votes
from modernnca import ModernNCAClassifier, ModernNCARegressor
from modernnca.lab.bench.dataset import Dataset
from modernnca.lab.bench.readers import read_dataset

BASE = {
    "validation_split": "random",
    "time_features": "column",
    "past_only": "never",
}
CONFIGS: dict[str, dict[str, str]] = {
    "base": {},
    "last": {"validation_split": "last"},
    "blocks": {"validation_split": "blocks"},
    "fourier": {"time_features": "fourier"},
    "seasons": {"time_features": "seasons"},
    "both": {"time_features": "both"},
    "none": {"time_features": "none"},
    "past, validation": {"past_only": "validation"},
    "past, always": {"past_only": "always"},
    "seasons + validation": {"time_features": "seasons", "past_only": "validation"},
    "seasons + last": {"time_features": "seasons", "validation_split": "last"},
}


def electricity(X: pd.DataFrame) -> pd.DataFrame:
    """Half hours since 7 May 1996, in the order of the rows."""
    hours = pd.to_timedelta(np.arange(len(X)) * 30, unit="min")
    X = X.drop(columns=["date", "day", "period"])
    return X.assign(when=pd.Timestamp("1996-05-07") + hours)[::8]


def flights(X: pd.DataFrame) -> pd.DataFrame:
    """The day and the time of departure."""
    minutes = X["dep_time"] // 100 * 60 + X["dep_time"] % 100
    date = {"year": 2013, "month": X["month"].astype(int), "day": X["day"].astype(int)}
    when = pd.to_datetime(pd.DataFrame(date)) + pd.to_timedelta(minutes, unit="min")
    return X.drop(columns=["month", "day"]).assign(when=when)[::60]


def rain(X: pd.DataFrame) -> pd.DataFrame:
    """Year and month are given; days are counted within them, at each place."""
    month, year = X["Month"].astype(int), X["Year"].astype(int)
    day = X.groupby([X["Location"], year, month], observed=True).cumcount()
    date = {"year": year, "month": month, "day": 1}
    when = pd.to_datetime(pd.DataFrame(date)) + pd.to_timedelta(day, unit="D")
    return X.drop(columns=["Year", "Month"]).assign(when=when)[::25]


def steel(X: pd.DataFrame) -> pd.DataFrame:
    """Quarters of an hour of 2018, in the order of the rows."""
    quarters = pd.to_timedelta(np.arange(len(X)) * 15, unit="min")
    X = X.drop(columns=["NSM", "WeekStatus", "Day_of_week"])
    return X.assign(when=pd.Timestamp("2018-01-01") + quarters)[::6]


def temperatures(X: pd.DataFrame) -> pd.DataFrame:
    """Days by number: a new one begins with each beginning of the list of stations."""
    days = (X["station"].astype(float).diff() < 0).cumsum()
    return X.assign(when=days.astype(float))[::2]


def quick(X: pd.DataFrame) -> pd.DataFrame:
    """Hours, in the order of the rows."""
    hours = pd.to_timedelta(np.arange(len(X)), unit="h")
    return X.assign(when=pd.Timestamp("2020-01-01") + hours)


TABLES: dict[str, Callable[[pd.DataFrame], pd.DataFrame]] = {
    "electricity": electricity,
    "nycflights13": flights,
    "Rain_in_Australia_binary": rain,
    "steel_industry_energy_consumption": steel,
    "Bias_correction_r": temperatures,
}


def fit(table: Table, config: str) -> Scores:
    """Fit one configuration on the past of a table, and predict its future."""
    X = TABLES.get(table.dataset.name, quick)(table.dataset.X)
    X = X[table.dataset.has_target[X.index]].sort_values("when", kind="stable")
    y, n_fit = table.dataset.y[X.index], round(0.8 * len(X))
    kind = ModernNCARegressor if table.regression else ModernNCAClassifier
    model = kind(
        preset="fast",
        patience=10,
        time_column="when",
        random_state=table.seed,
        config={**BASE, **CONFIGS[config], **table.limits},
    )
    begin = time.perf_counter()
    model.fit(X[:n_fit], y[:n_fit])
    seconds = time.perf_counter() - begin
    asked, true = X[n_fit:], y[n_fit:, None]
    if table.regression:
        scores = score_votes(model.predict(asked)[:, None], true)
    else:
        onehot = (true == model.classes_).astype(float)
        scores = score_votes(model.predict_proba(asked), onehot)
    return {
        **scores,
        "n_fit": n_fit,
        "judged": max(epoch.score for epoch in model.history_),
        "epochs": len(model.history_),
        "fallback": model.baseline_ or "",
        "fit_seconds": round(seconds, 1),
    }


def trials(table: Table) -> Iterator[tuple[str, Scores]]:
    """Each configuration."""
    for config in CONFIGS:
        if config not in table.done:
            yield config, fit(table, config)


def report(records: pd.DataFrame) -> None:
    """Print errors by table, and their geometric means, over those of the base."""
    for column, name in (("error", "error"), ("log_loss", "log-loss")):
        known = records.dropna(subset=column).astype({column: float})
        values = known.pivot_table(
            index="label", columns=["dataset", "seed"], values=column
        )
        values = values.clip(lower=1e-6)  # a quick run may make no error
        shares = np.log(values / values.loc["base"]).T.groupby("dataset").mean().T
        shares.insert(0, "all", shares.mean(axis=1, skipna=False))
        print(f"| {name}, over the base | {' | '.join(shares.columns)} |")
        print("| --- " * (1 + shares.shape[1]) + "|")
        for label in (label for label in CONFIGS if label in shares.index):
            cells = [f"{np.exp(v):.3f}" if v == v else "" for v in shares.loc[label]]
            print(f"| {label} | {' | '.join(cells)} |")
        print()


def quick_datasets() -> Iterator[Dataset]:
    """A hundred rows of one table for each task."""
    for name in ("builtin:iris", "builtin:diabetes"):
        whole = read_dataset(name)
        rows = np.random.RandomState(0).permutation(len(whole.y))[:100]
        X = whole.X.iloc[rows].reset_index(drop=True)
        yield replace(whole, X=X, y=whole.y[rows])


if __name__ == "__main__":
    words = {"words": {"judging": "validation"}}
    main(
        __doc__,
        __file__,
        trials,
        report,
        records=words,
        tables=TABLES,
        quick=quick_datasets,
    )
