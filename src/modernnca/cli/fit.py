"""Learn a model from a table in a file."""

from modernnca.cli import options
from modernnca.cli.lesson import read_lesson
from modernnca.cli.paths import check_output
from modernnca.cli.task import Task


def fit(
    table: options.TableFile,
    target: options.TargetName,
    out: options.ModelFile,
    task: options.TaskName = Task.AUTO,
    preset: options.Preset = "auto",
    settings: options.Set = None,
    drop: options.Drop = None,
    categorical: options.Categorical = None,
    numerical: options.Numerical = None,
    time_column: options.TimeColumn = None,
    time_limit: options.TimeLimit = None,
    seed: options.Seed = 0,
    device: options.Device = "auto",
    no_rows: options.NoRows = False,
    quiet: options.Quiet = False,
) -> None:
    """Learn to predict a column of a table, and save the model.

    Ctrl-C ends the training early: the best weights so far are saved.
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
        time_limit=time_limit,
        random_state=seed,
        device=device,
        verbose=0 if quiet else 1,
    )
    lesson.check_space(out, rows=not no_rows)
    if not quiet:
        lesson.announce()
    lesson.model.fit(lesson.X, lesson.goal.values)
    lesson.save(out, rows=not no_rows)
    if not quiet:
        lesson.report(out)
