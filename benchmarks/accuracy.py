"""How accurate are the defaults, beside the paper's, boosting, RealMLP and TabM?

    python benchmarks/accuracy.py run --data DIR --store DIR [--methods a,b] [--seeds 3]
    python benchmarks/accuracy.py judge --store DIR [--store DIR ...]

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
import sys
from pathlib import Path

import numpy as np
import pandas as pd

from modernnca.bench.folders import names_in, open_folder
from modernnca.bench.job import Job, Record
from modernnca.bench.run import PRELOAD, Runner
from modernnca.bench.store import Store
from modernnca.execute import Limits, Needs, Pool
from modernnca.stats.intervals import relative_improvement
from modernnca.stats.ranks import average_ranks
from modernnca.stats.summary import TASK_GROUPS, complete, losses, summarize

HERE = Path(__file__).parent
sys.path.append(str(HERE.parent / "experiments"))
from ingredients import third as third_of  # noqa: E402

SCORES = ("accuracy", "log-loss", "auc", "rmse", "mae", "r2")
COSTS = ("fit_seconds", "predict_seconds", "peak_bytes", "n_train", "n_columns")
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


def lines_of(stores: list[Path]) -> pd.DataFrame:
    """One line for each fit of the stores."""
    kept = ("dataset", "task", "method", "seed", "status", *SCORES, *COSTS)
    lines = []
    for path in stores:
        records = {each.job.key: each for each in Store(path).records()}
        frame = Store(path).frame()
        frame = frame[frame["method"].isin(METHODS)]
        machine = [machine_of(records[key].provenance) for key in frame["key"]]
        lines.append(frame[list(kept)].assign(machine=machine))
    found = pd.concat(lines).drop_duplicates(["dataset", "method", "seed"])
    # A fit that failed does not know its task.
    found["task"] = found.groupby("dataset")["task"].transform("max")
    third = ["confirm" if third_of(n) == "confirm" else "choose" for n in found.dataset]
    return found.assign(third=third).sort_values(["dataset", "method", "seed"])


def machine_of(provenance: dict) -> str:
    """Where a fit ran."""
    return str(provenance.get("gpu") or "cpu")


def summary(lines: pd.DataFrame) -> list[str]:
    """What is asked of the defaults, in Markdown."""
    records = lines.assign(settings="default", split="given")
    scores = summarize(records)
    text = ["| ours over | tables | group | ratio | 95 % | better/worse |"]
    text += ["| --- | --- | --- | --- | --- | --- |"]
    for third in ("all", "choose", "confirm"):
        some = lines["dataset"][(lines["third"] == third) | (third == "all")]
        part = scores[scores["dataset"].isin(some)]
        for other in list(METHODS)[1:]:
            pair = part[part["method"].isin(["ModernNCA", other])]
            for row in relative_improvement(pair, "ModernNCA", other).itertuples():
                if row.task_group != "all":
                    text.append(
                        f"| {other} | {row.n}, {third} | {row.task_group} | "
                        f"{row.ratio:.3f} | {row.low:.3f} to {row.high:.3f} | "
                        f"{row.wins}/{row.losses} |"
                    )
    text += ["", *log_losses(records), "", *ranks(scores), "", *worst(scores)]
    return text


def log_losses(records: pd.DataFrame) -> list[str]:
    """The geometric mean of the log-losses' ratios."""
    wide = summarize(records, "log-loss").pivot(
        index="dataset", columns="method", values="mean"
    )
    text = ["| log-loss, ours over | tables | ratio |", "| --- | --- | --- |"]
    for other in list(METHODS)[1:]:
        logs = np.log(wide["ModernNCA"].clip(1e-4) / wide[other].clip(1e-4)).dropna()
        text.append(f"| {other} | {len(logs)} | {np.exp(logs.mean()):.3f} |")
    return text


def ranks(scores: pd.DataFrame) -> list[str]:
    """Average ranks on the tables that all methods have."""
    text = ["| average rank | tables | " + " | ".join(METHODS) + " |"]
    text += ["| --- " * (len(METHODS) + 2) + "|"]
    group = scores["task"].map(TASK_GROUPS)
    for name in ("classification", "regression"):
        part = complete(scores[group == name].dropna(), drop="datasets")
        told = average_ranks(part).set_index("method")["rank"]
        cells = " | ".join(f"{told[method]:.2f}" for method in METHODS)
        text.append(f"| {name} | {part['dataset'].nunique()} | {cells} |")
    return text


def worst(scores: pd.DataFrame) -> list[str]:
    """Tables on which ours is more than 5 % worse than the paper or the best trees."""
    loss = losses(scores)
    errs = scores.groupby("dataset")["higher"].first().loc[loss.index]
    loss = loss.where(~errs.astype(bool), loss.clip(lower=0.002), axis=0)
    trees = loss[["CatBoost", "LightGBM", "XGBoost"]]
    rivals = {
        "the paper's defaults": loss["ModernNCA, paper"],
        "the best boosting": trees.min(axis=1)[trees.notna().all(axis=1)],
    }
    text = []
    for name, rival in rivals.items():
        ratio = (loss["ModernNCA"] / rival).dropna()
        bad = ratio[ratio > 1.05].sort_values(ascending=False)
        named = ", ".join(f"{table} {value:.2f}" for table, value in bad.items())
        text.append(
            f"- More than 5 % worse than {name} on {len(bad)} of {len(ratio)} tables: "
            f"{named or 'none'}."
        )
    return text


def judge(asked: argparse.Namespace) -> None:
    """Write what the stores hold as a table, and what it says."""
    lines = lines_of(asked.store)
    lines.to_csv(HERE / "accuracy.csv", index=False, float_format="%.6g")
    text = ["# Accuracy of the defaults", "", *summary(lines)]
    (HERE / "accuracy.md").write_text("\n".join(text) + "\n")
    print("\n".join(text))


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
    judging = commands.add_parser("judge", help="compare what there is")
    judging.set_defaults(command=judge)
    judging.add_argument("--store", type=Path, action="append", required=True)
    asked = parser.parse_args()
    asked.command(asked)


if __name__ == "__main__":
    main()
