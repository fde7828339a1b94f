"""The commands, nothing else.

What they need takes seconds to import, and the help, the version and a typing error do
without: a command is fetched when it is called, and takes its own options.
"""

from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from modernnca import __version__
from modernnca.cli.failures import in_one_line
from modernnca.errors import MissingExtraError

COMMANDS = {
    "demo": "Learn from two small tables, beside k-NN and gradient boosting.",
    "fit": "Learn to predict a column of a table, and save the model.",
    "tune": "Search for good settings, learn with the best ones, and save the model.",
    "predict": "Predict the target for each row of a table.",
    "info": "Say what a saved model is, and how it was learned.",
}
LABORATORY = {
    "bench": "Compare methods on many tables, following the paper's protocol.",
    "study": "Reproduce a table or figure of the paper: `study NAME`, or `study all`.",
}
_MANNERS: dict[str, Any] = {
    "add_completion": False,
    "pretty_exceptions_enable": False,
    "context_settings": {"help_option_names": ["-h", "--help"]},
}


class _TakesAll(TyperCommand):
    """Leaves every word to the command that is fetched."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        ctx.args = list(args)
        return args


app = typer.Typer(name="modernnca", no_args_is_help=True, **_MANNERS)


def show_version(asked: bool) -> None:
    """Print the version and end, if asked."""
    if asked:
        typer.echo(f"modernnca {__version__}")
        raise typer.Exit


@app.callback()
def modernnca(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=show_version, is_eager=True, help="Say the version."
        ),
    ] = False,
) -> None:
    """Nearest neighbors for tables, with a learned distance."""


def _add(name: str, told: str) -> None:
    """Add a command that is in the file of its name."""

    @app.command(name, cls=_TakesAll, help=told, add_help_option=False)
    def call(context: typer.Context) -> None:
        alone = typer.Typer(**_MANNERS)
        command = getattr(import_module(f"modernnca.cli.{name}"), name)
        alone.command()(in_one_line(command))
        alone(args=context.args, prog_name=f"modernnca {name}")


for name, told in COMMANDS.items():
    _add(name, told)


def _add_from_lab(name: str, told: str) -> None:
    """Add a group of commands of the laboratory, whose extra may be missing."""

    @app.command(name, cls=_TakesAll, help=told, add_help_option=False)
    @in_one_line
    def call(context: typer.Context) -> None:
        try:
            group = import_module(f"modernnca.lab.commands.{name}_app")
        except ImportError as error:
            raise MissingExtraError(
                f"`modernnca {name}` needs {error.name}; "
                "pip install 'modernnca[bench]'."
            ) from error
        group.main(context.args, prog_name=f"modernnca {name}")


for name, told in LABORATORY.items():
    _add_from_lab(name, told)
