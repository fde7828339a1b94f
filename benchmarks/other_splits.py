"""Is boosting still better where it is, if the rows are split differently?

    python benchmarks/other_splits.py run --data DIR --store DIR --tables a,b --seeds 4
    python benchmarks/other_splits.py report [--store DIR ...]

On a given split a few hundred test rows decide. Here rows are split at random, once for
each seed (64/16/20), and fitted by the defaults and by boosting as in accuracy.py.
`report` adds the records of the stores to other_splits.csv, and prints means over the
splits on which all methods have an error.
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
    """All fits, table by table."""
    labels = asked.methods.split(";") if asked.methods else [OURS, *BOOSTING]
    return [
        Job(table, method, f"random-{k}", settings=json.dumps(changes), label=label)
        for table in tables_in(asked.data, asked.tables)
        for k in range(asked.seeds)
        for label in labels
        for method, changes in [METHODS[label]]
    ]


def report(asked: argparse.Namespace) -> None:
    """Print mean errors, and ours over that of the best boosting library."""
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
    main(__doc__, jobs, report)
