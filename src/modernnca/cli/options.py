"""The options of the commands that fit a model to a table in a file."""

from pathlib import Path
from typing import Annotated

import typer

from modernnca.cli.task import Task

TableFile = Annotated[
    Path, typer.Argument(metavar="TABLE", help="A .csv, .tsv or .parquet file.")
]
TargetName = Annotated[
    str, typer.Option("--target", "-t", metavar="COLUMN", help="What to predict.")
]
ModelFile = Annotated[
    Path, typer.Option("--out", "-o", metavar="FILE", help="Where to save the model.")
]
TaskName = Annotated[
    Task, typer.Option(metavar="TASK", help="auto, classification or regression.")
]
Preset = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="fast, default, best, paper, linear, ..."),
]
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="Any option of the estimator (repeatable).",
    ),
]
Drop = Annotated[
    list[str] | None,
    typer.Option(metavar="COLUMN", help="Do not use this column (repeatable)."),
]
Categorical = Annotated[
    list[str] | None,
    typer.Option(metavar="COLUMN", help="Take this column as categories (repeatable)."),
]
Numerical = Annotated[
    list[str] | None,
    typer.Option(metavar="COLUMN", help="Take this column as numbers (repeatable)."),
]
TimeColumn = Annotated[
    str | None,
    typer.Option(metavar="COLUMN", help="When rows happened: dates or numbers."),
]
TimeLimit = Annotated[
    float | None, typer.Option(metavar="SECONDS", help="Time limit of the fit.")
]
Seed = Annotated[int, typer.Option(metavar="N", help="Random seed.")]
Device = Annotated[
    str | None, typer.Option(metavar="NAME", help="cpu, cuda, cuda:1, mps.")
]
NoRows = Annotated[
    bool, typer.Option("--no-rows", help="Leave the raw rows out of the file.")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")]
