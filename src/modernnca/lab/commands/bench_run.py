"""Run a benchmark; what has a record already is not run again."""

from pathlib import Path
from typing import Annotated

import typer

from modernnca.lab.bench.runner import plan
from modernnca.lab.bench.suites import choose
from modernnca.lab.commands import bench_options as options
from modernnca.lab.commands.lists import split_list
from modernnca.lab.commands.running import (
    new_runner,
    open_to_write,
    read_trials,
    run_jobs,
    say_missing,
)
from modernnca.lab.peers import PEERS, peer


def run(
    store: Annotated[
        Path,
        typer.Option("--store", "-o", metavar="FOLDER", help="Keeps the records."),
    ],
    suite: Annotated[
        str, typer.Option(metavar="NAME", help="builtin, all, talent-300, tiny-45.")
    ] = "builtin",
    datasets: options.Datasets = None,
    methods: Annotated[
        str, typer.Option(metavar="NAMES", help="a,b,c or all; see `bench methods`.")
    ] = "modernnca,knn,lightgbm",
    data: options.Data = None,
    seeds: Annotated[
        int, typer.Option(metavar="N", min=1, help="Final fits with so many seeds.")
    ] = 15,
    splits: Annotated[
        int,
        typer.Option(
            metavar="K", min=0, help="K random splits in place of the given one."
        ),
    ] = 0,
    trials: Annotated[
        str,
        typer.Option(
            metavar="N", help="Trials of tuning; 0: defaults; 0,100: both, compared."
        ),
    ] = "0",
    task: options.Task = None,
    max_rows: options.MaxRows = None,
    max_columns: options.MaxColumns = None,
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
    """Fit every method on every table with every seed, and keep the records.

    Interrupt it when you like: the same command goes on where it ended. Tables are
    split 64/16/20 (or as given); settings are tuned on train and validation rows only.
    """
    names = list(PEERS) if methods == "all" else split_list(methods)
    cards = [peer(name) for name in names]
    chosen = choose(
        suite if datasets is None else split_list(datasets),
        data=data,
        task=task,
        max_rows=max_rows,
        max_columns=max_columns,
    )
    say_missing(chosen)
    if not chosen.names:
        raise ValueError("No table is left to run on; see --data and the filters.")
    jobs = plan(
        chosen.names,
        [card.name for card in cards],
        splits=[f"random-{k}" for k in range(splits)] or ["given"],
        seeds=seeds,
        trials=read_trials(trials),
        numbers=choose(chosen.names, data=data, task="regression").names,
    )
    runner = new_runner(
        open_to_write(store, retry=retry),
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
    missing = len(runner.missing(jobs))
    typer.echo(
        f"{len(chosen.names)} tables, {len(cards)} methods: {len(jobs)} fits, "
        f"{len(jobs) - missing} of them done before.",
        err=True,
    )
    n_failed = run_jobs(runner, jobs)
    typer.echo(f"{len(jobs)} records are in {store}.")
    if n_failed:
        typer.echo(f"{n_failed} failed; `modernnca bench status {store}` says why.")
    typer.echo(f"Go on with: modernnca bench report {store} -o report")
