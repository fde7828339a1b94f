"""What else could a member of the ensemble be? Other networks, alone and in its place.

    python experiments/members.py run --data DIR --store DIR [--methods a;b] [--seeds 2]
    python experiments/members.py judge --store DIR

The four networks of the default, each fitted alone, and others that differ from one of
them in one thing, on tables of classes that are for choosing. Predictions are kept.
`judge` prints what each gives: alone (over the slim network), in place of the slim one
among the four, and as a fifth; then the best fours of all of them. It writes one line
for each fit to members.csv.
"""

import argparse
import itertools
from pathlib import Path

import numpy as np
import pandas as pd
from ingredients import (
    BENT,
    NO_BLOCK,
    RANKED,
    SLIM,
    error_of,
    fits,
    gain,
    main,
    records_of,
)

from modernnca.lab.bench.job import Job, Record

HERE = Path(__file__).parent
_PLAIN = {**SLIM, "clip": True}
_SMOOTH = {"label_smoothing": 0.1}
FOUR = {
    "no block": {**NO_BLOCK, "clip": True},
    "ranked": {**_PLAIN, **RANKED},
    "bent": {**_PLAIN, **BENT},
    "slim": _PLAIN,
}
CONFIGS: dict[str, dict] = {
    **FOUR,
    **{f"{name}, smoothed": {**config, **_SMOOTH} for name, config in FOUR.items()},
    "smoothed by 0.05": {**_PLAIN, "label_smoothing": 0.05},
    "columns scaled": {**_PLAIN, "scale_columns": "learned"},
    "dropout 0.3": {**_PLAIN, "dropout": 0.3},
    "decay 0.02": {**_PLAIN, "weight_decay": 0.02},
    "residual": {**_PLAIN, "embedding": "residual"},
    "frequencies of 0.2": {**_PLAIN, "frequency_scale": 0.2},
    "PBLD": {**_PLAIN, "encoding": "pbld", "n_frequencies": 16},
    "PLE": {**_PLAIN, "encoding": "ple"},
    "cosine": {**_PLAIN, "distance": "cosine"},
    "stopped by log-loss": {**_PLAIN, "stopping_metric": "log-loss"},
}
# Up to 10,000 rows, and three larger ones.
TABLES = [
    "satimage",
    "mozilla4",
    "in_vehicle_coupon_recommendation",
    "online_shoppers",
    "mammography",
    "PhishingWebsites",
    "coil2000",
    "ringnorm",
    "twonorm",
    "telco-customer-churn",
    "texture",
    "sylvine",
    "churn",
    "spambase",
    "predict_students_dropout_and_academic_success",
    "kr-vs-kp",
    "mfeat-pixel",
    "mfeat-fourier",
    "car-evaluation",
    "pc3",
    "pc4",
    "analcatdata_authorship",
    "kropt",
    "letter",
    "MagicTelescope",
]


def jobs(asked: argparse.Namespace) -> list[Job]:
    """All fits, in the order in which they are run."""
    tables = asked.tables.split(",") if asked.tables else TABLES
    return fits(CONFIGS, tables, asked)


Found = dict[tuple[str, str, int], Record]


def ratio(found: Found, ours: tuple[str, ...], theirs: tuple[str, ...]) -> str:
    """The mean of `ours` over that of `theirs`: geometric means over tables."""
    logs: dict[str, list[float]] = {}
    for table, seed in sorted({(table, seed) for table, _, seed in found}):
        needed = [(table, label, seed) for label in (*ours, *theirs)]
        if all(key in found for key in needed):
            errors = [
                error_of([found[table, label, seed] for label in labels])
                for labels in (ours, theirs)
            ]
            logs.setdefault(table, []).append(np.log(errors[0] / errors[1]))
    means = np.array([np.mean(each) for each in logs.values()])
    return " | ".join(gain(means))


def best_fours(found: Found, n: int = 3) -> list[str]:
    """Of all sets of four kinds, those with the least error on the same tables."""
    common = [
        (table, seed)
        for table, seed in sorted({(table, seed) for table, _, seed in found})
        if all((table, label, seed) in found for label in CONFIGS)
    ]

    def error(labels: tuple[str, ...]) -> float:
        logs = [
            np.log(error_of([found[table, label, seed] for label in labels]))
            for table, seed in common
        ]
        return float(np.mean(logs))

    base = error(tuple(FOUR))
    ranked = sorted(
        (error(labels), labels) for labels in itertools.combinations(CONFIGS, 4)
    )
    return [
        f"- {np.exp(value - base):.3f}: {'; '.join(labels)}"
        for value, labels in ranked[:n]
    ]


def judge(asked: argparse.Namespace) -> None:
    """Print what each kind of network gives."""
    found: Found = {
        (record.job.dataset, record.job.label, record.job.seed): record
        for record in records_of(asked.store, arrays=True)
        if record.job.label in CONFIGS and record.status == "done"
    }
    four, others = tuple(FOUR), [label for label in CONFIGS if label not in FOUR]
    print("| | alone | 95 % | +/- | for slim | 95 % | +/- | fifth | 95 % | +/- |")
    print("| --- " * 10 + "|")
    for label in (*four[:3], *others):
        cells = [ratio(found, (label,), ("slim",))]
        if label in others:
            cells += [ratio(found, (*four[:3], label), four)]
            cells += [ratio(found, (*four, label), four)]
        print(f"| {label} | {' | '.join(cells)} |")
    smoothed = tuple(f"{label}, smoothed" for label in four)
    print(f"\nAll four smoothed, over the four: {ratio(found, smoothed, four)}")
    print("The best of all fours:", *best_fours(found), sep="\n")
    pd.DataFrame(
        {
            "dataset": table,
            "config": label,
            "seed": seed,
            "error": error_of([record]),
            "log_loss": record.scores.get("log-loss"),
            "fit_seconds": record.facts["fit_seconds"],
            "machine": record.provenance.get("gpu") or "CPU",
        }
        for (table, label, seed), record in sorted(found.items())
    ).to_csv(HERE / "members.csv", index=False, float_format="%.6g")


if __name__ == "__main__":
    main(__doc__, jobs, judge)
