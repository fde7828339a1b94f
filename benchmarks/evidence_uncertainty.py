"""How sure: coverage, width and scores of uncertainty, beside gradient boosting.

    python benchmarks/evidence_uncertainty.py run --data DIR [--tables a,b] [--seeds 3]
    python benchmarks/evidence_uncertainty.py report

`run` draws at most 1,000 training rows and 2,000 test rows of each table. Ours are the
defaults. LightGBM and CatBoost learn from 80 % of the same training rows and are
conformalized on the others: quantile regression in regression (CQR; LightGBM with one
model for each quantile, CatBoost with MultiQuantile), the probability of the true class
in classification, as ours. Each fit adds a line to evidence_uncertainty.csv, and what
has a line is skipped. `report` writes evidence_uncertainty.md beside this file.

CRPS is twice the mean pinball loss over eleven quantiles; both, and widths, are in
units of the target's standard deviation.
"""

import argparse
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import betabinom

from fits import tables_in
from modernnca import ModernNCAClassifier, ModernNCARegressor
from modernnca.evidence.conformal import threshold
from modernnca.evidence.score_error import accuracy_score, r2_score
from modernnca.lab.bench.dataset import Dataset
from modernnca.lab.bench.readers import read_dataset

HERE = Path(__file__).parent
FILE = HERE / "evidence_uncertainty.csv"
COVERAGE = 0.9
LEVELS = np.array([0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95])
N_TRAIN, N_TEST = 1000, 2000
ROUNDS = {"LightGBM": 200, "CatBoost": 500}
COLUMNS = [
    "table",
    "task",
    "seed",
    "method",
    "n_held_out",
    "n_test",
    "coverage",
    "size",  # of an interval, or of a set
    "crps",
    "pinball",
    "crps_of_neighbors",
    "expected",
    "expected_error",
    "loo",
    "loo_error",
    "score",
    "score_error",
    "unlike",  # the share of test rows with an ood_score below 0.05
    "seconds",
]
Rows = tuple[pd.DataFrame, np.ndarray]


def split(dataset: Dataset, seed: int) -> tuple[Rows, Rows]:
    """The rows to learn from, and the test rows."""
    places = np.flatnonzero(dataset.has_target)
    places = np.random.RandomState(seed).permutation(places)
    n_train = min(N_TRAIN, int(0.7 * len(places)))
    y = dataset.y.astype(float if dataset.task == "regression" else str)
    parts = places[:n_train], places[n_train : n_train + N_TEST]
    train, test = ((dataset.X.iloc[part], y[part]) for part in parts)
    if dataset.task != "regression":  # a class that was not seen is in no set
        known = np.isin(test[1], train[1])
        test = test[0][known], test[1][known]
    return train, test


def ours(train: Rows, test: Rows, task: str, seed: int) -> dict[str, Any]:
    """The defaults of this package."""
    X, y = test
    kind = ModernNCARegressor if task == "regression" else ModernNCAClassifier
    model = kind(random_state=seed, device="cpu", verbose=False).fit(*train)
    loo, expected = model.loo(), model.expected_score_
    predicted = model.predict(X)
    tested = (
        r2_score(y, predicted)
        if task == "regression"
        else accuracy_score(predicted == y)
    )
    found = {
        "n_held_out": len(model.held_out_),
        "expected": expected.value,
        "expected_error": expected.error,
        "loo": loo.score,
        "loo_error": loo.score_error,
        "score": tested.value,
        "score_error": tested.error,
        "unlike": (model.ood_score(X) < 0.05).mean(),
    }
    if task != "regression":
        sets = model.predict_set(X, COVERAGE)
        return found | of_sets(sets, model.classes_, y)
    scale = train[1].std()
    crps = model.predict_distribution(X).crps(y).mean() / scale
    quantiles = model.predict_quantiles(X, LEVELS)
    interval = model.predict_interval(X, COVERAGE)
    found |= {"crps_of_neighbors": crps}
    return found | of_intervals(interval, quantiles, y, scale)


