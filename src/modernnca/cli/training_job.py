"""A training job: a table in a file, the target, and the model to fit to it."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import typer

from modernnca import ModernNCAClassifier, ModernNCARegressor
from modernnca.cli.display import columns_table, describe_training, printable, show
from modernnca.cli.notes import warnings_as_notes
from modernnca.cli.options import JobOptions
from modernnca.cli.paths import check_output, check_space, write_somewhere
from modernnca.cli.set_option import apply_options
from modernnca.cli.signals import shielded
from modernnca.cli.table_files import check_columns, read_table
from modernnca.cli.task import Target, Task, guess_task, target_of
from modernnca.errors import FitWarning
from modernnca.table.column_warnings import in_short

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

    options: JobOptions
    model: Any
    X: pa.Table
    target: Target
    task: Task

    def run(self, learn: Callable[[], Any]) -> None:
        """Call `learn`, which fits the model, and save it, whatever interrupts it."""
        embedded = len(self.target.rows) * _BYTES_OF_A_ROW
        raw = 0 if self.options.no_rows else self.X.nbytes
        check_space(self.options.out, embedded + raw)
        if not self.options.quiet:
            self._announce()
        with shielded(), warnings_as_notes(quiet=self.options.quiet):
            warnings.simplefilter("ignore", FitWarning)  # `report` tells the same
            learn()
            self._save()

    def _announce(self) -> None:
        """Say what is going to be learned, and how to learn something else."""
        target, name = self.target, printable(self.options.target)
        content = "numbers"
        if self.task is Task.CLASSIFICATION:
            classes = [printable(value) for value in np.unique(target.values).tolist()]
            names = in_short(classes, n=_N_CLASSES_NAMED)
            content = f"{len(classes):,} classes ({names})"
        text = f"{self.task.capitalize()}: the target {name} holds {content}."
        if self.options.task is Task.AUTO and target.values.dtype.kind in "biuf":
            (other,) = {*ESTIMATORS} - {self.task}
            text += f" If that is wrong, add --task {other}."
        typer.echo(text)
        missing = f"; skipped {target.n_missing:,} rows without a target"
        missing *= target.n_missing > 0
        typer.echo(f"Learning from {len(target.rows):,} rows{missing}.")
        if target.unread is not None:
            text = printable(target.unread)
            typer.echo(f"Targets that are not numbers, such as {text!r}, are missing.")

    def _save(self) -> None:
        """Write the fitted model; its neighbors are numbered as in the file."""
        remembered, rows = self.model.rows_, not self.options.no_rows
        index, held_out = self.target.rows[remembered.index], self.model.held_out_
        self.model.rows_ = replace(remembered, index=index)
        if held_out is not None:
            index = self.target.rows[held_out.index]
            self.model.held_out_ = replace(held_out, index=index)
        write_somewhere(lambda path: self.model.save(path, rows=rows), self.options.out)

    def report(self) -> None:
        """Print the columns, how the training went, and where the model is."""
        if self.options.quiet:
            return
        columns = self.model.preparation_.preprocessor.describe()
        show(columns_table(columns[:_N_SHOWN]))
        if len(columns) > _N_SHOWN:
            typer.echo(f"... and {len(columns) - _N_SHOWN:,} more columns.")
        for line in describe_training(self.model):
            typer.echo(line[0].upper() + line[1:] + ".")
        out = self.options.out
        typer.echo(f"Saved to {out} ({out.stat().st_size / 1e6:,.1f} MB).")


def read_job(options: JobOptions, **arguments: Any) -> TrainingJob:
    """Read the table and build the estimator; `arguments` are its own."""
    check_output(options.out, inputs=[options.table])
    target, drop = options.target, options.drop or []
    whole = read_table(options.table, texts=options.categorical or ())
    check_columns(whole, [target], option="--target")
    check_columns(whole, drop, option="--drop")
    check_columns(whole, options.categorical or (), option="--categorical")
    check_columns(whole, options.numerical or (), option="--numerical")
    check_columns(whole, options.keep or (), option="--keep")
    time_column = [] if options.time_column is None else [options.time_column]
    check_columns(whole.drop_columns([target]), time_column, option="--time-column")
    found = target_of(whole, target, options.task)
    task = guess_task(found.values) if options.task is Task.AUTO else options.task
    numerical = options.numerical
    model = ESTIMATORS[task](
        preset=options.preset,
        categorical_features=options.categorical,
        keep=options.keep,
        time_column=options.time_column,
        device=options.device,
        random_state=options.seed,
        verbose=0 if options.quiet else 1,
        config={"numerical_features": numerical} if numerical else None,
        **arguments,
    )
    apply_options(model, options.set_options or ())
    X = whole.drop_columns([*{target, *drop}])
    if found.n_missing:
        X = X.take(pa.array(found.rows))
    return TrainingJob(options, model, X, found, task)
