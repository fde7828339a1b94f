"""Fit many methods on many tables, resumably: what the larger benchmarks share.

A benchmark lists its fits (`lab.bench.job.Job`) and reports on their records. Tables
are read from folders, as `modernnca bench run` does; portable.py limits the training
rows, and writes tables for machines without Parquet.
"""

import argparse
import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from modernnca.execute import Limits, Pool
from modernnca.lab.bench.folders import names_in, open_folder
from modernnca.lab.bench.job import Job, Record
from modernnca.lab.bench.runner import PRELOAD, Runner
from modernnca.lab.bench.store import Store
from modernnca.lab.stats.intervals import bootstrap_mean


def purpose(name: str) -> str:
    """What a table is for: "choose" defaults (two of three), or "confirm" them."""
    number = int(hashlib.sha256(name.encode()).hexdigest(), 16)
    return "confirm" if number % 3 == 0 else "choose"


def tables_in(data: Path, names: str | None = None) -> list[str]:
    """The tables of a folder, or those named "a,b"; those with few cells first."""

    def n_cells(name: str) -> int:
        folder = open_folder(data / name)
        return (folder.n_rows or 0) * (folder.n_columns or 0)

    found = set(names_in(data))
    return sorted(found & set(names.split(",")) if names else found, key=n_cells)


def run(jobs: Sequence[Job], asked: argparse.Namespace) -> None:
    """Run what is missing in the store, and print one line for each fit."""
    runner = Runner(
        Store(asked.store[0]),
        Pool(asked.workers, threads_each=asked.threads, preload=PRELOAD),
        data=asked.data.absolute(),
        limits=Limits(asked.time_limit),
    )
    print(f"{len(runner.missing(jobs))} of {len(jobs)} fits are missing.", flush=True)
    runner.run(jobs, _show)


def gain(logs: np.ndarray) -> tuple[str, str, str]:
    """The geometric mean of ratios, its 95 % interval, and how many are below 1.

    Given are the logarithms of the ratios.
    """
    low, high = np.exp(bootstrap_mean(logs))
    counts = f"{(logs < -1e-9).sum()}/{(logs > 1e-9).sum()} of {len(logs)}"
    return f"{np.exp(logs.mean()):.3f}", f"{low:.3f} to {high:.3f}", counts


def _show(record: Record) -> None:
    job, scores = record.job, record.scores
    result = f"{next(iter(scores.values())):.4g}" if scores else record.error or ""
    seconds = record.facts.get("fit_seconds", 0.0)
    name = f"{job.dataset} {job.label or job.method} {job.seed}"
    print(f"{name} {record.status} {result[-80:]} {seconds:.0f} s", flush=True)


def records_of(stores: Sequence[Path], *, arrays: bool = False) -> list[Record]:
    """The records of all stores; of a fit that several have, that of the first."""
    found: dict[str, Record] = {}
    for path in stores:
        for record in Store(path).records(arrays=arrays):
            found.setdefault(record.job.key, record)
    return list(found.values())


def main(
    doc: str,
    jobs: Callable[[argparse.Namespace], Sequence[Job]],
    report: Callable[[argparse.Namespace], None],
) -> None:
    """The command line of such a benchmark: `run` and `report`."""
    parser = argparse.ArgumentParser(description=doc.split("\n")[0])
    commands = parser.add_subparsers(required=True)
    running = commands.add_parser("run", help="fit what is missing")
    running.set_defaults(command=lambda asked: run(jobs(asked), asked))
    running.add_argument("--data", type=Path, required=True)
    running.add_argument("--methods", help="a;b;c instead of all")
    running.add_argument("--tables", help="a,b,c instead of those of the benchmark")
    running.add_argument("--seeds", type=int, default=1)
    running.add_argument("--workers", type=int, help="fits at once")
    running.add_argument("--threads", type=int, default=1, help="of each fit")
    running.add_argument("--time-limit", type=float, help="seconds for one fit")
    running.add_argument("--store", type=Path, action="append", required=True)
    reporting = commands.add_parser("report", help="write what the records say")
    reporting.set_defaults(command=report)
    reporting.add_argument("--store", type=Path, action="append", default=[])
    reporting.add_argument("--published", type=Path, help="published means, as CSV")
    reporting.add_argument("--anew", action="store_true", help="forget earlier results")
    asked = parser.parse_args()
    asked.command(asked)
