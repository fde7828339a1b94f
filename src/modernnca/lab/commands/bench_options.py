"""The options shared by the commands that run jobs."""

from pathlib import Path
from typing import Annotated

import typer

Data = Annotated[
    Path | None,
    typer.Option(
        metavar="FOLDER", envvar="MODERNNCA_DATA", help="Folder of the datasets."
    ),
]
Datasets = Annotated[
    str | None,
    typer.Option(metavar="NAMES", help="Datasets instead of a suite: a,b,c."),
]
Task = Annotated[
    str | None,
    typer.Option(
        metavar="TASK",
        help="Only binclass, multiclass, classification or regression.",
    ),
]
MaxRows = Annotated[
    int | None, typer.Option(metavar="N", help="Only datasets with at most N rows.")
]
MaxColumns = Annotated[
    int | None, typer.Option(metavar="N", help="Only datasets with at most N columns.")
]
ExecutorName = Annotated[
    str, typer.Option(metavar="NAME", help="Where jobs run: pool, here or ray.")
]
Workers = Annotated[
    int | None, typer.Option(metavar="N", help="Processes of the pool.")
]
Address = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS", help="Address of a Ray cluster; auto finds a local one."
    ),
]
Cpus = Annotated[float, typer.Option(metavar="N", help="CPUs per job.")]
Gpus = Annotated[float, typer.Option(metavar="N", help="GPUs per job; may be 0.5.")]
TimeLimit = Annotated[
    float | None, typer.Option(metavar="SECONDS", help="Time limit of one fit.")
]
MemoryLimit = Annotated[
    float | None, typer.Option(metavar="GIB", help="Memory limit of one job.")
]
TuneTime = Annotated[
    float | None, typer.Option(metavar="SECONDS", help="Time limit of one search.")
]
Retry = Annotated[bool, typer.Option("--retry", help="Run failed jobs again.")]
