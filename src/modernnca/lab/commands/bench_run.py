"""The command `modernnca bench run`: run the missing jobs of a benchmark."""

from pathlib import Path
from typing import Annotated

import typer

from modernnca.cli.shared_options import takes_options
from modernnca.lab.bench.runner import plan
from modernnca.lab.bench.suites import select_datasets
from modernnca.lab.commands.bench_options import RunOptions
from modernnca.lab.commands.name_lists import split_names
from modernnca.lab.commands.run_jobs import (
    new_runner,
    open_for_writing,
    parse_trials,
    report_missing,
    run_jobs,
)
from modernnca.lab.peers import PEERS, peer


@takes_options
def run(
    options: RunOptions,
    store: Annotated[
        Path,
        typer.Option("--store", "-o", metavar="FOLDER", help="Folder of the records."),
    ],
    suite: Annotated[
        str, typer.Option(metavar="NAME", help="builtin, all, talent-300, tiny-45.")
    ] = "builtin",
    methods: Annotated[
        str, typer.Option(metavar="NAMES", help="a,b,c or all; see `bench methods`.")
    ] = "modernnca,knn,lightgbm",
    seeds: Annotated[
        int, typer.Option(metavar="N", min=1, help="Number of seeds per setting.")
    ] = 15,
    splits: Annotated[
        int,
        typer.Option(
            metavar="K", min=0, help="K random splits instead of the given one."
        ),
    ] = 0,
    trials: Annotated[
        str,
        typer.Option(
            metavar="N",
            help="Tuning trials; 0 uses the defaults, 0,100 compares both.",
        ),
    ] = "0",
) -> None:
    """Fit every method on every dataset with every seed, and store the records.

    You can interrupt it at any time: the same command resumes. Datasets are split
    64/16/20 (or as given); settings are tuned on train and validation rows only.
    """
    names = list(PEERS) if methods == "all" else split_names(methods)
    cards = [peer(name) for name in names]
    selected = select_datasets(
        suite if options.datasets is None else split_names(options.datasets),
        data=options.data,
        task=options.task,
        max_rows=options.max_rows,
        max_columns=options.max_columns,
    )
    report_missing(selected)
    if not selected.names:
        raise ValueError("No dataset to run on; check --data and the filters.")
    jobs = plan(
        selected.names,
        [card.name for card in cards],
        splits=[f"random-{k}" for k in range(splits)] or ["given"],
        seeds=seeds,
        trials=parse_trials(trials),
        regression_datasets=select_datasets(
            selected.names, data=options.data, task="regression"
        ).names,
    )
    runner = new_runner(open_for_writing(store, retry=options.retry), options)
    missing = len(runner.missing(jobs))
    typer.echo(
        f"{len(selected.names)} datasets, {len(cards)} methods: {len(jobs)} fits, "
        f"{len(jobs) - missing} already done.",
        err=True,
    )
    n_failed = run_jobs(runner, jobs)
    typer.echo(f"The records of {len(jobs)} fits are in {store}.")
    if n_failed:
        typer.echo(f"{n_failed} failed; `modernnca bench status {store}` shows why.")
    typer.echo(f"Next: modernnca bench report {store} -o report")
