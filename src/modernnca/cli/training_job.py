"""A training job: a table in a file, the target, and the model to fit to it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import typer

from modernnca import ModernNCAClassifier, ModernNCARegressor
from modernnca.cli.display import columns_table, describe_training, printable, show
from modernnca.cli.paths import check_space, write_somewhere
from modernnca.cli.set_option import apply_options
from modernnca.cli.signals import shielded
from modernnca.cli.table_files import check_columns, in_short, read_table
from modernnca.cli.task import Target, Task, guess_task, target_of

ESTIMATORS = {
    Task.CLASSIFICATION: ModernNCAClassifier,
    Task.REGRESSION: ModernNCARegressor,
}
_N_SHOWN = 40  # so many columns are shown; `modernnca info` shows all
_N_CLASSES_NAMED = 5
_BYTES_OF_A_ROW = 4 * 4 * 128  # remembered by four networks


@dataclass(frozen=True)
class TrainingJob:
    """An unfitted model, and what to fit it to."""

    model: Any
    X: pa.Table
    target: Target
    name: str  # of the target
    task: Task
    guessed: bool  # whether the task was

    def run(
        self, learn: Callable[[], Any], out: Path, *, rows: bool, quiet: bool
    ) -> None:
        """Call `learn`, which fits the model, and save it, whatever interrupts it."""
        self._check_space(out, rows=rows)
        if not quiet:
            self._announce()
        with shielded():
            learn()
            self._save(out, rows=rows)

    def _announce(self) -> None:
        """Say what is going to be learned, and how to learn something else."""
        target, content, name = self.target, "numbers", printable(self.name)
        if self.task is Task.CLASSIFICATION:
            classes = [printable(value) for value in np.unique(target.values).tolist()]
            names = in_short(classes, n=_N_CLASSES_NAMED)
            content = f"{len(classes):,} classes ({names})"
        text = f"{self.task.capitalize()}: the target {name} holds {content}."
        if self.guessed and target.values.dtype.kind in "biuf":
            (other,) = {*ESTIMATORS} - {self.task}
            text += f" If that is wrong, add --task {other}."
        typer.echo(text)
        missing = f"; skipped {target.n_missing:,} rows without a target"
        missing *= target.n_missing > 0
        typer.echo(f"Learning from {len(target.rows):,} rows{missing}.")

    def _check_space(self, out: Path, *, rows: bool) -> None:
        """Raise, before the work, if there is no room for the model."""
        embedded = len(self.target.rows) * _BYTES_OF_A_ROW
        check_space(out, embedded + (self.X.nbytes if rows else 0))

    def _save(self, out: Path, *, rows: bool) -> None:
        """Write the fitted model; its neighbors are numbered as in the file."""
        remembered = self.model.rows_
        index = self.target.rows[remembered.index]
        self.model.rows_ = replace(remembered, index=index)
        write_somewhere(lambda path: self.model.save(path, rows=rows), out)

    def report(self, out: Path) -> None:
        """Print the columns, how the training went, and where the model is."""
        columns = self.model.preparation_.preprocessor.describe()
        show(columns_table(columns[:_N_SHOWN]))
        if len(columns) > _N_SHOWN:
            typer.echo(f"... and {len(columns) - _N_SHOWN:,} more columns.")
        for line in describe_training(self.model):
            typer.echo(line[0].upper() + line[1:] + ".")
        typer.echo(f"Saved to {out} ({out.stat().st_size / 1e6:,.1f} MB).")


def read_job(
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
) -> TrainingJob:
    """Read the table and build the estimator; `arguments` are its own."""
    whole = read_table(table, texts=categorical or ())
    check_columns(whole, [target], option="--target")
    check_columns(whole, drop or (), option="--drop")
    check_columns(whole, categorical or (), option="--categorical")
    check_columns(whole, numerical or (), option="--numerical")
    when = [] if time_column is None else [time_column]
    check_columns(whole.drop_columns([target]), when, option="--time-column")
    found = target_of(whole, target)
    chosen = guess_task(found.values) if task is Task.AUTO else task
    model = ESTIMATORS[chosen](
        categorical_features=categorical,
        time_column=time_column,
        config={"numerical_features": numerical} if numerical else None,
        **arguments,
    )
    apply_options(model, settings or ())
    X = whole.drop_columns([*{target, *(drop or ())}]).take(pa.array(found.rows))
    return TrainingJob(model, X, found, target, chosen, guessed=task is Task.AUTO)