def of_intervals(
    interval: np.ndarray, quantiles: np.ndarray, y: np.ndarray, scale: float
) -> dict[str, float]:
    """Coverage and width of intervals (B, 2), and losses of quantiles (B, K)."""
    low, high = interval.T
    errors = y[:, None] - np.sort(quantiles, 1)
    pinball = np.maximum(LEVELS * errors, (LEVELS - 1) * errors).mean() / scale
    return {
        "coverage": ((low <= y) & (y <= high)).mean(),
        "size": (high - low).clip(0).mean() / scale,
        "crps": 2 * pinball,
        "pinball": pinball,
    }


def of_sets(sets: np.ndarray, classes: np.ndarray, y: np.ndarray) -> dict[str, float]:
    """Coverage and size of sets (B, V)."""
    true = sets[np.arange(len(y)), np.searchsorted(classes, y)]
    return {"coverage": true.mean(), "size": sets.sum(1).mean()}


def boosting(
    name: str, train: Rows, test: Rows, task: str, seed: int
) -> dict[str, Any]:
    """LightGBM or CatBoost, conformalized on a fifth of the training rows."""
    order = np.random.RandomState(seed).permutation(len(train[1]))
    n_held = len(order) // 5
    held, rest = order[:n_held], order[n_held:]
    learned, rows = ((train[0].iloc[p], train[1][p]) for p in (rest, held))
    if task == "regression":
        fit = catboost_quantiles if name == "CatBoost" else lightgbm_quantiles
        predict = fit(learned, seed)
        on_rows, found = np.sort(predict(rows[0]), 1), np.sort(predict(test[0]), 1)
        misses = np.maximum(on_rows[:, 0] - rows[1], rows[1] - on_rows[:, -1])
        allowed = threshold(misses, COVERAGE)
        interval = np.stack([found[:, 0] - allowed, found[:, -1] + allowed], 1)
        scale = train[1].std()
        return {"n_held_out": n_held} | of_intervals(interval, found, test[1], scale)
    classes, predict = boosted_classes(name, learned, seed)
    seen = np.isin(rows[1], classes)
    rows = rows[0][seen], rows[1][seen]
    codes = np.searchsorted(classes, rows[1])
    of_true = predict(rows[0])[np.arange(len(codes)), codes]
    allowed = threshold(1 - of_true, COVERAGE)
    known = np.isin(test[1], classes)
    sets = 1 - predict(test[0]) <= allowed
    found = of_sets(sets[known], classes, test[1][known])
    return {"n_held_out": len(codes)} | found


def lightgbm_quantiles(train: Rows, seed: int) -> Any:
    """One model for each quantile."""
    from lightgbm import LGBMRegressor

    models = [
        LGBMRegressor(
            objective="quantile",
            alpha=level,
            n_estimators=ROUNDS["LightGBM"],
            learning_rate=0.05,
            n_jobs=1,
            random_state=seed,
            verbose=-1,
        ).fit(*train)
        for level in LEVELS
    ]
    return lambda X: np.stack([model.predict(X) for model in models], 1)


def for_catboost(X: pd.DataFrame) -> pd.DataFrame:
    """Categories as text."""
    names = [n for n in X if isinstance(X[n].dtype, pd.CategoricalDtype)]
    return X.assign(**{n: X[n].astype(object).fillna("?").astype(str) for n in names})


def boosted(kind: Any, train: Rows, seed: int, **options: Any) -> Any:
    """A fitted model of CatBoost."""
    X = for_catboost(train[0])
    names = [n for n in X if X[n].dtype == object or str(X[n].dtype).startswith("str")]
    model = kind(
        iterations=ROUNDS["CatBoost"],
        random_seed=seed,
        verbose=False,
        thread_count=1,
        allow_writing_files=False,
        cat_features=names,
        **options,
    )
    return model.fit(X, train[1])


def catboost_quantiles(train: Rows, seed: int) -> Any:
    """One model for all quantiles."""
    from catboost import CatBoostRegressor

    loss = f"MultiQuantile:alpha={','.join(map(str, LEVELS))}"
    model = boosted(CatBoostRegressor, train, seed, loss_function=loss)
    return lambda X: model.predict(for_catboost(X))


