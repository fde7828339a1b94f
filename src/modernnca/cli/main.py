"""The commands, nothing else."""

from typing import Annotated

import typer

from modernnca import __version__
from modernnca.cli.demo import demo
from modernnca.cli.failures import in_one_line
from modernnca.cli.fit import fit
from modernnca.cli.info import info
from modernnca.cli.predict import predict
from modernnca.cli.tune import tune
from modernnca.errors import MissingExtraError

app = typer.Typer(
    name="modernnca",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


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


# It has options and a help of its own, and packages that other commands do without.
@app.command(
    context_settings={"ignore_unknown_options": True, "allow_extra_args": True},
    add_help_option=False,
)
@in_one_line
def bench(context: typer.Context) -> None:
    """Put methods beside each other on many tables, by the paper's protocol."""
    try:
        from modernnca.cli.bench import bench as commands
    except ImportError as error:
        raise MissingExtraError(
            f"The benchmark needs {error.name}; pip install 'modernnca[bench]'."
        ) from error
    commands(args=context.args, prog_name="modernnca bench")


@app.command(
    context_settings={"ignore_unknown_options": True, "allow_extra_args": True},
    add_help_option=False,
)
@in_one_line
def study(context: typer.Context) -> None:
    """Run a table or figure of the paper again: `study NAME`, or `study all`."""
    try:
        from modernnca.cli.study import COMMANDS
        from modernnca.cli.study import study as commands
    except ImportError as error:
        raise MissingExtraError(
            f"The studies need {error.name}; pip install 'modernnca[bench]'."
        ) from error
    named_first = context.args and not context.args[0].startswith("-")
    if named_first and context.args[0] not in COMMANDS:
        context.args.insert(0, "run")
    commands(args=context.args, prog_name="modernnca study")


for command in (demo, fit, tune, predict, info):
    app.command()(in_one_line(command))
