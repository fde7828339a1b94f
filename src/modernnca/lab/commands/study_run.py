"""The command `modernnca study run`: run the missing jobs of studies."""

from pathlib import Path
from typing import Annotated

import typer

from modernnca.cli.shared_options import takes_options
from modernnca.lab.bench.job import Job
from modernnca.lab.bench.record_files import RecordFile
from modernnca.lab.bench.study import read_study
from modernnca.lab.commands.bench_options import RunOptions
from modernnca.lab.commands.name_lists import split_names
from modernnca.lab.commands.run_jobs import (
    new_runner,
    open_for_writing,
    parse_trials,
    report_missing,
    run_jobs,
)
from modernnca.lab.commands.study_report import (
    Published,
    parse_studies,
    write_report_of,
)


@takes_options
def run(
    options: RunOptions,
    studies: Annotated[
        str, typer.Argument(metavar="NAMES", help="a,b,c or all; see `study list`.")
    ],
    store: Annotated[
        Path | None,
        typer.Option("--store", metavar="FOLDER", help="Folder of the records."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FOLDER", help="Folder of the report."),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Use three small built-in datasets.")
    ] = False,
    suite: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Suite instead of the study's datasets."),
    ] = None,
    seeds: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="Seeds instead of the study's number."),
    ] = None,
    trials: Annotated[
        str | None,
        typer.Option(
            metavar="N", help="Tuning trials; 0 uses the defaults, 0,20 compares both."
        ),
    ] = None,
    records_from: Annotated[
        list[Path] | None,
        typer.Option(
            "--records",
            metavar="FILE",
            help="CSV files of records to start from, such as benchmarks/studies.csv.",
        ),
    ] = None,
    published: Published = None,
) -> None:
    """Run every variant of a study on its datasets, and write the report.

    You can interrupt it at any time: the same command resumes, and `study report`
    writes the report from the records so far. Studies share common jobs, which run
    once.
    """
    store = store or Path("runs") / ("studies-quick" if quick else "studies")
    requested = suite if options.datasets is None else split_names(options.datasets)
    filters = {
        "task": options.task,
        "max_rows": options.max_rows,
        "max_columns": options.max_columns,
    }
    names, jobs, used = parse_studies(studies), dict[str, Job](), set[str]()
    for name in names:
        study = read_study(name)
        selected = study.tables(requested, quick=quick, data=options.data, **filters)
        report_missing(selected)
        used |= set(selected.names)
        for job in study.jobs(
            selected.names,
            data=options.data,
            seeds=seeds,
            trials=None if trials is None else parse_trials(trials),
            quick=quick,
        ):
            jobs.setdefault(job.key, job)
    if not jobs:
        raise ValueError(
            "No dataset to run on; set the data folder with --data, or use --quick."
        )
    records = open_for_writing(store, retry=options.retry)
    for path in records_from or ():
        for record in RecordFile(path).records():
            records.append(record)
    runner = new_runner(records, options)
    planned = list(jobs.values())
    n_done = len(planned) - len(runner.missing(planned))
    typer.echo(
        f"{', '.join(names)} on {len(used)} datasets: {len(planned)} fits, {n_done} "
        "already done.",
        err=True,
    )
    n_failed = run_jobs(runner, planned)
    if n_failed:
        typer.echo(f"{n_failed} failed; `modernnca bench status {store}` shows why.")
    page = write_report_of(
        names, [records], out or store / "report", published=published
    )
    typer.echo(f"Wrote the report to {page}.")