def boosted_classes(name: str, train: Rows, seed: int) -> tuple[np.ndarray, Any]:
    """The classes, and what predicts their probabilities."""
    if name == "CatBoost":
        from catboost import CatBoostClassifier

        model = boosted(CatBoostClassifier, train, seed)
        order = np.argsort(model.classes_.astype(str))  # CatBoost sorts "10" after "9"
        return (
            model.classes_[order],
            lambda X: model.predict_proba(for_catboost(X))[:, order],
        )
    from lightgbm import LGBMClassifier

    model = LGBMClassifier(n_jobs=1, random_state=seed, verbose=-1).fit(*train)
    return model.classes_, model.predict_proba


METHODS = ("ModernNCA", "LightGBM", "CatBoost")


def planned(asked: argparse.Namespace) -> Iterator[tuple[str, int]]:
    """Tables of both tasks in turn, all with one seed before the next."""
    names = tables_in(asked.data, asked.tables)
    for seed in range(asked.seeds):
        for name in names:
            yield name, seed


def run(asked: argparse.Namespace) -> None:
    """Fit what has no line yet."""
    warnings.simplefilter("ignore")
    known = pd.read_csv(FILE) if FILE.exists() else pd.DataFrame(columns=COLUMNS)
    done = set(zip(known["table"], known["seed"], known["method"], strict=True))
    for name, seed in planned(asked):
        missing = [m for m in METHODS if (name, seed, m) not in done]
        if not missing:
            continue
        dataset = read_dataset(name, data=asked.data)
        train, test = split(dataset, seed)
        for method in missing:
            began = time.monotonic()
            if method == "ModernNCA":
                found = ours(train, test, dataset.task, seed)
            else:
                found = boosting(method, train, test, dataset.task, seed)
            line = {"table": name, "task": dataset.task, "seed": seed, "method": method}
            line |= found | {"n_test": len(test[1])}
            line["seconds"] = round(time.monotonic() - began, 1)
            frame = pd.DataFrame([line], columns=COLUMNS)
            frame.to_csv(FILE, mode="a", header=not FILE.exists(), index=False)
            print(name, seed, method, line["coverage"], line["size"], flush=True)


def report(asked: argparse.Namespace) -> None:
    """Write the tables."""
    del asked
    lines = pd.read_csv(FILE)
    regression = lines["task"] == "regression"
    text = [
        "# How sure",
        "",
        "Made by `python benchmarks/evidence_uncertainty.py report`; see its docstring "
        "for the protocol.",
        "",
        "## Intervals and sets of nominal 90 %",
        "",
        summary(lines),
        "",
        "Within range: fits whose coverage is within the central 95 % of the "
        "beta-binomial distribution of an exactly valid method with as many held-out "
        "and test rows; of an exact method, 5 % are outside. Beyond: fits outside the "
        "range that holds all fits of a task at once with a probability of 95 % "
        "(Bonferroni). Error: the standard error of the mean. Size: the mean width in "
        "standard deviations, or classes. Ratio: the geometric mean of our size over "
        "theirs. Smaller: fits in which ours are smaller.",
        "",
        "## Expected and leave-one-out scores of ours",
        "",
        expected_scores(lines),
        "",
        "## Intervals, by table",
        "",
        by_table(lines[regression], ["coverage", "size", "crps"]),
        "",
        "## Sets, by table",
        "",
        by_table(lines[~regression], ["coverage", "size"]),
        "",
    ]
    (HERE / "evidence_uncertainty.md").write_text("\n".join(text))


def heading(names: str) -> list[str]:
    """The head of a table."""
    cells = [name.replace("_", " ") for name in names.split()]
    return ["| " + " | ".join(cells) + " |", "|" + " --- |" * len(cells)]


def in_range(lines: pd.DataFrame, share: float = 0.95) -> np.ndarray:
    """Which coverages are in the central range of an exactly valid method."""
    n_rows = lines["n_held_out"].to_numpy()
    place = np.ceil((n_rows + 1) * COVERAGE - 1e-9)
    n_test = lines["n_test"].to_numpy()
    low, high = betabinom.interval(share, n_test, place, n_rows + 1 - place)
    covered = (lines["coverage"] * n_test).to_numpy()
    return (covered >= low - 0.5) & (covered <= high + 0.5)


