"""Where should the scales of columns begin? With ones, or with what a forest says.

    python experiments/scales.py run --data DIR --store DIR [--tables a,b] [--seeds 2]
    python experiments/scales.py judge --store DIR

The four networks of the default, each fitted alone: with scales as they were before
(none, or learned from ones on), and with scales that begin with how telling a forest
finds each column. Tables are those for choosing. `judge` prints what the forest gives
to each network and to the mean of the four, and writes one line for each fit to
scales.csv.
"""

import argparse
from pathlib import Path

import pandas as pd
from ingredients import error_of, fits, main, records_of
from members import FOUR, TABLES, Found, ratio

from modernnca.lab.bench.job import Job

HERE = Path(__file__).parent
_FOREST = {"scale_columns": "forest"}
AFTER = {f"{name}, forest": {**config, **_FOREST} for name, config in FOUR.items()}
CONFIGS: dict[str, dict] = {**FOUR, **AFTER}
NUMBERS = [
    "us_crime",
    "wine+quality",
    "Bias_correction_r",
    "cpu_act",
    "kin8nm",
    "delta_elevators",
    "Brazilian_houses_reproduced",
    "MiamiHousing2016",
]


def jobs(asked: argparse.Namespace) -> list[Job]:
    """All fits, in the order in which they are run."""
    tables = asked.tables.split(",") if asked.tables else [*TABLES[::-1], *NUMBERS]
    return fits(CONFIGS, tables, asked)


def judge(asked: argparse.Namespace) -> None:
    """Print what the forest gives."""
    records = [
        record
        for record in records_of(asked.store, arrays=True)
        if record.job.label in CONFIGS and record.status == "done"
    ]
    for task in ("classes", "numbers"):
        found: Found = {
            (record.job.dataset, record.job.label, record.job.seed): record
            for record in records
            if (record.task == "regression") == (task == "numbers")
        }
        if not found:
            continue
        print(f"| {task} | with a forest, over without | 95 % | better/worse |")
        print("| --- " * 4 + "|")
        for before, after in zip(FOUR, AFTER, strict=True):
            print(f"| {before} | {ratio(found, (after,), (before,))} |")
        print(f"| the mean of all four | {ratio(found, tuple(AFTER), tuple(FOUR))} |")
    pd.DataFrame(
        {
            "dataset": record.job.dataset,
            "config": record.job.label,
            "seed": record.job.seed,
            "error": error_of([record]),
            "log_loss": record.scores.get("log-loss"),
            "fit_seconds": record.facts["fit_seconds"],
            "machine": record.provenance.get("gpu") or "CPU",
        }
        for record in records
    ).sort_values(["dataset", "config", "seed"]).to_csv(
        HERE / "scales.csv", index=False, float_format="%.6g"
    )


if __name__ == "__main__":
    main(__doc__, jobs, judge)
