"""Is a table on which boosting is ahead still one when its rows are split anew?

    python benchmarks/other_splits.py run --data DIR --store DIR --tables a,b --seeds 4
    python benchmarks/other_splits.py judge --store DIR

A split that comes with a table decides by a few hundred rows. Here the rows are drawn
anew, once for each seed (64/16/20), and fitted by the defaults and by boosting as in
accuracy.py. `judge` adds to other_splits.csv what the stores hold, and prints means
over the splits on which all have an error.
"""

import argparse
import json
from pathlib import Path

import pandas as pd

from accuracy import BOOSTING, METHODS
from fits import main, records_of, tables_in
from modernnca.lab.bench.job import Job

RECORDS = Path(__file__).parent / "other_splits.csv"
OURS = "ModernNCA"


def jobs(asked: argparse.Namespace) -> list[Job]:
    """Table by table, so that those begun are whole."""
    labels = asked.methods.split(";") if asked.methods else [OURS, *BOOSTING]
    return [
        Job(table, method, f"random-{k}", settings=json.dumps(changes), label=label)
        for table in tables_in(asked.data, asked.tables)
        for k in range(asked.seeds)
        for label in labels
        for method, changes in [METHODS[label]]
    ]


def judge(asked: argparse.Namespace) -> None:
    """Print the mean errors, and ours over that of the best boosting."""
    found = pd.DataFrame(
        {
            "dataset": record.job.dataset,
            "split": record.job.split,
            "method": record.job.label,
            "error": 1 - record.scores["accuracy"],
        }
        for record in records_of(asked.store)
        if "accuracy" in record.scores
    )
    fit = ["dataset", "split", "method"]
    before = [pd.read_csv(RECORDS)] if RECORDS.exists() else []
    lines = pd.concat([found, *before]).drop_duplicates(fit).sort_values(fit)
    lines.to_csv(RECORDS, index=False, float_format="%.6g")
    errors = lines.pivot_table(index=fit[:2], columns="method", values="error")
    errors = errors[[OURS, *BOOSTING]].dropna()
    means = errors.groupby("dataset").mean()
    means["splits"] = errors.groupby("dataset").size()
    means["ratio"] = means[OURS] / means[BOOSTING].min(axis=1)
    print(means.sort_values("ratio").to_string(float_format="%.4f"))


if __name__ == "__main__":
    main(__doc__, jobs, judge)
