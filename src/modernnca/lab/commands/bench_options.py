"""The options of every command that runs jobs."""

from pathlib import Path
from typing import Annotated

import typer

Data = Annotated[
    Path | None,
    typer.Option(
        metavar="FOLDER", envvar="MODERNNCA_DATA", help="Where the tables are."
    ),
]
Datasets = Annotated[
    str | None, typer.Option(metavar="NAMES", help="Instead of a suite: a,b,c.")
]
Task = Annotated[
    str | None,
    typer.Option(metavar="TASK", help="Only binclass, multiclass, regression."),
]
MaxRows = Annotated[
    int | None, typer.Option(metavar="N", help="Only tables of at most N rows.")
]
MaxColumns = Annotated[
    int | None, typer.Option(metavar="N", help="Only tables of at most N columns.")
]
ExecutorName = Annotated[str, typer.Option(metavar="NAME", help="pool, here or ray.")]
Workers = Annotated[
    int | None, typer.Option(metavar="N", help="Processes of the pool.")
]
Address = Annotated[
    str | None,
    typer.Option(metavar="ADDRESS", help="Of a Ray cluster; auto finds one."),
]
Cpus = Annotated[float, typer.Option(metavar="N", help="CPUs that one job holds.")]
Gpus = Annotated[
    float, typer.Option(metavar="N", help="GPUs (or a part) that one job holds.")
]
TimeLimit = Annotated[
    float | None, typer.Option(metavar="SECONDS", help="For one fit.")
]
MemoryLimit = Annotated[float | None, typer.Option(metavar="GIB", help="For one job.")]
TuneTime = Annotated[
    float | None, typer.Option(metavar="SECONDS", help="For one search.")
]
Retry = Annotated[
    bool, typer.Option("--retry", help="Run again what has failed before.")
]
