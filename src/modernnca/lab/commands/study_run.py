"""Run studies; what has a record already is not run again."""

from pathlib import Path
from typing import Annotated

import typer

from modernnca.lab.bench.job import Job
from modernnca.lab.bench.study import read_study
from modernnca.lab.commands import bench_options as options
from modernnca.lab.commands.lists import split_list
from modernnca.lab.commands.running import (
    new_runner,
    open_to_write,
    read_trials,
    run_jobs,
    say_missing,
)
from modernnca.lab.commands.study_report import Published, names_of, write


def run(
    studies: Annotated[
        str, typer.Argument(metavar="NAMES", help="a,b,c or all; see `study list`.")
    ],
    store: Annotated[
        Path | None,
        typer.Option("--store", metavar="FOLDER", help="Keeps the records."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FOLDER", help="For the report."),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="On three small built-in tables.")
    ] = False,
    suite: Annotated[
        str | None, typer.Option(metavar="NAME", help="In place of the study's tables.")
    ] = None,
    datasets: options.Datasets = None,
    data: options.Data = None,
    seeds: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="In place of the study's number."),
    ] = None,
    trials: Annotated[
        str | None,
        typer.Option(metavar="N", help="Trials of tuning; 0: defaults; 0,20: both."),
    ] = None,
    task: options.Task = None,
    max_rows: options.MaxRows = None,
    max_columns: options.MaxColumns = None,
    published: Published = None,
    executor: options.ExecutorName = "pool",
    workers: options.Workers = None,
    address: options.Address = None,
    cpus: options.Cpus = 1,
    gpus: options.Gpus = 0,
    time_limit: options.TimeLimit = None,
    memory_limit: options.MemoryLimit = None,
    tune_time: options.TuneTime = None,
    retry: options.Retry = False,
) -> None:
    """Run every variant of a study on its tables, and write the report.

    Interrupt it when you like: the same command goes on where it ended, and `study
    report` says meanwhile what the records so far say. Studies share what they have in
    common: the same job runs once.
    """
    store = store or Path("runs") / ("studies-quick" if quick else "studies")
    asked = suite if datasets is None else split_list(datasets)
    filters = {"task": task, "max_rows": max_rows, "max_columns": max_columns}
    names, jobs, tables = names_of(studies), dict[str, Job](), set[str]()
    for name in names:
        study = read_study(name)
        chosen = study.tables(asked, quick=quick, data=data, **filters)
        say_missing(chosen)
        tables |= set(chosen.names)
        for job in study.jobs(
            chosen.names,
            data=data,
            seeds=seeds,
            trials=None if trials is None else read_trials(trials),
            quick=quick,
        ):
            jobs.setdefault(job.key, job)
    if not jobs:
        raise ValueError(
            "No table is left to run on; say where the tables are with --data, or "
            "begin with --quick."
        )
    kept = open_to_write(store, retry=retry)
    runner = new_runner(
        kept,
        data=data,
        executor=executor,
        workers=workers,
        address=address,
        cpus=cpus,
        gpus=gpus,
        time_limit=time_limit,
        memory_limit=memory_limit,
        tune_time=tune_time,
    )
    wanted = list(jobs.values())
    done = len(wanted) - len(runner.missing(wanted))
    typer.echo(
        f"{', '.join(names)} on {len(tables)} tables: {len(wanted)} fits, {done} of "
        "them done before.",
        err=True,
    )
    n_failed = run_jobs(runner, wanted)
    if n_failed:
        typer.echo(f"{n_failed} failed; `modernnca bench status {store}` says why.")
    page = write(names, [kept], out or store / "report", published=published)
    typer.echo(f"The report is {page}.")
