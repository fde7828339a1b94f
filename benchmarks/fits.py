"""Fit many methods on many tables, resumably: what the larger benchmarks share.

A benchmark says which fits it wants (`lab.bench.job.Job`) and what their records
say together. Tables are read from folders as `modernnca bench run` does; for a cap
on the training rows, and for machines without Parquet, see portable.py.
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


def third(name: str) -> str:
    """Which third a table is in: "choose" (two of three) or "confirm"."""
    number = int(hashlib.sha256(name.encode()).hexdigest(), 16)
    return "confirm" if number % 3 == 0 else "choose"


def tables_in(data: Path, asked: str | None = None) -> list[str]:
    """The tables of a folder, or those asked for; those with few cells first."""

    def n_cells(name: str) -> int:
        folder = open_folder(data / name)
        return (folder.n_rows or 0) * (folder.n_columns or 0)

    names = set(names_in(data)) & set(asked.split(",")) if asked else names_in(data)
    return sorted(names, key=n_cells)


def run(jobs: Sequence[Job], asked: argparse.Namespace) -> None:
    """Run what is missing in the store; one line for each fit."""
    runner = Runner(
        Store(asked.store[0]),
        Pool(asked.workers, threads_each=asked.threads, preload=PRELOAD),
        data=asked.data.absolute(),
        limits=Limits(asked.time_limit),
    )
    print(f"{len(runner.missing(jobs))} of {len(jobs)} fits are missing.", flush=True)
    runner.run(jobs, _tell)


def gain(logs: np.ndarray) -> tuple[str, str, str]:
    """Of logarithms of ratios: their mean, its interval, and how many are below 1."""
    low, high = np.exp(bootstrap_mean(logs))
    won = f"{(logs < -1e-9).sum()}/{(logs > 1e-9).sum()} of {len(logs)}"
    return f"{np.exp(logs.mean()):.3f}", f"{low:.3f} to {high:.3f}", won


def _tell(record: Record) -> None:
    job, scores = record.job, record.scores
    said = f"{next(iter(scores.values())):.4g}" if scores else record.error or ""
    took = record.facts.get("fit_seconds", 0.0)
    name = job.label or job.method
    said = f"{record.status} {said[-80:]} {took:.0f} s"
    print(f"{job.dataset} {name} {job.seed} {said}", flush=True)


def records_of(stores: Sequence[Path], *, arrays: bool = False) -> list[Record]:
    """What was done, each fit once, in the order of the stores."""
    found: dict[str, Record] = {}
    for path in stores:
        for record in Store(path).records(arrays=arrays):
            found.setdefault(record.job.key, record)
    return list(found.values())


def main(
    told: str,
    jobs: Callable[[argparse.Namespace], Sequence[Job]],
    judge: Callable[[argparse.Namespace], None],
) -> None:
    """The two commands of such a benchmark."""
    parser = argparse.ArgumentParser(description=told.split("\n")[0])
    commands = parser.add_subparsers(required=True)
    running = commands.add_parser("run", help="fit what is missing")
    running.set_defaults(command=lambda asked: run(jobs(asked), asked))
    running.add_argument("--data", type=Path, required=True)
    running.add_argument("--methods", help="some of them: a;b;c")
    running.add_argument("--tables", help="a,b,c; otherwise all of the benchmark's")
    running.add_argument("--seeds", type=int, default=1)
    running.add_argument("--workers", type=int, help="fits at once")
    running.add_argument("--threads", type=int, default=1, help="of each fit")
    running.add_argument("--time-limit", type=float, help="seconds for one fit")
    judging = commands.add_parser("judge", help="say what there is so far")
    judging.set_defaults(command=judge)
    judging.add_argument("--published", type=Path, help="means of others, as CSV")
    judging.add_argument("--anew", action="store_true", help="forget earlier results")
    for command in (running, judging):
        command.add_argument("--store", type=Path, action="append", required=True)
    asked = parser.parse_args()
    asked.command(asked)
