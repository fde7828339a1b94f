"""The shell: `modernnca demo`, `fit`, `tune`, `predict`, `audit`, `info`, `bench`."""

import sys
from importlib import import_module

from modernnca.cli.closed_streams import open_closed_streams

EXTRA = ("typer", "rich", "pyarrow")


def run() -> None:
    """Run the command that the shell was given; the console entry point."""
    open_closed_streams()
    try:
        for name in EXTRA:
            import_module(name)
        from modernnca.cli.main import app
    except ImportError as error:
        if (error.name or "").partition(".")[0] not in EXTRA:
            raise
        sys.exit(
            "The modernnca shell needs typer, rich and pyarrow: "
            "pip install 'modernnca[cli]'"
        )
    app()
