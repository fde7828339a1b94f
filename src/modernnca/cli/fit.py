"""Learn a model from a table in a file."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pyarrow as pa
import typer

from modernnca import ModernNCAClassifier, ModernNCARegressor
from modernnca.cli.arguments import read_arguments
from modernnca.cli.paths import check_output, writing
from modernnca.cli.screen import columns_table, printable, show, training_in_words
from modernnca.cli.tables import check_columns, in_short, read_table
from modernnca.cli.task import Target, Task, guess_task, target_of

ESTIMATORS = {
    Task.CLASSIFICATION: ModernNCAClassifier,
    Task.REGRESSION: ModernNCARegressor,
}
_N_SHOWN = 40  # so many columns are shown; `modernnca info` shows all
_N_CLASSES_NAMED = 5


def fit(
    table: Annotated[
        Path, typer.Argument(metavar="TABLE", help="A .csv, .tsv or .parquet file.")
    ],
    target: Annotated[
        str, typer.Option("--target", "-t", metavar="COLUMN", help="What to predict.")
    ],
    out: Annotated[
        Path,
        typer.Option("--out", "-o", metavar="FILE", help="Where to save the model."),
    ],
    task: Annotated[
        Task, typer.Option(metavar="TASK", help="auto, classification or regression.")
    ] = Task.AUTO,
    preset: Annotated[
        str,
        typer.Option(
            metavar="NAME", help="Named settings: default, paper, linear, ..."
        ),
    ] = "auto",
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="Any argument of the estimator (repeatable).",
        ),
    ] = None,
    drop: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="Do not learn from it (repeatable)."),
    ] = None,
    categorical: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="Take it as codes (repeatable)."),
    ] = None,
    numerical: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="Take it as numbers (repeatable)."),
    ] = None,
    time_limit: Annotated[
        float | None, typer.Option(metavar="SECONDS", help="How long it may take.")
    ] = None,
    seed: Annotated[
        int, typer.Option(metavar="N", help="The same number, the same model.")
    ] = 0,
    device: Annotated[
        str, typer.Option(metavar="NAME", help="cpu, cuda, cuda:1, mps.")
    ] = "auto",
    no_rows: Annotated[
        bool,
        typer.Option("--no-rows", help="Leave the raw rows out of the file."),
    ] = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Print errors only.")
    ] = False,
) -> None:
    """Learn to predict a column of a table, and save the model.

    Ctrl-C ends the training early: the best weights so far are saved.
    """
    check_output(out)
    whole = read_table(table, texts=categorical or ())
    check_columns(whole, [target], option="--target")
    check_columns(whole, drop or (), option="--drop")
    check_columns(whole, categorical or (), option="--categorical")
    check_columns(whole, numerical or (), option="--numerical")
    goal = target_of(whole, target)
    chosen = guess_task(goal.values) if task is Task.AUTO else task
    model = ESTIMATORS[chosen](
        preset=preset,
        categorical_columns=categorical,
        numerical_columns=numerical,
        time_limit=time_limit,
        random_state=seed,
        device=device,
        verbose=0 if quiet else 1,
    )
    model.set_params(**read_arguments(settings or (), model.get_params(deep=False)))
    if not quiet:
        _announce(target, goal, chosen, guessed=task is Task.AUTO)
    X = whole.drop_columns([*{target, *(drop or ())}]).take(pa.array(goal.rows))
    model.fit(X, goal.values)
    model.remembered_ = _numbered_as_in_the_file(model.remembered_, goal.rows)
    with writing(out):
        model.save(out, rows=not no_rows)
    if not quiet:
        _report(model, out)


def _numbered_as_in_the_file(part: Any, rows: np.ndarray) -> Any:
    """Let neighbors be found again in the table, though rows were left out of it."""
    return replace(part, origin=rows[part.origin])


def _announce(name: str, goal: Target, task: Task, *, guessed: bool) -> None:
    """Say what is going to be learned, and how to learn something else."""
    what = "numbers"
    if task is Task.CLASSIFICATION:
        classes = [printable(value) for value in np.unique(goal.values).tolist()]
        what = f"{len(classes):,} classes ({in_short(classes, n=_N_CLASSES_NAMED)})"
    said = f"{task.capitalize()}: the target {printable(name)} holds {what}."
    if guessed and goal.values.dtype.kind in "biuf":
        other = Task.REGRESSION if task is Task.CLASSIFICATION else Task.CLASSIFICATION
        said += f" If not, add --task {other}."
    typer.echo(said)
    left_out = f"; {goal.n_missing:,} without a target left out" * (goal.n_missing > 0)
    typer.echo(f"Learning from {len(goal.rows):,} rows{left_out}.")


def _report(model: Any, out: Path) -> None:
    """Say what was understood, how well it went, and where the model is."""
    columns = model.table_.describe()
    show(columns_table(columns[:_N_SHOWN]))
    if len(columns) > _N_SHOWN:
        typer.echo(f"... and {len(columns) - _N_SHOWN:,} more columns.")
    for line in training_in_words(model):
        typer.echo(line[0].upper() + line[1:] + ".")
    typer.echo(f"Saved to {out} ({out.stat().st_size / 1e6:,.1f} MB).")
