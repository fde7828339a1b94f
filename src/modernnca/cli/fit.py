"""Fit a model to a table in a file."""

from modernnca.cli import options
from modernnca.cli.paths import check_output
from modernnca.cli.task import Task
from modernnca.cli.training_job import read_job


def fit(
    table: options.TableFile,
    target: options.TargetName,
    out: options.ModelFile,
    task: options.TaskName = Task.AUTO,
    preset: options.Preset = None,
    settings: options.Set = None,
    drop: options.Drop = None,
    categorical: options.Categorical = None,
    numerical: options.Numerical = None,
    time_column: options.TimeColumn = None,
    time_limit: options.TimeLimit = None,
    seed: options.Seed = 0,
    device: options.Device = None,
    no_rows: options.NoRows = False,
    quiet: options.Quiet = False,
) -> None:
    """Fit a model to a table, and save it.

    Ctrl-C or SIGTERM ends the training early; the best model so far is saved.
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
        time_limit=time_limit,
        random_state=seed,
        device=device,
        verbose=0 if quiet else 1,
    )
    model, X, y = job.model, job.X, job.target.values
    job.run(lambda: model.fit(X, y), out, rows=not no_rows, quiet=quiet)
    if not quiet:
        job.report(out)
