"""The commands of the studies, nothing else."""

import typer

from modernnca.cli.failures import in_one_line
from modernnca.cli.study.report import report
from modernnca.cli.study.run import run
from modernnca.cli.study.show import show

study = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Run a table or figure of the paper again: `study NAME`, or `study all`.",
)

COMMANDS = ("run", "list", "report")
study.command("run")(in_one_line(run))
study.command("list")(in_one_line(show))
study.command("report")(in_one_line(report))
