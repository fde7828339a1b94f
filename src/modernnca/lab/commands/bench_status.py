"""The command `modernnca bench status`: show the progress of a benchmark."""

from collections import Counter
from pathlib import Path
from typing import Annotated

import typer

from modernnca.cli.display import new_table, printable, show
from modernnca.lab.bench.store import Store

_MAX_ERRORS = 20


def open_store(folder: Path) -> Store:
    """Open an existing store and print its notes, if it was repaired."""
    if not (folder / "records.sqlite").exists():
        raise FileNotFoundError(
            f"There is no store in {str(folder)!r}; create one with "
            "`modernnca bench run`."
        )
    store = Store(folder)
    for note in store.notes:
        typer.echo(note, err=True)
    return store


def status(
    store: Annotated[Path, typer.Argument(metavar="FOLDER", help="The store.")],
) -> None:
    """Show the jobs that are done, missing or failed, with their errors."""
    records = open_store(store)
    frame = records.frame()
    planned = records.planned()
    done = set(frame["key"])
    missing = Counter(job.label or job.method for job in planned if job.key not in done)
    table = new_table("method", "done", "failed", "missing", "mean fit time")
    for method in sorted({*frame["method"], *missing}):
        rows = frame[frame["method"] == method]
        good = rows[rows["status"] == "done"]
        seconds = f"{good['fit_seconds'].mean():.1f} s" if len(good) else ""
        counts = (len(good), len(rows) - len(good), missing[method])
        table.add_row(printable(method), *map(str, counts), seconds)
    show(table)
    failed = frame[frame["status"] != "done"]
    for _, row in failed.head(_MAX_ERRORS).iterrows():
        last_line = str(row["error"] or "").strip().splitlines()[-1:]
        error = printable(last_line[0]) if last_line else ""
        typer.echo(f"{row['dataset']} {row['method']}: {row['status']}. {error}")
    if len(failed) > _MAX_ERRORS:
        typer.echo(f"... and {len(failed) - _MAX_ERRORS} more.")
    typer.echo(f"{len(frame)} records of {len(planned)} jobs.")
