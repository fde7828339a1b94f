"""How accurate are the defaults, beside the paper's, boosting, RealMLP and TabM?

    python benchmarks/accuracy.py run --data DIR --store DIR [--methods a,b] [--seeds 3]
    python benchmarks/accuracy.py judge --store DIR [--store DIR ...] [--anew]

Every method is fitted once with its defaults, stopped by val and judged on test, with
the given split of a table or 64/16/20 drawn with seed 0. Boosting grows 2,000 rounds,
stops by val, and is then refitted on train and val for as many rounds. `run` goes on
where it was interrupted; small tables come first, and all of them with the first seed.
Stores of several machines can be judged together. For a cap on the training rows, and
for machines without Parquet, see portable.py. On a machine without a GPU the method
"ModernNCA, as on a GPU" is the default for classes with the sizes that it has on one.

`judge` writes accuracy.csv (one line for each fit) and accuracy.md beside this file.
Fits that the stores hold take the place of the same ones in accuracy.csv, and the
others stay: stores may be gone, or on another machine. Where they hold our default on
a table, its earlier fits go: their mean would be that of two versions. With --anew none
of them stay.
"""

import argparse
import json
from pathlib import Path

import numpy as np
import pandas as pd
from modernnca.estimators.settings import PRESETS, for_machine

from fits import main, records_of, tables_in, third
from modernnca.lab.bench.job import Job, Record
from modernnca.lab.bench.scores import ece
from modernnca.lab.stats.intervals import relative_improvement
from modernnca.lab.stats.ranks import average_ranks
from modernnca.lab.stats.significance import win_tie_lose
from modernnca.lab.stats.summary import TASK_GROUPS, complete, losses, summarize

HERE = Path(__file__).parent
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
BOOSTING = ["CatBoost", "LightGBM", "XGBoost"]
# What the default is for classes on a GPU, to be asked for where there is none.
AS_ON_GPU = "ModernNCA, as on a GPU"
_THERE = for_machine(PRESETS["default"], "classes", on_gpu=True)
_SIZES = {
    name: getattr(_THERE, name) for name in ("n_members", "d_block", "max_sampled")
}
RUNNABLE = {**METHODS, AS_ON_GPU: ("modernnca", {"preset": "default", **_SIZES})}
COUNTED_AS = {AS_ON_GPU: "ModernNCA"}


def jobs(asked: argparse.Namespace) -> list[Job]:
    """All fits, in the order in which they are run."""
    labels = asked.methods.split(";") if asked.methods else list(METHODS)
    return [
        Job(table, method, seed=seed, settings=json.dumps(settings), label=label)
        for seed in range(asked.seeds)
        for table in tables_in(asked.data, asked.tables)
        for label in labels
        for method, settings in [RUNNABLE[label]]
    ]


def lines_of(stores: list[Path]) -> pd.DataFrame:
    """One line for each fit of the stores."""
    lines = [
        {
            "dataset": record.job.dataset,
            "task": record.task,
            "third": third(record.job.dataset),
            "method": COUNTED_AS.get(record.job.label, record.job.label),
            "seed": record.job.seed,
            "status": record.status,
            **{name: record.scores.get(name) for name in SCORES},
            "ece": calibration(record),
            **{name: record.facts.get(name) for name in COSTS},
            "machine": record.provenance.get("gpu") or "CPU",
            "commit": record.provenance.get("commit"),
        }
        for record in records_of(stores, arrays=True)
        if record.job.label in RUNNABLE
    ]
    return pd.DataFrame(lines)


def joined(new: pd.DataFrame, old: pd.DataFrame) -> pd.DataFrame:
    """Lines of old fits, but where there are new ones instead; in order."""
    fit = ["dataset", "method", "seed"]
    # None alone would make a column of objects, which are written unrounded.
    new = new.astype(dict.fromkeys([*SCORES, "ece"], float))
    again = new.loc[new["method"] == "ModernNCA", "dataset"]
    old = old[(old["method"] != "ModernNCA") | ~old["dataset"].isin(again)]
    found = pd.concat([new, old]).drop_duplicates(fit).sort_values(fit)
    # A fit that failed does not know its task.
    return found.assign(task=found.groupby("dataset")["task"].transform("max"))


def calibration(record: Record) -> float | None:
    """The expected calibration error, from the predictions that were kept."""
    if record.status != "done" or record.task == "regression":
        return None
    return ece(np.asarray(record.truth), np.asarray(record.prediction, float))


