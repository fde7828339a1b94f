"""Say how far a benchmark is."""

from collections import Counter
from pathlib import Path
from typing import Annotated

import typer

from modernnca.cli.display import new_table, printable, show
from modernnca.lab.bench.store import Store

_N_ERRORS = 20


def open_store(folder: Path) -> Store:
    """Open a store that is there; say so if it is not, or had to be mended."""
    if not (folder / "records.sqlite").exists():
        raise FileNotFoundError(
            f"There is no store in {str(folder)!r}; `modernnca bench run` makes one."
        )
    store = Store(folder)
    for note in store.notes:
        typer.echo(note, err=True)
    return store


def status(
    store: Annotated[Path, typer.Argument(metavar="FOLDER", help="The store.")],
) -> None:
    """Say what is done, what is missing, and what failed and why."""
    kept = open_store(store)
    frame = kept.frame()
    planned = kept.planned()
    done = set(frame["key"])
    missing = Counter(job.label or job.method for job in planned if job.key not in done)
    table = new_table("method", "done", "failed", "missing", "mean fit time")
    for method in sorted({*frame["method"], *missing}):
        mine = frame[frame["method"] == method]
        good = mine[mine["status"] == "done"]
        seconds = f"{good['fit_seconds'].mean():.1f} s" if len(good) else ""
        counts = (len(good), len(mine) - len(good), missing[method])
        table.add_row(printable(method), *map(str, counts), seconds)
    show(table)
    failed = frame[frame["status"] != "done"]
    for _, row in failed.head(_N_ERRORS).iterrows():
        last = str(row["error"] or "").strip().splitlines()[-1:]
        said = printable(last[0]) if last else ""
        typer.echo(f"{row['dataset']} {row['method']}: {row['status']}. {said}")
    if len(failed) > _N_ERRORS:
        typer.echo(f"... and {len(failed) - _N_ERRORS} more.")
    typer.echo(f"{len(frame)} records of {len(planned)} jobs.")
