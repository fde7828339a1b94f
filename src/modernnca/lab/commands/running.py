"""Jobs with a progress bar: how every command that runs jobs does it."""

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
from modernnca.lab.bench.suites import Chosen
from modernnca.lab.commands.lists import split_list


def say_missing(chosen: Chosen) -> None:
    """Name tables that were asked for and are not here."""
    if chosen.missing:
        few = ", ".join(chosen.missing[:5])
        more = ", ..." if len(chosen.missing) > 5 else ""
        typer.echo(f"{len(chosen.missing)} tables are not here: {few}{more}", err=True)


def open_to_write(folder: Path, *, retry: bool) -> Store:
    """Open a store or make one; with `retry`, forget what failed."""
    store = Store(folder)
    for note in store.notes:
        typer.echo(note, err=True)
    if retry:
        failed = [each for each in store.records() if each.status != "done"]
        store.forget([record.job.key for record in failed])
    return store


def new_runner(
    store: Store,
    *,
    data: Path | None,
    executor: str,
    workers: int | None,
    address: str | None,
    cpus: float,
    gpus: float,
    time_limit: float | None,
    memory_limit: float | None,
    tune_time: float | None,
) -> Runner:
    """What the options say, as a runner."""
    memory = None if memory_limit is None else int(memory_limit * 2**30)
    return Runner(
        store,
        _executor(executor, workers, address),
        data=None if data is None else data.absolute(),
        limits=Limits(time_limit, memory),
        resources=Resources(cpus, gpus),
        search_seconds=tune_time,
    )


def run_jobs(runner: Runner, jobs: Sequence[Job]) -> int:
    """Run what is missing with a progress bar; the number of fits that failed."""
    n_failed = 0
    missing = len(runner.missing(jobs))
    with tqdm(total=missing, unit="fit", dynamic_ncols=True) as bar:

        def tell(record: Record) -> None:
            nonlocal n_failed
            final = record.job.kind != "search"
            n_failed += final and record.status != "done"
            bar.set_postfix_str(_in_words(record))
            bar.update(final)

        runner.run(jobs, tell)
    return n_failed


def read_trials(text: str) -> list[int]:
    """Read numbers of trials such as "0,100"."""
    try:
        numbers = [int(part) for part in split_list(text)]
    except ValueError:
        numbers = [-1]
    if min(numbers) < 0:
        raise ValueError(f"--trials must be numbers like 0,100; got {text!r}.")
    return numbers


def _in_words(record: Record) -> str:
    job = record.job
    metric = "purity" if job.kind == "embed" else MAIN.get(record.task, "")
    said = f"{metric} {record.scores[metric]:.4g}" if record.scores else record.status
    return f"{job.dataset} {job.label or job.method} {said}"


def _executor(name: str, workers: int | None, address: str | None) -> Executor:
    build = named("executor", name, EXECUTORS)
    options: dict[str, Any] = {}
    if name == "pool":
        options = {"n_workers": workers, "preload": PRELOAD}
    elif name == "ray":
        options = {"address": address}
    return build(**options)
