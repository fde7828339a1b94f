"""The options of the commands that fit a model to a table in a file."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from modernnca.cli.task import Task

TABLE_FILE = "A .csv, .tsv, .txt (maybe .gz) or .parquet file."
Device = Annotated[
    str | None, typer.Option(metavar="NAME", help="cpu, cuda, cuda:1, mps.")
]


def _columns(text: str) -> Any:
    return typer.Option(metavar="COLUMN", help=f"{text} (repeatable).")


@dataclass(frozen=True, kw_only=True)
class JobOptions:
    """What every such command takes."""

    table: Annotated[Path, typer.Argument(metavar="TABLE", help=TABLE_FILE)]
    target: Annotated[
        str, typer.Option("--target", "-t", metavar="COLUMN", help="What to predict.")
    ]
    out: Annotated[
        Path,
        typer.Option("--out", "-o", metavar="FILE", help="Where to save the model."),
    ]
    task: Annotated[
        Task, typer.Option(metavar="TASK", help="auto, classification or regression.")
    ] = Task.AUTO
    preset: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="fast, default, best, paper, linear, ..."),
    ] = None
    set_options: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="Any option of the estimator (repeatable).",
        ),
    ] = None
    drop: Annotated[list[str] | None, _columns("Do not use this column")] = None
    categorical: Annotated[
        list[str] | None, _columns("Take this column as categories")
    ] = None
    numerical: Annotated[list[str] | None, _columns("Take this column as numbers")] = (
        None
    )
    keep: Annotated[
        list[str] | None, _columns("Use this column even if it identifies the rows")
    ] = None
    time_column: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="When rows happened: dates or numbers."),
    ] = None
    time_limit: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", help="Time limit of the command."),
    ] = None
    seed: Annotated[int, typer.Option(metavar="N", help="Random seed.")] = 0
    device: Device = None
    no_rows: Annotated[
        bool, typer.Option("--no-rows", help="Leave the raw rows out of the file.")
    ] = False
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")] = (
        False
    )
