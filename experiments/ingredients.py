"""What does each ingredient of the defaults give? One network each, many tables.

    python experiments/ingredients.py run --data DIR --store DIR [--methods a;b]
    python experiments/ingredients.py judge --store DIR

Every configuration is one network of the preset "default" with a few changes; "slim"
is a block of 256, batches of 512, rate 0.003, weights averaged over 2 epochs. Two
thirds of the tables ("choose") are for choosing, and only they are run unless
`--tables` names others. Predictions are kept, so that means of several networks can be
judged afterwards. `judge` prints ratios of errors, and writes one line for each fit to
ingredients.csv.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

HERE = Path(__file__).parent
sys.path.append(str(HERE.parent / "benchmarks"))
from fits import gain, main, records_of, tables_in, third  # noqa: E402
from modernnca.lab.bench.job import Job, Record  # noqa: E402

FLOOR = 0.002  # errors below say nothing
_ONE = {
    "n_members": 1,
    "variety": "alike",
    "max_sampled": 4096,
    "clip": False,
    "scale_columns": "none",
    "finishing": 0.0,
}
# All are compared with this one, the default before its weights were averaged.
_BLOCK = {
    **_ONE,
    "d_block": 512,
    "learning_rate": 0.002,
    "batch_size": 256,
    "averaging": 0.0,
}
NO_BLOCK = {**_BLOCK, "n_blocks": 0, "learning_rate": 0.003}
# The default's now.
SLIM = {
    **_ONE,
    "d_block": 256,
    "learning_rate": 0.003,
    "batch_size": 512,
    "averaging": 2.0,
}
RANKED = {"numbers": "quantile", "scale_columns": "learned"}
BENT = {"numbers": "robust", "scale_columns": "learned"}
CONFIGS: dict[str, dict] = {
    "block": _BLOCK,
    "1,024 sampled": {**_BLOCK, "max_sampled": 1024},
    "no block": NO_BLOCK,
    "two blocks": {**_BLOCK, "n_blocks": 2},
    "ranked": {**_BLOCK, **RANKED},
    "bent": {**_BLOCK, **BENT},
    "block of 256": {**_BLOCK, "d_block": 256},
    "averaged over 1 epoch": {**_BLOCK, "averaging": 1.0},
    "averaged over 4 epochs": {**_BLOCK, "averaging": 4.0},
    "averaged over 2, rate 0.004": {
        **_BLOCK,
        "averaging": 2.0,
        "learning_rate": 0.004,
    },
    "averaged over 2, rate 0.003, batches of 512": {**SLIM, "d_block": 512},
    "no block, averaged over 2": {**NO_BLOCK, "averaging": 2.0},
    "no block, learned anew from all": {**NO_BLOCK, "refit": "full"},
    "slim": SLIM,
    "slim, ranked": {**SLIM, **RANKED},
    "slim, bent": {**SLIM, **BENT},
    "slim, learned anew from all": {**SLIM, "refit": "full"},
    "cosine": {**_BLOCK, "distance": "cosine"},
    "T = 1": {**_BLOCK, "temperature": 1.0},
    "smoothed": {**_BLOCK, "label_smoothing": 0.1},
    "PBLD": {**_BLOCK, "encoding": "pbld", "n_frequencies": 16},
    "validation forgotten": {**_BLOCK, "refit": None},
}
MEANS = {
    "block + no block": ("block", "no block"),
    "block: as is, ranked, bent": ("block", "ranked", "bent"),
    "no block; ranked and bent with one": ("no block", "ranked", "bent"),
    "no block, block, ranked, bent": ("no block", "ranked", "bent", "block"),
    "the same, slim (the default)": ("no block", "slim, ranked", "slim, bent", "slim"),
}


def fits(
    configs: dict[str, dict], tables: Sequence[str], asked: argparse.Namespace
) -> list[Job]:
    """All configurations, or those asked for, on tables, in the order of running."""
    labels = asked.methods.split(";") if asked.methods else list(configs)
    return [
        Job(table, "modernnca", seed=seed, settings=json.dumps(config), label=label)
        for seed in range(asked.seeds)
        for table in tables
        for label in labels
        for config in [configs[label]]
    ]


def jobs(asked: argparse.Namespace) -> list[Job]:
    """All fits, in the order in which they are run."""
    tables = tables_in(asked.data, asked.tables)
    if not asked.tables:
        tables = [name for name in tables if third(name) == "choose"]
    return fits(CONFIGS, tables, asked)


def error_of(records: list[Record]) -> float:
    """RMSE, or the share of wrong classes, of the mean prediction."""
    told = np.mean([np.asarray(each.prediction, float) for each in records], axis=0)
    truth = records[0].truth
    if records[0].task == "regression":
        return float(np.sqrt(np.mean((told - truth) ** 2)))
    return max(float((told.argmax(1) != truth).mean()), FLOOR)


def lines(title: str, ratios: dict[str, pd.Series], regression: pd.Series) -> list[str]:
    """A table in Markdown: a geometric mean for each task and configuration."""
    text = [f"| {title} | error | 95 % | +/- | RMSE | 95 % | +/- |"]
    text.append("| --- " * 7 + "|")
    for label, ratio in ratios.items():
        cells = []
        for chosen in (~regression, regression):
            logs = np.log(ratio[chosen.reindex(ratio.index)].dropna())
            if len(logs):
                cells += gain(logs.to_numpy())
            else:
                cells += ["", "", ""]
        text.append(f"| {label} | {' | '.join(cells)} |")
    return text


def judge(asked: argparse.Namespace) -> None:
    """Print what each change gives, over one network with a block."""
    found = {
        (record.job.dataset, record.job.label): record
        for record in records_of(asked.store, arrays=True)
        if record.job.label in CONFIGS and record.status == "done"
    }
    tables = sorted({table for table, label in found if label == "block"})
    regression = pd.Series(
        {name: found[name, "block"].task == "regression" for name in tables}
    )
    ways = {**{label: (label,) for label in CONFIGS}, **MEANS}
    errors = {
        way: pd.Series(
            {
                table: error_of([found[table, label] for label in labels])
                for table in tables
                if all((table, label) in found for label in labels)
            },
            dtype=float,
        )
        for way, labels in ways.items()
    }
    over = {way: (error / errors["block"]).dropna() for way, error in errors.items()}
    singles = {way: over[way] for way in CONFIGS if way != "block" and len(over[way])}
    print("\n".join(lines("one network, over one with a block", singles, regression)))
    print()
    means = {way: over[way] for way in MEANS if len(over[way])}
    print("\n".join(lines("means of networks", means, regression)))
    pd.DataFrame(
        {
            "dataset": table,
            "config": label,
            "task": record.task,
            "error": error_of([record]),
            "log_loss": record.scores.get("log-loss"),
            "fit_seconds": record.facts["fit_seconds"],
            "n_train": record.facts["n_train"],
            "machine": record.provenance.get("gpu") or "CPU",
        }
        for (table, label), record in sorted(found.items())
    ).to_csv(HERE / "ingredients.csv", index=False, float_format="%.6g")


if __name__ == "__main__":
    main(__doc__, jobs, judge)
