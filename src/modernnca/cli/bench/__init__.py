"""The commands of the benchmark, nothing else."""

import typer

from modernnca.cli.bench.methods import methods
from modernnca.cli.bench.report import report
from modernnca.cli.bench.run import run
from modernnca.cli.bench.status import status
from modernnca.cli.failures import in_one_line

bench = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Put methods beside each other on many tables, by the paper's protocol.",
)

for command in (run, status, report, methods):
    bench.command()(in_one_line(command))
