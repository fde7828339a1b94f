"""What does each ingredient of the defaults give? One network each, many tables.

    python experiments/ingredients.py run --data DIR --store DIR [--methods a;b]
    python experiments/ingredients.py judge --store DIR

Every configuration is one network of the preset "default" with a few changes. Two
thirds of the tables ("choose") are for choosing, and only they are run unless
`--tables` names others. Predictions are kept, so that means of several networks can be
judged afterwards. `judge` prints ratios of errors, and writes one line for each fit to
ingredients.csv.
"""

import argparse
import json
import sys
from pathlib import Path

import numpy as np
import pandas as pd

HERE = Path(__file__).parent
sys.path.append(str(HERE.parent / "benchmarks"))
from fits import main, records_of, tables_in, third  # noqa: E402
from modernnca.bench.job import Job, Record  # noqa: E402
from modernnca.stats.intervals import bootstrap_mean  # noqa: E402

FLOOR = 0.002  # errors below say nothing
_ONE = {"n_members": 1, "variety": "alike"}
_MANY = {**_ONE, "max_sampled": 4096}
CONFIGS: dict[str, dict] = {
    "block": _MANY,
    "block, 1,024 sampled": {**_ONE, "max_sampled": 1024},
    "no block": {**_MANY, "n_blocks": 0, "learning_rate": 0.003},
    "two blocks": {**_MANY, "n_blocks": 2},
    "block, ranked": {**_MANY, "numbers": "quantile", "scale_columns": True},
    "block, bent": {**_MANY, "numbers": "robust", "scale_columns": True},
    "block, cosine": {**_MANY, "distance": "cosine"},
    "block, T = 1": {**_MANY, "temperature": 1.0},
    "block, smoothed": {**_MANY, "label_smoothing": 0.1},
    "block, PBLD": {**_MANY, "encoding": "pbld", "n_frequencies": 16},
    "block, large batches": {**_MANY, "batch_size": 1024},
    "block, validation forgotten": {**_MANY, "refit": None},
}
MEANS = {
    "block + no block": ("block", "no block"),
    "block: as is, ranked, bent": ("block", "block, ranked", "block, bent"),
    "no block; ranked and bent with one": ("no block", "block, ranked", "block, bent"),
    "all four (the default)": ("no block", "block, ranked", "block, bent", "block"),
}


def jobs(asked: argparse.Namespace) -> list[Job]:
    """All fits, in the order in which they are run."""
    labels = asked.methods.split(";") if asked.methods else list(CONFIGS)
    tables = tables_in(asked.data, asked.tables)
    if not asked.tables:
        tables = [name for name in tables if third(name) == "choose"]
    return [
        Job(
            table,
            "modernnca",
            seed=seed,
            settings=json.dumps(CONFIGS[label]),
            label=label,
        )
        for seed in range(asked.seeds)
        for table in tables
        for label in labels
    ]


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
                low, high = np.exp(bootstrap_mean(logs.to_numpy()))
                better, worse = (logs < -1e-9).sum(), (logs > 1e-9).sum()
                cells += [f"{np.exp(logs.mean()):.3f}", f"{low:.3f} to {high:.3f}"]
                cells += [f"{better}/{worse} of {len(logs)}"]
            else:
                cells += ["", "", ""]
        text.append(f"| {label} | {' | '.join(cells)} |")
    return text


def judge(asked: argparse.Namespace) -> None:
    """Print what each change gives, over one network with a block."""
    named = {json.dumps(settings): label for label, settings in CONFIGS.items()}
    found = {
        (record.job.dataset, named[record.job.settings]): record
        for record in records_of(asked.store, arrays=True)
        if record.job.settings in named and record.status == "done"
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
