"""Do column importances find the planted columns of synthetic tables?

    python benchmarks/evidence_columns.py columns [--seeds 3] [--rows 600] [--out FILE]

Each table has a few columns that make the target, by a function of its own, and 14
columns of noise. Three importances rank the columns: `mean_importances` of an
explanation of 200 rows, `feature_importances_` of the same model (permutations), and
the mean absolute TreeSHAP value on CatBoost. The average precision says how well the
planted columns come first: 1 is all of them first. Needs catboost. Results are written
as they come; the table is printed in the end.
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


def run_columns(n_seeds: int, n_rows: int, out: Path) -> pd.DataFrame:
    """Average precisions of all importances, a line for each table."""
    records: list[dict] = []
    for seed in range(n_seeds):
        for name in FUNCTIONS:
            classes = seed % 2 == 1
            table, y, planted = make_table(name, n_rows, seed)
            target = (y > np.median(y)).astype(int) if classes else y
            begin = time.monotonic()
            found = ours(table, target, classes=classes)
            found["TreeSHAP"] = tree_shap(table, target, classes=classes)
            task = "classification" if classes else "regression"
            record = {"function": name, "task": task, "seed": seed}
            for method, values in found.items():
                record[method] = average_precision_score(planted, values)
            record["seconds"] = time.monotonic() - begin
            records.append(record)
            pd.DataFrame(records).to_csv(out, index=False, float_format="%.4f")
    return pd.DataFrame(records)


def main() -> None:
    """Run a part, and print its table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", choices=["columns"])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--rows", type=int, default=600)
    parser.add_argument("--out", type=Path, default=Path("evidence_columns.csv"))
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    frame = run_columns(given.seeds, given.rows, given.out)
    methods = ["explanation", "permutation", "TreeSHAP"]
    means = frame.groupby("function", sort=False)[methods].mean()
    means.loc["mean"] = frame[methods].mean()
    print(means.round(3).to_string())


if __name__ == "__main__":
    main()
