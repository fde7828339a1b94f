"""The commands `modernnca bench run`, `status`, `report` and `methods`."""

from collections.abc import Sequence

import typer

from modernnca.cli.failures import in_one_line
from modernnca.lab.commands.bench_methods import methods
from modernnca.lab.commands.bench_report import report
from modernnca.lab.commands.bench_run import run
from modernnca.lab.commands.bench_status import status

bench = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Compare methods on many datasets with the paper's protocol.",
)

for command in (run, status, report, methods):
    bench.command()(in_one_line(command))


def main(args: Sequence[str], *, prog_name: str) -> None:
    """Run the command given by the arguments."""
    bench(args=list(args), prog_name=prog_name)
