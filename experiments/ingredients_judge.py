"""Judge what ingredients.py recorded: ratios to the base, and means of several members.

    python experiments/ingredients_judge.py --records DIR --data DIR [--third choose]

DIR of records: what ingredients.py wrote (records.jsonl and predictions/).
"""

import argparse
import json
import sys
from pathlib import Path

import numpy as np
import pandas as pd

sys.path.append(str(Path(__file__).parents[1] / "benchmarks"))
from tables import read

FLOOR = 0.002  # errors below say nothing
ENSEMBLES = {
    "base + block": ("base", "block"),
    "as-is, bent, ranked; no block": ("base", "robust-scale", "quantile-scale"),
    "as-is, bent, ranked; a block each": (
        "block",
        "robust-scale-block",
        "quantile-scale-block",
    ),
    "both of these": (
        "base",
        "robust-scale",
        "quantile-scale",
        "block",
        "robust-scale-block",
        "quantile-scale-block",
    ),
}


def interval(ratios: np.ndarray) -> str:
    """The geometric mean, and where it lies in 95 of 100 resamples of the tables."""
    rng = np.random.RandomState(0)
    logs = np.log(ratios)
    means = [rng.choice(logs, len(logs)).mean() for _ in range(2000)]
    low, high = np.exp(np.percentile(means, [2.5, 97.5]))
    wins, losses = int((logs < -1e-12).sum()), int((logs > 1e-12).sum())
    return f"{np.exp(logs.mean()):.3f} | {low:.3f} to {high:.3f} | {wins}/{losses}"


def error_of(table, prediction: np.ndarray) -> float:
    """RMSE, or the share of wrong classes, on the test rows."""
    y = table.test[1]
    if table.regression:
        return float(np.sqrt(np.mean((prediction - y) ** 2)))
    codes = np.searchsorted(np.unique(table.train[1]), y)
    return max(float((prediction.argmax(1) != codes).mean()), FLOOR)


def main() -> None:
    """Print both tables as Markdown."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--records", type=Path, required=True)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--third", default="choose")
    arguments = parser.parse_args()
    lines = (arguments.records / "records.jsonl").read_text().splitlines()
    records = pd.DataFrame(map(json.loads, lines))
    records = records[records["test_error"].notna()]
    records = records[records["third"] == arguments.third]
    tables = {name: read(arguments.data / name) for name in set(records["table"])}
    records["error"] = [
        max(error, 0 if tables[name].regression else FLOOR)
        for name, error in zip(records["table"], records["test_error"], strict=True)
    ]
    errors = records.pivot_table(index="table", columns="config", values="error")
    kinds = {"classes": False, "numbers": True}
    for kind, regression in kinds.items():
        mine = errors[[tables[name].regression == regression for name in errors.index]]
        print(f"\n### {kind}: one change to the base, {len(mine)} tables\n")
        print("| change | error, of the base's | 95 % | better/worse |")
        print("| --- | --- | --- | --- |")
        for config in errors.columns.drop("base"):
            both = mine[["base", config]].dropna()
            if len(both) > 2:
                ratios = (both[config] / both["base"]).to_numpy()
                print(f"| {config} | {interval(ratios)} |")
        print(f"\n### {kind}: means of members, against the paper's defaults\n")
        print("| members | error, of the paper's | 95 % | better/worse |")
        print("| --- | --- | --- | --- |")
        for title, configs in ENSEMBLES.items():
            whole = mine[["paper", *configs]].dropna()
            ratios = []
            for name in whole.index:
                files = [
                    arguments.records / "predictions" / f"{name}+{config}+0.npz"
                    for config in configs
                ]
                mean = np.mean(
                    [np.load(file)["test"].astype(float) for file in files], 0
                )
                ratios.append(error_of(tables[name], mean) / whole.loc[name, "paper"])
            if len(ratios) > 2:
                print(f"| {title} | {interval(np.array(ratios))} |")


if __name__ == "__main__":
    main()
