"""Fit a model to a table in a file."""

from modernnca.cli.options import JobOptions, with_job_options
from modernnca.cli.training_job import read_job


@with_job_options
def fit(options: JobOptions) -> None:
    """Fit a model to a table, and save it.

    Ctrl-C or SIGTERM ends the training early; the best model so far is saved.
    """
    job = read_job(options, time_limit=options.time_limit)
    job.run(lambda: job.model.fit(job.X, job.target.values))
    job.report()
