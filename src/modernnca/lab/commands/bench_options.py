"""The options shared by the commands that run jobs."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """On which datasets, and where, jobs run."""

    datasets: Annotated[
        str | None,
        typer.Option(metavar="NAMES", help="Datasets instead of a suite: a,b,c."),
    ] = None
    data: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER", envvar="MODERNNCA_DATA", help="Folder of the datasets."
        ),
    ] = None
    task: Annotated[
        str | None,
        typer.Option(
            metavar="TASK",
            help="Only binclass, multiclass, classification or regression.",
        ),
    ] = None
    max_rows: Annotated[
        int | None, typer.Option(metavar="N", help="Only datasets with at most N rows.")
    ] = None
    max_columns: Annotated[
        int | None,
        typer.Option(metavar="N", help="Only datasets with at most N columns."),
    ] = None
    executor: Annotated[
        str, typer.Option(metavar="NAME", help="Where jobs run: pool, here or ray.")
    ] = "pool"
    workers: Annotated[
        int | None, typer.Option(metavar="N", help="Processes of the pool.")
    ] = None
    address: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS", help="Address of a Ray cluster; auto finds a local one."
        ),
    ] = None
    cpus: Annotated[float, typer.Option(metavar="N", help="CPUs per job.")] = 1
    gpus: Annotated[
        float, typer.Option(metavar="N", help="GPUs per job; may be 0.5.")
    ] = 0
    time_limit: Annotated[
        float | None, typer.Option(metavar="SECONDS", help="Time limit of one fit.")
    ] = None
    memory_limit: Annotated[
        float | None, typer.Option(metavar="GIB", help="Memory limit of one job.")
    ] = None
    tune_time: Annotated[
        float | None, typer.Option(metavar="SECONDS", help="Time limit of one search.")
    ] = None
    retry: Annotated[bool, typer.Option("--retry", help="Run failed jobs again.")] = (
        False
    )
