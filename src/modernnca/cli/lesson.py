"""What is to be learned: a table in a file becomes a model, and rows to teach it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import typer

from modernnca import ModernNCAClassifier, ModernNCARegressor
from modernnca.cli.arguments import read_arguments
from modernnca.cli.paths import check_space, write_somewhere
from modernnca.cli.screen import columns_table, printable, show, training_in_words
from modernnca.cli.tables import check_columns, in_short, read_table
from modernnca.cli.task import Target, Task, guess_task, target_of

ESTIMATORS = {
    Task.CLASSIFICATION: ModernNCAClassifier,
    Task.REGRESSION: ModernNCARegressor,
}
_N_SHOWN = 40  # so many columns are shown; `modernnca info` shows all
_N_CLASSES_NAMED = 5
_BYTES_OF_A_ROW = 4 * 4 * 128  # remembered by four networks


@dataclass(frozen=True)
class Lesson:
    """A model that is not fitted yet, and what to fit it to."""

    model: Any
    X: pa.Table
    goal: Target
    name: str  # of the target
    task: Task
    guessed: bool  # whether the task was

    def announce(self) -> None:
        """Say what is going to be learned, and how to learn something else."""
        goal, what, name = self.goal, "numbers", printable(self.name)
        if self.task is Task.CLASSIFICATION:
            classes = [printable(value) for value in np.unique(goal.values).tolist()]
            what = f"{len(classes):,} classes ({in_short(classes, n=_N_CLASSES_NAMED)})"
        said = f"{self.task.capitalize()}: the target {name} holds {what}."
        if self.guessed and goal.values.dtype.kind in "biuf":
            (other,) = {*ESTIMATORS} - {self.task}
            said += f" If not, add --task {other}."
        typer.echo(said)
        n_missing = goal.n_missing
        left_out = f"; {n_missing:,} without a target left out" * (n_missing > 0)
        typer.echo(f"Learning from {len(goal.rows):,} rows{left_out}.")

    def check_space(self, out: Path, *, rows: bool) -> None:
        """Say so, before the work, if there is no room for the model."""
        embedded = len(self.goal.rows) * _BYTES_OF_A_ROW
        check_space(out, embedded + (self.X.nbytes if rows else 0))

    def save(self, out: Path, *, rows: bool) -> None:
        """Write the fitted model; its neighbors are numbered as in the file."""
        part = self.model.remembered_
        self.model.remembered_ = replace(part, origin=self.goal.rows[part.origin])
        write_somewhere(lambda path: self.model.save(path, rows=rows), out)

    def report(self, out: Path) -> None:
        """Say what was understood, how well it went, and where the model is."""
        columns = self.model.table_.describe()
        show(columns_table(columns[:_N_SHOWN]))
        if len(columns) > _N_SHOWN:
            typer.echo(f"... and {len(columns) - _N_SHOWN:,} more columns.")
        for line in training_in_words(self.model):
            typer.echo(line[0].upper() + line[1:] + ".")
        typer.echo(f"Saved to {out} ({out.stat().st_size / 1e6:,.1f} MB).")


def read_lesson(
    table: Path,
    target: str,
    *,
    task: Task,
    settings: Sequence[str] | None,
    drop: Sequence[str] | None,
    categorical: Sequence[str] | None,
    numerical: Sequence[str] | None,
    time_column: str | None = None,
    **arguments: Any,
) -> Lesson:
    """Read the table and build the estimator; `arguments` are its own."""
    whole = read_table(table, texts=categorical or ())
    check_columns(whole, [target], option="--target")
    check_columns(whole, drop or (), option="--drop")
    check_columns(whole, categorical or (), option="--categorical")
    check_columns(whole, numerical or (), option="--numerical")
    when = [] if time_column is None else [time_column]
    check_columns(whole.drop_columns([target]), when, option="--time-column")
    goal = target_of(whole, target)
    chosen = guess_task(goal.values) if task is Task.AUTO else task
    model = ESTIMATORS[chosen](
        categorical_columns=categorical,
        numerical_columns=numerical,
        time_column=time_column,
        **arguments,
    )
    model.set_params(**read_arguments(settings or (), model.get_params(deep=False)))
    X = whole.drop_columns([*{target, *(drop or ())}]).take(pa.array(goal.rows))
    return Lesson(model, X, goal, target, chosen, guessed=task is Task.AUTO)
