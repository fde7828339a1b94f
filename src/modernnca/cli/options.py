"""The options of every command that learns from a table in a file."""

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
    str,
    typer.Option(metavar="NAME", help="Named settings: default, paper, linear, ..."),
]
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="Any argument of the estimator (repeatable).",
    ),
]
Drop = Annotated[
    list[str] | None,
    typer.Option(metavar="COLUMN", help="Do not learn from it (repeatable)."),
]
Categorical = Annotated[
    list[str] | None,
    typer.Option(metavar="COLUMN", help="Take it as codes (repeatable)."),
]
Numerical = Annotated[
    list[str] | None,
    typer.Option(metavar="COLUMN", help="Take it as numbers (repeatable)."),
]
TimeColumn = Annotated[
    str | None,
    typer.Option(metavar="COLUMN", help="When rows happened: dates or numbers."),
]
TimeLimit = Annotated[
    float | None, typer.Option(metavar="SECONDS", help="How long it may take.")
]
Seed = Annotated[
    int, typer.Option(metavar="N", help="The same number, the same model.")
]
Device = Annotated[str, typer.Option(metavar="NAME", help="cpu, cuda, cuda:1, mps.")]
NoRows = Annotated[
    bool, typer.Option("--no-rows", help="Leave the raw rows out of the file.")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")]
