"""Search for the options that suit a table in a file."""

from collections import Counter
from pathlib import Path
from typing import Annotated, Any

import typer

from modernnca.cli import options
from modernnca.cli.display import new_table, show
from modernnca.cli.paths import check_output
from modernnca.cli.task import Task
from modernnca.cli.training_job import read_job
from modernnca.table.metrics import describe_score


def tune(
    table: options.TableFile,
    target: options.TargetName,
    out: options.ModelFile,
    trials: Annotated[int, typer.Option(metavar="N", help="Number of trials.")] = 50,
    time_limit: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", help="Time limit of search and fit together."),
    ] = None,
    storage: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Keep trials here, to resume.",
        ),
    ] = None,
    metric: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="accuracy, auc, ...; rmse, mae, r2."),
    ] = None,
    task: options.TaskName = Task.AUTO,
    preset: options.Preset = None,
    settings: options.Set = None,
    drop: options.Drop = None,
    categorical: options.Categorical = None,
    numerical: options.Numerical = None,
    time_column: options.TimeColumn = None,
    seed: options.Seed = 0,
    device: options.Device = None,
    no_rows: options.NoRows = False,
    quiet: options.Quiet = False,
) -> None:
    """Search for good options, fit with the best ones, and save the model.

    Options given with --set are not searched. Ctrl-C ends the search; the best options
    so far are used. With the same --storage, an interrupted search resumes.
    """
    check_output(out)
    job = read_job(
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
    search = {
        "trials": trials,
        "time_limit": time_limit,
        "storage": storage,
        "metric": metric,
    }
    model, X, y = job.model, job.X, job.target.values
    job.run(lambda: model.tune(X, y, **search), out, rows=not no_rows, quiet=quiet)
    if not quiet:
        _report(job.model, metric)
        job.report(out)


def _report(model: Any, metric: str | None) -> None:
    """Print what was tried, what was best, and how much better than the default."""
    settings = new_table("option", "default", "tuned")
    default = next((trial for trial in model.tuning_ if trial.place == 0), None)
    before = {} if default is None else default.settings
    for name, value in model.best_params_.items():
        settings.add_row(name, _short(before.get(name, "")), _short(value))
    show(settings)
    counts = Counter(trial.state for trial in model.tuning_)
    text = ", ".join(f"{n:,} {state}" for state, n in sorted(counts.items()))
    typer.echo(f"Trials: {text}.")
    failed = [trial for trial in model.tuning_ if trial.state == "failed"]
    if failed:
        error = " ".join(failed[0].error.split())
        typer.echo(f"The first failure was trial {failed[0].place}: {error}")
    name = metric or ("accuracy" if hasattr(model, "classes_") else "rmse")
    tuned = f"tuned {describe_score(name, model.best_score_)}"
    if default is not None and default.state == "done":
        tuned = f"default {describe_score(name, default.score)}, {tuned}"
    typer.echo(f"On the validation rows: {tuned}.")


def _short(value: Any) -> str:
    """A number with four digits."""
    return f"{value:.4g}" if isinstance(value, float) else str(value)