def summary(lines: pd.DataFrame) -> list[str]:
    """What is asked of the defaults, in Markdown."""
    records = lines.assign(settings="default", split="given")
    scores = summarize(records)
    text = ["| ours over | tables | group | ratio | 95 % | better/worse |"]
    text += ["| --- | --- | --- | --- | --- | --- |"]
    for name in ("all", "choose", "confirm"):
        some = lines["dataset"][(lines["third"] == name) | (name == "all")]
        part = scores[scores["dataset"].isin(some)]
        for other in list(METHODS)[1:]:
            pair = part[part["method"].isin(["ModernNCA", other])]
            for row in relative_improvement(pair, "ModernNCA", other).itertuples():
                if row.task_group != "all":
                    text.append(
                        f"| {other} | {row.n}, {name} | {row.task_group} | "
                        f"{row.ratio:.3f} | {row.low:.3f} to {row.high:.3f} | "
                        f"{row.wins}/{row.losses} |"
                    )
    text += ["", *log_losses(records), "", *ranks(scores), "", *worst(scores)]
    return text


def log_losses(records: pd.DataFrame) -> list[str]:
    """The geometric mean of the log-losses' ratios, and mean calibration errors."""
    losses, gaps = (
        summarize(records, name).pivot(index="dataset", columns="method", values="mean")
        for name in ("log-loss", "ece")
    )
    text = ["| log-loss, ours over | tables | ratio | ECE, ours | ECE, theirs |"]
    text += ["| --- | --- | --- | --- | --- |"]
    for other in list(METHODS)[1:]:
        pair = losses[["ModernNCA", other]].dropna().clip(1e-4)
        ratio = np.exp(np.log(pair["ModernNCA"] / pair[other]).mean())
        ours, theirs = gaps.loc[pair.index, ["ModernNCA", other]].mean()
        text.append(
            f"| {other} | {len(pair)} | {ratio:.3f} | {ours:.3f} | {theirs:.3f} |"
        )
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
    trees = loss[BOOSTING]
    paper, best = loss["ModernNCA, paper"], trees.min(axis=1)[trees.notna().all(axis=1)]
    behind, behind_best = (far_behind(loss["ModernNCA"], r) for r in (paper, best))
    pair = scores[scores["method"].isin(["ModernNCA", "ModernNCA, paper"])]
    clearly = [
        table
        for table in behind.index
        if win_tie_lose(pair[pair["dataset"] == table], "ModernNCA")["lose"].item()
    ]
    others = ", ".join(
        f"{method} on {len(far_behind(loss[method], best))}"
        for method in list(METHODS)[1:]
    )
    return [
        f"- More than 5 % worse than the paper's defaults on {len(behind)} of "
        f"{len(paper.dropna())} tables: {listed(behind)}. Beyond the noise of seeds "
        f"(Welch's test, 5 %): {', '.join(clearly) or 'none'}.",
        f"- More than 5 % worse than the best boosting on {len(behind_best)} of "
        f"{len(best)} tables: {listed(behind_best)}. By the same measure: {others}.",
    ]


def far_behind(loss: pd.Series, rival: pd.Series) -> pd.Series:
    """How many times a rival's loss ours is, where it is more than 1.05 times."""
    ratio = (loss / rival).dropna()
    return ratio[ratio > 1.05].sort_values(ascending=False)


def listed(ratios: pd.Series) -> str:
    """Tables with their ratios."""
    return ", ".join(f"{name} {value:.2f}" for name, value in ratios.items()) or "none"


def judge(asked: argparse.Namespace) -> None:
    """Write what the stores hold as a table, and what it says."""
    new = lines_of(asked.store)
    old = pd.read_csv(HERE / "accuracy.csv")
    old = old[:0] if asked.anew else old
    lines = joined(new, old) if len(new) else old
    lines.to_csv(HERE / "accuracy.csv", index=False, float_format="%.6g")
    n_tables = lines.loc[lines["method"] == "ModernNCA", "dataset"].nunique()
    told = f"{n_tables} tables, {len(lines)} fits; ratios below 1: ours is better."
    fits = lines[lines["status"] == "done"].groupby("method")["seed"]
    counts = [
        f"{method} {fits.get_group(method).value_counts().sort_index().tolist()}"
        for method in METHODS
    ]
    told += f" Fits with the seeds 0, 1 and 2: {'; '.join(counts)}."
    text = ["# Accuracy of the defaults", "", told, "", *summary(lines)]
    (HERE / "accuracy.md").write_text("\n".join(text) + "\n")
    print("\n".join(text))


if __name__ == "__main__":
    main(__doc__, jobs, judge)
