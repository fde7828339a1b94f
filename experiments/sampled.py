"""Among how many rows should a vote be learned? At most 4,096, or 12,288.

    python experiments/sampled.py run --data DIR --store DIR [--tables a,b] [--seeds 3]
    python experiments/sampled.py judge --store DIR

The whole default with either limit, on the tables for choosing that are large enough to
reach the first one. `judge` adds what the stores hold to sampled.csv, one line for each
fit, and prints what the larger limit gives.
"""

import argparse
from pathlib import Path

import numpy as np
import pandas as pd
from ingredients import FLOOR, fits, gain, main, records_of, tables_in, third

from modernnca.lab.bench.folders import open_folder
from modernnca.lab.bench.job import Job

RECORDS = Path(__file__).parent / "sampled.csv"
BEFORE, AFTER = "at most 4,096", "at most 12,288"
CONFIGS = {
    BEFORE: {"preset": "default", "max_sampled": 4096},
    AFTER: {"preset": "default", "max_sampled": 12_288},
}
_LARGE = 10_240  # rows: half of the four fifths that are not for testing are 4,096


def jobs(asked: argparse.Namespace) -> list[Job]:
    """All fits, in the order in which they are run."""
    tables = [
        name
        for name in tables_in(asked.data, asked.tables)
        if asked.tables or third(name) == "choose"
        if (open_folder(asked.data / name).n_rows or 0) > _LARGE
    ]
    return fits(CONFIGS, tables, asked)


def judge(asked: argparse.Namespace) -> None:
    """Add what there is to the records, and print what the larger limit gives."""
    found = pd.DataFrame(
        {
            "dataset": record.job.dataset,
            "config": record.job.label,
            "seed": record.job.seed,
            "task": record.task,
            "error": record.scores.get("rmse", 1 - record.scores.get("accuracy", 0)),
            "log_loss": record.scores.get("log-loss"),
            "fit_seconds": record.facts["fit_seconds"],
            "machine": record.provenance.get("gpu") or "CPU",
        }
        for record in records_of(asked.store)
        if record.job.label in CONFIGS and record.status == "done"
    )
    fit = ["dataset", "config", "seed"]
    lines = pd.concat([found, pd.read_csv(RECORDS)]).drop_duplicates(fit)
    lines.sort_values(fit).to_csv(RECORDS, index=False, float_format="%.6g")
    regression = lines["task"] == "regression"
    for told, part in (("error", lines[~regression]), ("RMSE", lines[regression])):
        print(f"{told}: {ratio(part, 'error', 0 if told == 'RMSE' else FLOOR)}")
    print(f"log-loss: {ratio(lines[~regression], 'log_loss')}")
    print(f"time: {ratio(lines, 'fit_seconds')}")


def ratio(lines: pd.DataFrame, column: str, least: float = 0.0) -> str:
    """The geometric mean over tables, of means over seeds, and who won."""
    lines = lines.assign(**{column: lines[column].clip(lower=least)})
    means = lines.pivot_table(index="dataset", columns="config", values=column)
    logs = np.log(means[AFTER] / means[BEFORE]).dropna().to_numpy()
    mean, interval, won = gain(logs)
    return f"{mean} (95 % {interval}), better/worse {won}"


if __name__ == "__main__":
    main(__doc__, jobs, judge)
