"""How accurate are the defaults, compared with the paper's, boosting, RealMLP and TabM?

    python benchmarks/accuracy.py run --data DIR --store DIR [--methods a;b] [--seeds 3]
    python benchmarks/accuracy.py report [--store DIR ...] [--anew]

Every method is fitted with its defaults, stops early by the validation rows, and is
scored on the test rows of the given split, or of 64/16/20 drawn with seed 0. Boosting
grows 2,000 rounds, stops by the validation rows, and is then refitted on training and
validation rows for as many rounds. `run` resumes where it was interrupted; small tables
come first, and all tables with the first seed. portable.py limits the training rows,
and writes tables for machines without Parquet. "ModernNCA, best" is what the default is
for classification on a GPU, for a machine without one.

`report` writes accuracy.csv (one line for each fit) and accuracy.md beside this file.
Fits in the stores replace the same fits in accuracy.csv; the others stay, as stores may
be gone or on another machine. Where a store has our default on a table, all its earlier
fits on that table go, so as not to average two versions. With --anew all of them go.
"""

import argparse
import json
from pathlib import Path

import numpy as np
import pandas as pd

from fits import main, purpose, records_of, tables_in
from modernnca.lab.bench.job import Job, Record
from modernnca.lab.bench.scores import ece, score_all
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
BEST = "ModernNCA, best"
RUNNABLE = {**METHODS, BEST: ("modernnca", {"preset": "best"})}
AVERAGED = ("RealMLP", "TabM")  # whose means over seeds are methods of their own
COUNTED_AS = {BEST: "ModernNCA"}


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
            "third": purpose(record.job.dataset),
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


def mean_networks(stores: list[Path]) -> pd.DataFrame:
    """One line for each table on which a method of `AVERAGED` has several seeds.

    The method is then the mean of its networks, one for each seed, as ours is a mean.
    """
    groups: dict[tuple[str, str], list[Record]] = {}
    for record in records_of(stores, arrays=True):
        if record.job.label in AVERAGED and record.prediction is not None:
            groups.setdefault((record.job.dataset, record.job.label), []).append(record)
    lines = []
    for (dataset, label), records in groups.items():
        if len(records) == 1:
            continue
        one = records[0]
        mean = np.mean([np.asarray(r.prediction, float) for r in records], axis=0)
        truth, classes = np.asarray(one.truth), None
        if one.classes is not None:
            classes = np.array(one.classes)
            truth = classes[truth]
        scores = score_all(one.task, truth, mean, classes)
        lines.append(
            {
                "dataset": dataset,
                "task": one.task,
                "third": purpose(dataset),
                "method": f"{label}, {len(records)} networks",
                "seed": 0,
                "status": "done",
                **{name: scores.get(name) for name in SCORES},
            }
        )
    return pd.DataFrame(lines)


def joined(new: pd.DataFrame, old: pd.DataFrame) -> pd.DataFrame:
    """New fits, and the old ones that they do not replace; in order."""
    fit = ["dataset", "method", "seed"]
    # A column of None alone would have objects, which are written unrounded.
    new = new.astype(dict.fromkeys([*SCORES, "ece"], float))
    again = new.loc[new["method"] == "ModernNCA", "dataset"]
    old = old[(old["method"] != "ModernNCA") | ~old["dataset"].isin(again)]
    found = pd.concat([new, old]).drop_duplicates(fit).sort_values(fit)
    # A failed fit has no task.
    return found.assign(task=found.groupby("dataset")["task"].transform("max"))


def calibration(record: Record) -> float | None:
    """The expected calibration error, from the predictions that were kept."""
    if record.status != "done" or record.task == "regression":
        return None
    return ece(np.asarray(record.truth), np.asarray(record.prediction, float))


def summary(lines: pd.DataFrame) -> list[str]:
    """The comparisons, in Markdown: first on tables that were not used for choosing."""
    records = lines.assign(settings="default", split="given")
    scores = summarize(records)
    text = ["| ModernNCA over | tables | task | median | mean | 95 % | better/worse |"]
    text += ["| --- | --- | --- | --- | --- | --- | --- |"]
    for name in ("confirm", "choose", "all"):
        some = lines["dataset"][(lines["third"] == name) | (name == "all")]
        part = scores[scores["dataset"].isin(some)]
        means = [m for m in part["method"].unique() if m.endswith(" networks")]
        for other in [*list(METHODS)[1:], *sorted(means)]:
            pair = part[part["method"].isin(["ModernNCA", other])]
            for row in relative_improvement(pair, "ModernNCA", other).itertuples():
                if row.task_group != "all":
                    middle = median_ratio(pair, other, row.task_group)
                    text.append(
                        f"| {other} | {row.n}, {name} | {row.task_group} | "
                        f"{middle:.3f} | {row.ratio:.3f} | "
                        f"{row.low:.3f} to {row.high:.3f} | {row.wins}/{row.losses} |"
                    )
    text += ["", *log_losses(records), "", *ranks(scores), "", *worst(scores)]
    return text


