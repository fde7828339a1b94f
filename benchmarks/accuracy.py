"""How accurate are the defaults, beside the paper's, boosting, RealMLP and TabM?

    python benchmarks/accuracy.py run --data DIR --store DIR [--methods a,b] [--seeds 3]
    python benchmarks/accuracy.py judge --store DIR [--store DIR ...] [--data DIR]

Every method is fitted once with its defaults, stopped by val and judged on test, with
the given split of a table or 64/16/20 drawn with seed 0. Boosting grows 2,000 rounds,
stops by val, and is then refitted on train and val for as many rounds. `run` goes on
where it was interrupted; small tables come first, and all of them with the first seed.
Stores of several machines can be judged together. For a cap on the training rows, and
for machines without Parquet, see portable.py.

`judge` writes accuracy.csv (one line for each fit) and accuracy.md beside this file.
"""

import argparse
import json
from pathlib import Path

from modernnca.bench.folders import names_in, open_folder
from modernnca.bench.job import Job, Record
from modernnca.bench.run import PRELOAD, Runner
from modernnca.bench.store import Store
from modernnca.execute import Limits, Needs, Pool

HERE = Path(__file__).parent
_REFIT = {"refit": True}
METHODS: dict[str, tuple[str, dict]] = {
    "ModernNCA": ("modernnca", {}),
    "ModernNCA, paper": ("modernnca-paper", {}),
    "CatBoost": ("catboost", _REFIT),
    "LightGBM": ("lightgbm", _REFIT),
    "XGBoost": ("xgboost", _REFIT),
    "RealMLP": ("realmlp", {}),
    "TabM": ("tabm", {}),
}


def size_of(data: Path, name: str) -> int:
    """How many cells a table has."""
    folder = open_folder(data / name)
    return (folder.n_rows or 0) * (folder.n_columns or 0)


def jobs_for(tables: list[str], labels: list[str], seeds: range) -> list[Job]:
    """All fits, in the order in which they are run."""
    return [
        Job(table, method, seed=seed, settings=json.dumps(settings), label=label)
        for seed in seeds
        for table in tables
        for label in labels
        for method, settings in [METHODS[label]]
    ]


def tell(record: Record) -> None:
    """One line for each fit."""
    job, scores = record.job, record.scores
    said = (
        f"{next(iter(scores.values())):.4g}" if scores else (record.error or "")[-80:]
    )
    took = record.facts.get("fit_seconds", 0.0)
    print(
        f"{job.dataset} {job.label} {job.seed} {record.status} {said} {took:.0f} s",
        flush=True,
    )


def run(asked: argparse.Namespace) -> None:
    """Fit what is missing."""
    tables = sorted(names_in(asked.data), key=lambda name: size_of(asked.data, name))
    if asked.tables:
        tables = [name for name in tables if name in asked.tables.split(",")]
    labels = asked.methods.split(";") if asked.methods else list(METHODS)
    jobs = jobs_for(tables, labels, range(asked.first_seed, asked.seeds))
    runner = Runner(
        Store(asked.store),
        Pool(asked.workers, preload=PRELOAD),
        data=asked.data.absolute(),
        limits=Limits(asked.time_limit),
        needs=Needs(),
    )
    print(f"{len(runner.missing(jobs))} of {len(jobs)} fits are missing.", flush=True)
    runner.run(jobs, tell)


def main() -> None:
    """Run or judge."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    commands = parser.add_subparsers(required=True)
    running = commands.add_parser("run", help="fit what is missing")
    running.set_defaults(command=run)
    running.add_argument("--data", type=Path, required=True)
    running.add_argument("--store", type=Path, required=True)
    running.add_argument("--methods", help=f"some of: {';'.join(METHODS)}")
    running.add_argument("--tables", help="a,b,c; otherwise all of the folder")
    running.add_argument("--seeds", type=int, default=3)
    running.add_argument("--first-seed", type=int, default=0)
    running.add_argument("--workers", type=int)
    running.add_argument("--time-limit", type=float, help="seconds for one fit")
    asked = parser.parse_args()
    asked.command(asked)


if __name__ == "__main__":
    main()