def summary(lines: pd.DataFrame) -> str:
    """A row for each task and method."""
    head = "task method tables fits coverage error within_range beyond mean_size ratio"
    rows = heading(f"{head} smaller CRPS pinball")
    names = np.where(lines["task"] == "regression", "regression", "classification")
    for task, part in [*lines.groupby(names), ("all", lines)]:
        both = part.set_index(["table", "seed"])
        mine = both[both["method"] == "ModernNCA"]
        for method in METHODS:
            found = both[both["method"] == method]
            common = found.index.intersection(mine.index)
            found = found.loc[common]
            if not len(found):
                continue
            ratio = mine.loc[common, "size"] / found["size"]
            smaller = f"{(ratio < 1).sum()} of {len(ratio)}"
            own = method == "ModernNCA"
            cells = [
                task,
                method,
                found.index.get_level_values(0).nunique(),
                len(found),
                f"{found['coverage'].mean():.1%}",
                f"{found['coverage'].sem():.1%}",
                f"{in_range(found).mean():.0%}",
                (~in_range(found, 1 - 0.05 / len(found))).sum(),
                "" if task == "all" else f"{found['size'].mean():.3f}",
                "" if own else f"{np.exp(np.log(ratio).mean()):.3f}",
                "" if own else smaller,
                *(
                    f"{found[name].mean():.4f}" if task == "regression" else ""
                    for name in ("crps", "pinball")
                ),
            ]
            rows.append("| " + " | ".join(map(str, cells)) + " |")
    return "\n".join(rows)


def expected_scores(lines: pd.DataFrame) -> str:
    """How far the two estimates are from the test score."""
    mine = lines[lines["method"] == "ModernNCA"]
    head = "task estimate fits mean_difference mean_absolute_difference"
    rows = heading(f"{head} within_1_standard_error within_2_standard_errors")
    for task, part in mine.groupby(
        np.where(mine["task"] == "regression", "regression", "classification")
    ):
        for name, label in (("expected", "expected_score_"), ("loo", "loo().score")):
            off = part[name] - part["score"]
            both = np.hypot(part[f"{name}_error"], part["score_error"])
            cells = [
                task,
                f"`{label}`",
                len(part),
                f"{off.mean():+.3f}",
                f"{off.abs().mean():.3f}",
                f"{(off.abs() <= both).mean():.0%}",
                f"{(off.abs() <= 2 * both).mean():.0%}",
            ]
            rows.append("| " + " | ".join(map(str, cells)) + " |")
    note = (
        "Difference: the estimate less the test score (accuracy, or R²). The standard "
        "error is that of the estimate and of the test score together. "
        "An unbiased estimate whose error is normal is within one standard error of "
        "the truth with a probability of 68 %, and within two with 95 %. So one that "
        "is within one standard error on 90 % of the tables does not know its error: "
        "it states 1.64 times too much."
    )
    return "\n".join([*rows, "", note])


def by_table(lines: pd.DataFrame, names: list[str]) -> str:
    """The means over the seeds."""
    heads = [f"{method}, {name}" for name in names for method in METHODS]
    rows = ["| table | " + " | ".join(heads) + " |", "|" + " --- |" * (1 + len(heads))]
    means = lines.groupby(["table", "method"])[names].mean()
    for table in sorted(lines["table"].unique()):
        cells = [
            f"{means.loc[(table, method), name]:.3f}"
            if (table, method) in means.index
            else ""
            for name in names
            for method in METHODS
        ]
        rows.append(f"| {table} | " + " | ".join(cells) + " |")
    return "\n".join(rows)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    commands = parser.add_subparsers(required=True)
    running = commands.add_parser("run", help="fit what has no line yet")
    running.set_defaults(command=run)
    running.add_argument("--data", type=Path, required=True)
    running.add_argument("--tables", help="a,b,c instead of all")
    running.add_argument("--seeds", type=int, default=3)
    reporting = commands.add_parser("report", help="write evidence_uncertainty.md")
    reporting.set_defaults(command=report)
    asked = parser.parse_args()
    asked.command(asked)


if __name__ == "__main__":
    main()
