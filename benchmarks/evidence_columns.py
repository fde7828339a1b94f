"""Do column importances find the planted columns of synthetic tables?

    python benchmarks/evidence_columns.py run [--seeds 2] [--rows 400]
    python benchmarks/evidence_columns.py report

Each table has a few columns that make the target, by a function of its own, and 14
columns of noise. Three importances rank the columns: `mean_importances` of an
explanation of 200 rows, `feature_importances_` of the same model (permutations), and
the mean absolute TreeSHAP value on CatBoost. The average precision says how well the
planted columns come first: 1 is all of them first. Seeds in turn are regression and
classification (above the median). Needs catboost. Lines are added to
evidence_columns.csv as they come; `report` writes evidence_columns.md.
"""

import argparse
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.metrics import average_precision_score

from modernnca import ModernNCAClassifier, ModernNCARegressor

HERE = Path(__file__).parent
FILE, PAGE = HERE / "evidence_columns.csv", HERE / "evidence_columns.md"
METHODS = ("explanation", "permutation", "TreeSHAP")
KEY = ["function", "rows", "seed"]
N_NOISE, N_EXPLAINED = 14, 200


def linear(x: np.ndarray) -> np.ndarray:
    """Four columns of falling weight."""
    return x[:, 0] + 0.8 * x[:, 1] + 0.6 * x[:, 2] + 0.4 * x[:, 3]


def friedman(x: np.ndarray) -> np.ndarray:
    """Friedman's first function: a product, a square and two lines."""
    u = (np.tanh(x) + 1) / 2
    return (
        10 * np.sin(np.pi * u[:, 0] * u[:, 1])
        + 20 * (u[:, 2] - 0.5) ** 2
        + 10 * u[:, 3]
        + 5 * u[:, 4]
    )


def product(x: np.ndarray) -> np.ndarray:
    """Two products: no column tells anything alone."""
    return x[:, 0] * x[:, 1] + x[:, 2] * x[:, 3]


def steps(x: np.ndarray) -> np.ndarray:
    """Thresholds, as trees have them."""
    return (x[:, 0] > 0) * 2.0 + (x[:, 1] > 0.5) + (x[:, 2] < -0.5) * (x[:, 3] > 0)


def waves(x: np.ndarray) -> np.ndarray:
    """Two waves and a line."""
    return np.sin(2 * x[:, 0]) + np.cos(3 * x[:, 1]) + 0.5 * x[:, 2]


def sphere(x: np.ndarray) -> np.ndarray:
    """The distance from the origin in four columns."""
    return np.sqrt(np.square(x[:, :4]).sum(1))


FUNCTIONS: dict[str, tuple[Callable[[np.ndarray], np.ndarray], int]] = {
    "linear": (linear, 4),
    "friedman": (friedman, 5),
    "product": (product, 4),
    "steps": (steps, 4),
    "waves": (waves, 3),
    "sphere": (sphere, 4),
}


def make_table(
    name: str, n_rows: int, seed: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A table, its target, and which columns are planted; their order is random."""
    rng = np.random.RandomState(seed)
    function, n_planted = FUNCTIONS[name]
    x = rng.randn(n_rows, n_planted)
    y = function(x)
    y = y + 0.2 * y.std() * rng.randn(n_rows)
    noise = rng.randn(n_rows, N_NOISE)
    order = rng.permutation(n_planted + N_NOISE)
    table = np.concatenate([x, noise], 1)[:, order]
    return table, y, np.r_[np.ones(n_planted), np.zeros(N_NOISE)][order]


def tree_shap(table: np.ndarray, y: np.ndarray, *, classes: bool) -> np.ndarray:
    """The mean absolute TreeSHAP value of each column, by CatBoost itself."""
    from catboost import CatBoostClassifier, CatBoostRegressor, Pool

    kind = CatBoostClassifier if classes else CatBoostRegressor
    model = kind(verbose=0, random_seed=0, thread_count=1, allow_writing_files=False)
    model.fit(table, y)
    values = model.get_feature_importance(
        Pool(table[:N_EXPLAINED], y[:N_EXPLAINED]), type="ShapValues", thread_count=1
    )
    return np.abs(values[:, :-1]).mean(0)


def ours(table: np.ndarray, y: np.ndarray, *, classes: bool) -> dict[str, np.ndarray]:
    """The importances of an explanation, and of permutations."""
    kind = ModernNCAClassifier if classes else ModernNCARegressor
    model = kind(random_state=0, verbose=False).fit(table, y)
    return {
        "explanation": model.explain(table[:N_EXPLAINED]).mean_importances,
        "permutation": model.feature_importances_,
    }


def run(asked: argparse.Namespace) -> None:
    """Add a line for each table that has none."""
    warnings.simplefilter("ignore")
    known = pd.read_csv(FILE) if FILE.exists() else pd.DataFrame(columns=KEY)
    done = set(zip(*(known[name] for name in KEY), strict=True))
    for seed in range(asked.seeds):
        for name in FUNCTIONS:
            if (name, asked.rows, seed) in done:
                continue
            classes = seed % 2 == 1
            table, y, planted = make_table(name, asked.rows, seed)
            target = (y > np.median(y)).astype(int) if classes else y
            begin = time.monotonic()
            found = ours(table, target, classes=classes)
            found["TreeSHAP"] = tree_shap(table, target, classes=classes)
            task = "classification" if classes else "regression"
            line = dict(zip(KEY, (name, asked.rows, seed), strict=True), task=task)
            for method, values in found.items():
                line[method] = average_precision_score(planted, values)
            line["seconds"] = time.monotonic() - begin
            print(line, flush=True)
            frame, header = pd.DataFrame([line]), not FILE.exists()
            frame.to_csv(
                FILE, mode="a", header=header, index=False, float_format="%.4f"
            )


def report(asked: argparse.Namespace) -> None:
    """Write the page."""
    del asked
    lines = pd.read_csv(FILE)
    text = [
        "# Do column importances find the planted columns?",
        "",
        "Written by `python benchmarks/evidence_columns.py report`; its docstring says "
        "what the tables are. Average precision of the planted columns among 14 of "
        "noise (1: all of them come first); means over the seeds.",
        "",
        "| function | rows | task | tables | " + " | ".join(METHODS) + " |",
        "|" + " --- |" * (4 + len(METHODS)),
    ]
    groups = lines.groupby(["rows", "task", "function"], sort=False)
    for (n_rows, task, name), part in groups:
        text.append(row(name, n_rows, task, part))
    for (n_rows, task), part in lines.groupby(["rows", "task"], sort=False):
        text.append(row("all", n_rows, task, part))
    PAGE.write_text("\n".join([*text, ""]))


def row(name: str, n_rows: int, task: str, part: pd.DataFrame) -> str:
    """A row of the table."""
    means = " | ".join(f"{part[method].mean():.3f}" for method in METHODS)
    return f"| {name} | {n_rows} | {task} | {len(part)} | {means} |"


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    commands = parser.add_subparsers(required=True)
    running = commands.add_parser("run", help="measure what is missing")
    running.set_defaults(command=run)
    running.add_argument("--seeds", type=int, default=2)
    running.add_argument("--rows", type=int, default=400)
    commands.add_parser("report", help="write the page").set_defaults(command=report)
    asked = parser.parse_args()
    asked.command(asked)


if __name__ == "__main__":
    main()
