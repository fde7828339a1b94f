"""Run jobs with a progress bar; shared by the commands that run jobs."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import typer
from tqdm import tqdm

from modernnca._named import named
from modernnca.execute import EXECUTORS, Executor, Limits, Resources
from modernnca.lab.bench.job import Job, Record
from modernnca.lab.bench.runner import PRELOAD, Runner
from modernnca.lab.bench.scores import MAIN
from modernnca.lab.bench.store import Store
from modernnca.lab.bench.suites import Selection
from modernnca.lab.commands.bench_options import RunOptions
from modernnca.lab.commands.name_lists import split_names


def report_missing(selected: Selection) -> None:
    """Print the names of requested datasets that were not found."""
    missing = selected.missing
    if missing:
        listed = ", ".join(missing[:5]) + (", ..." if len(missing) > 5 else "")
        typer.echo(f"{len(missing)} datasets were not found: {listed}", err=True)


def open_for_writing(folder: Path, *, retry: bool) -> Store:
    """Open or create a store; with `retry`, delete the records of failed jobs."""
    store = Store(folder)
    for note in store.notes:
        typer.echo(note, err=True)
    if retry:
        failed = [each for each in store.records() if each.status != "done"]
        store.delete([record.job.key for record in failed])
    return store


def new_runner(store: Store, options: RunOptions) -> Runner:
    """Create a runner from the options of a command."""
    memory, data = options.memory_limit, options.data
    limits = Limits(options.time_limit, None if memory is None else int(memory * 2**30))
    return Runner(
        store,
        _new_executor(options.executor, options.workers, options.address),
        data=None if data is None else data.absolute(),
        limits=limits,
        resources=Resources(options.cpus, options.gpus),
        search_seconds=options.tune_time,
    )


def run_jobs(runner: Runner, jobs: Sequence[Job]) -> int:
    """Run the missing jobs with a progress bar; return how many fits failed."""
    n_failed = 0
    missing = len(runner.missing(jobs))
    with tqdm(total=missing, unit="fit", dynamic_ncols=True) as bar:

        def show(record: Record) -> None:
            nonlocal n_failed
            final = record.job.kind != "search"
            n_failed += final and record.status != "done"
            bar.set_postfix_str(_describe(record))
            bar.update(final)

        runner.run(jobs, show)
    return n_failed


def parse_trials(text: str) -> list[int]:
    """Parse numbers of trials such as "0,100"."""
    try:
        trials = [int(part) for part in split_names(text)]
    except ValueError:
        trials = [-1]
    if min(trials) < 0:
        raise ValueError(f"--trials must be numbers like 0,100; got {text!r}.")
    return trials


def _describe(record: Record) -> str:
    job = record.job
    metric = "purity" if job.kind == "embed" else MAIN.get(record.task, "")
    result = f"{metric} {record.scores[metric]:.4g}" if record.scores else record.status
    return f"{job.dataset} {job.label or job.method} {result}"


def _new_executor(name: str, workers: int | None, address: str | None) -> Executor:
    build = named("executor", name, EXECUTORS)
    options: dict[str, Any] = {}
    if name == "pool":
        options = {"n_workers": workers, "preload": PRELOAD}
    elif name == "ray":
        options = {"address": address}
    return build(**options)