def median_ratio(scores: pd.DataFrame, other: str, group: str) -> float:
    """The median over tables of our loss over another's; errors are at least 0.002."""
    loss = losses(scores[scores["task"].map(TASK_GROUPS) == group]).dropna()
    floor = 0.002 if group == "classification" else 0.0
    return float(
        (loss.clip(lower=floor)["ModernNCA"] / loss.clip(lower=floor)[other]).median()
    )


def log_losses(records: pd.DataFrame) -> list[str]:
    """Geometric means of ratios of log-losses, and mean calibration errors."""
    losses, gaps = (
        summarize(records, name).pivot(index="dataset", columns="method", values="mean")
        for name in ("log-loss", "ece")
    )
    text = ["| ModernNCA over | tables | log-loss | ECE, ModernNCA | ECE, other |"]
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
    """Average ranks on the tables on which all methods have a score."""
    text = ["| average rank | tables | " + " | ".join(METHODS) + " |"]
    text += ["| --- " * (len(METHODS) + 2) + "|"]
    group = scores["task"].map(TASK_GROUPS)
    for name in ("classification", "regression"):
        part = complete(scores[group == name].dropna(), drop="datasets")
        rank = average_ranks(part).set_index("method")["rank"]
        cells = " | ".join(f"{rank[method]:.2f}" for method in METHODS)
        text.append(f"| {name} | {part['dataset'].nunique()} | {cells} |")
    return text


def worst(scores: pd.DataFrame) -> list[str]:
    """Tables on which the paper's defaults or boosting are more than 5 % better."""
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
    trailing = {m: len(far_behind(loss[m], best)) for m in list(METHODS)[1:]}
    others = ", ".join(f"{m} on {n}" for m, n in trailing.items() if m not in BOOSTING)
    own = [f"{m} on {trailing[m]}" for m in BOOSTING]
    return [
        f"- The paper's defaults are more than 5 % better on {len(behind)} of "
        f"{len(paper.dropna())} tables: {listed(behind)}. Beyond the noise of seeds "
        f"(Welch's test, 5 %): {', '.join(clearly) or 'none'}.",
        f"- A boosting library is more than 5 % better on {len(behind_best)} of "
        f"{len(best)} tables: {listed(behind_best)}. The libraries themselves trail "
        f"the best of the three by that much: {', '.join(own)}. So do the others: "
        f"{others}.",
    ]


def far_behind(loss: pd.Series, rival: pd.Series) -> pd.Series:
    """Ratios of a loss over a rival's where they are above 1.05, the largest first."""
    ratio = (loss / rival).dropna()
    return ratio[ratio > 1.05].sort_values(ascending=False)


def listed(ratios: pd.Series) -> str:
    """Tables with their ratios."""
    return ", ".join(f"{name} {value:.2f}" for name, value in ratios.items()) or "none"


def report(asked: argparse.Namespace) -> None:
    """Update accuracy.csv from the stores, and write accuracy.md."""
    new = pd.concat([lines_of(asked.store), mean_networks(asked.store)])
    old = pd.read_csv(HERE / "accuracy.csv")
    old = old[:0] if asked.anew else old
    lines = joined(new, old) if len(new) else old
    lines.to_csv(HERE / "accuracy.csv", index=False, float_format="%.6g")
    lines = pd.read_csv(HERE / "accuracy.csv")  # old and new ones with the same digits
    text = page(lines)
    (HERE / "accuracy.md").write_text(text, encoding="utf-8")
    print(text)


def page(lines: pd.DataFrame) -> str:
    """The page accuracy.md, from the lines of accuracy.csv."""
    n_tables = lines.loc[lines["method"] == "ModernNCA", "dataset"].nunique()
    fits = lines[lines["status"] == "done"].groupby("method")["seed"]
    counts = [
        f"{method} {fits.get_group(method).value_counts().sort_index().tolist()}"
        for method in METHODS
    ]
    text = [
        *("# Accuracy of the defaults", ""),
        f"{n_tables} tables, real and synthetic, {len(lines)} fits. Ratios of errors, "
        "or of RMSEs in regression, below 1 mean that ModernNCA is better: the median "
        "over tables, and the geometric mean with its bootstrap interval. "
        '"Confirm" are the tables that were not used for choosing the defaults, so '
        'these come first; "choose" are the others. Fits with the seeds 0, 1 and 2: '
        f"{'; '.join(counts)}.",
        "",
        "What is compared is not alike in all: ModernNCA is several networks (with few "
        "rows a forest, too) that are fine-tuned on training and validation rows. "
        "Boosting is one model, refitted on these rows. ModernNCA of the paper, "
        "RealMLP and TabM learn from the training rows alone; TabM is an ensemble in "
        "itself, RealMLP one network. `run --seeds 3` and `report` add means of their "
        "networks, one for each seed, as rows of their own; those fits have not been "
        "made.",
        "",
        "Written by `python benchmarks/accuracy.py report`. "
        "[README.md](README.md#accuracy) tells how the fits were made.",
        *("", *summary(lines)),
    ]
    return "\n".join(text) + "\n"


if __name__ == "__main__":
    main(__doc__, jobs, report)
