"""The commands `modernnca study run`, `list` and `report`."""

from collections.abc import Sequence

import typer

from modernnca.cli.failures import in_one_line
from modernnca.lab.commands.study_list import list_studies
from modernnca.lab.commands.study_report import report
from modernnca.lab.commands.study_run import run

study = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Reproduce tables and figures of the paper: `study NAME`, or `study all`.",
)

study.command("run")(in_one_line(run))
study.command("list")(in_one_line(list_studies))
study.command("report")(in_one_line(report))


def main(args: Sequence[str], *, prog_name: str) -> None:
    """Run the command given by the arguments; a study's name alone means `run`."""
    args = list(args)
    if args and args[0] not in ("run", "list", "report") and args[0][0] != "-":
        args.insert(0, "run")
    study(args=args, prog_name=prog_name)
