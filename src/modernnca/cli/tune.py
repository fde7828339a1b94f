"""Search for the options that suit a table in a file."""

from collections import Counter
from pathlib import Path
from typing import Annotated, Any

import typer

from modernnca.cli.display import new_table, show
from modernnca.cli.options import JobOptions
from modernnca.cli.shared_options import takes_options
from modernnca.cli.training_job import read_job
from modernnca.table.metrics import describe_score


@takes_options
def tune(
    options: JobOptions,
    trials: Annotated[int, typer.Option(metavar="N", help="Number of trials.")] = 50,
    storage: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Keep trials here, to resume."),
    ] = None,
    metric: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="accuracy, auc, ...; rmse, mae, r2."),
    ] = None,
) -> None:
    """Search for good options, fit with the best ones, and save the model.

    Options given with --set are not searched. Ctrl-C ends the search; the best options
    so far are used. With the same --storage, an interrupted search resumes.
    """
    job = read_job(options)
    job.run(
        lambda: job.model.tune(
            job.X,
            job.target.values,
            trials=trials,
            time_limit=options.time_limit,
            storage=storage,
            metric=metric,
        )
    )
    if not options.quiet:
        _report(job.model, metric)
    job.report()


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
    if default is None or default.state != "done":
        typer.echo(
            "The default options were not scored; they may be better than these."
        )


def _short(value: Any) -> str:
    """A number with four digits."""
    return f"{value:.4g}" if isinstance(value, float) else str(value)
