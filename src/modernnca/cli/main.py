"""The command line: commands are imported when they are called.

Their imports take seconds, which the help, the version and usage errors do not need.
"""

from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from modernnca import __version__
from modernnca.cli.failures import in_one_line
from modernnca.errors import MissingExtraError

COMMANDS = {
    "demo": "Try it on two small tables, compared with k-NN and gradient boosting.",
    "fit": "Fit a model to a table, and save it.",
    "tune": "Search for good options, fit with the best ones, and save the model.",
    "predict": "Predict the target of each row of a table.",
    "explain": "Show the remembered rows behind predictions, and why they are near.",
    "audit": "Look for wrong labels, duplicates, leaks and drift.",
    "info": "Describe a saved model and how it was fitted.",
}
LABORATORY = {
    "bench": "Compare methods on many tables, following the paper's protocol.",
    "study": "Reproduce a table or figure of the paper: `study NAME`, or `study all`.",
}
_SETTINGS: dict[str, Any] = {
    "add_completion": False,
    "pretty_exceptions_enable": False,
    "context_settings": {"help_option_names": ["-h", "--help"]},
}


class _TakesAll(TyperCommand):
    """Passes all arguments on to the command that is imported."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        ctx.args = list(args)
        return args


app = typer.Typer(name="modernnca", no_args_is_help=True, **_SETTINGS)


def show_version(asked: bool) -> None:
    """Print the version and exit, if asked."""
    if asked:
        typer.echo(f"modernnca {__version__}")
        raise typer.Exit


@app.callback()
def modernnca(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=show_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """Nearest neighbors for tables, with a learned distance."""


def _add(name: str, text: str) -> None:
    """Add the command in the file of this name."""

    @app.command(name, cls=_TakesAll, help=text, add_help_option=False)
    def call(context: typer.Context) -> None:
        alone = typer.Typer(**_SETTINGS)
        command = getattr(import_module(f"modernnca.cli.{name}"), name)
        alone.command()(in_one_line(command))
        alone(args=context.args, prog_name=f"modernnca {name}")


for name, text in COMMANDS.items():
    _add(name, text)


def _add_from_lab(name: str, text: str) -> None:
    """Add a group of commands of the laboratory, whose extra may be missing."""

    @app.command(name, cls=_TakesAll, help=text, add_help_option=False)
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


for name, text in LABORATORY.items():
    _add_from_lab(name, text)
