"""Search for the settings that suit a table in a file."""

from collections import Counter
from pathlib import Path
from typing import Annotated, Any

import typer

from modernnca.cli import options
from modernnca.cli.lesson import read_lesson
from modernnca.cli.paths import check_output
from modernnca.cli.screen import new_table, show
from modernnca.cli.task import Task
from modernnca.table.metrics import in_words


def tune(
    table: options.TableFile,
    target: options.TargetName,
    out: options.ModelFile,
    trials: Annotated[
        int, typer.Option(metavar="N", help="How many settings to try.")
    ] = 50,
    time_limit: options.TimeLimit = None,
    storage: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Go on from here, if interrupted."),
    ] = None,
    metric: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="accuracy, auc, ...; rmse, mae, r2."),
    ] = None,
    task: options.TaskName = Task.AUTO,
    preset: options.Preset = "auto",
    settings: options.Set = None,
    drop: options.Drop = None,
    categorical: options.Categorical = None,
    numerical: options.Numerical = None,
    time_column: options.TimeColumn = None,
    seed: options.Seed = 0,
    device: options.Device = "auto",
    no_rows: options.NoRows = False,
    quiet: options.Quiet = False,
) -> None:
    """Search for good settings, learn with the best ones, and save the model.

    What is given with --set stays as it is. Ctrl-C ends the search: the best settings
    so far are used. With the same --storage, a command that was interrupted goes on.
    """
    check_output(out)
    lesson = read_lesson(
        table,
        target,
        task=task,
        settings=settings,
        drop=drop,
        categorical=categorical,
        numerical=numerical,
        time_column=time_column,
        preset=preset,
        random_state=seed,
        device=device,
        verbose=0 if quiet else 1,
    )
    lesson.check_space(out, rows=not no_rows)
    if not quiet:
        lesson.announce()
    lesson.model.tune(
        lesson.X,
        lesson.goal.values,
        trials=trials,
        time_limit=time_limit,
        storage=storage,
        metric=metric,
    )
    lesson.save(out, rows=not no_rows)
    if not quiet:
        _report(lesson.model, metric)
        lesson.report(out)


def _report(model: Any, metric: str | None) -> None:
    """Say what was tried, what was best, and how much better than the default."""
    settings = new_table("setting", "default", "tuned")
    default = next((trial for trial in model.tuning_ if trial.place == 0), None)
    before = {} if default is None else default.settings
    for name, value in model.best_params_.items():
        settings.add_row(name, _short(before.get(name, "")), _short(value))
    show(settings)
    counts = Counter(trial.state for trial in model.tuning_)
    said = ", ".join(f"{n:,} {state}" for state, n in sorted(counts.items()))
    typer.echo(f"Trials: {said}.")
    failed = [trial for trial in model.tuning_ if trial.state == "failed"]
    if failed:
        error = " ".join(failed[0].error.split())
        typer.echo(f"The first that failed, number {failed[0].place}, said: {error}")
    name = metric or ("accuracy" if hasattr(model, "classes_") else "rmse")
    tuned = f"tuned {in_words(name, model.best_score_)}"
    if default is not None and default.state == "done":
        tuned = f"default {in_words(name, default.score)}, {tuned}"
    typer.echo(f"On the held-out rows: {tuned}.")


def _short(value: Any) -> str:
    """Four digits of a number are enough to read."""
    return f"{value:.4g}" if isinstance(value, float) else str(value)
