"""Fit a model to a table in a file."""

from modernnca.cli.options import JobOptions
from modernnca.cli.shared_options import takes_options
from modernnca.cli.training_job import read_job


@takes_options
def fit(options: JobOptions) -> None:
    """Fit a model to a table, and save it.

    Ctrl-C or SIGTERM ends the training early; the best model so far is saved.
    """
    job = read_job(options, time_limit=options.time_limit)
    job.run(lambda: job.model.fit(job.X, job.target.values))
    job.report()
