"""Look for what is wrong with the rows of a saved model, and with another table."""

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pyarrow as pa
import typer
from sklearn.base import is_classifier

from modernnca import load
from modernnca.cli.display import new_table, printable, show
from modernnca.cli.notes import warnings_as_notes
from modernnca.cli.options import TABLE_FILE, Device
from modernnca.cli.paths import check_input, check_output
from modernnca.cli.predict import text_columns
from modernnca.cli.table_files import read_table
from modernnca.cli.task import Task, target_of

_N_LINES = 5  # of each kind of finding
_SUFFIXES = (".html", ".csv")


def audit(
    model: Annotated[
        Path, typer.Argument(metavar="MODEL", help="A file saved by fit.")
    ],
    table: Annotated[
        Path | None,
        typer.Argument(metavar="[TABLE]", help=f"Another table. {TABLE_FILE}"),
    ] = None,
    target: Annotated[
        str | None,
        typer.Option(
            "--target", "-t", metavar="COLUMN", help="The targets of that table."
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", metavar="FILE", help="A report as .html, or a .csv file."
        ),
    ] = None,
    device: Device = None,
) -> None:
    """Look for wrong labels, duplicates, leaks and drift."""
    if out is not None:
        if out.suffix.lower() not in _SUFFIXES:
            raise ValueError(
                f"Unknown suffix {out.suffix!r} of {out.name!r}; choose one of: "
                f"{', '.join(_SUFFIXES)}."
            )
        check_output(out, inputs=[model, *([] if table is None else [table])])
    if target is not None and table is None:
        raise ValueError(
            f"--target {target} names a column of another table; name that table, too."
        )
    check_input(model)
    fitted = load(model, device=device)
    X, y, rows = _other(fitted, table, target)
    with warnings_as_notes():
        found = fitted.audit(X, y)
    if rows is not None:
        found = found.renumbered(rows)
    _print(found)
    if out is not None:
        (found.to_html if out.suffix.lower() == ".html" else found.to_csv)(out)
        typer.echo(f"Wrote the audit to {out}.", err=True)


def _other(
    model: Any, path: Path | None, name: str | None
) -> tuple[Any, Any, np.ndarray | None]:
    """The other table, its targets, and the numbers of the rows that have one."""
    if path is None:
        return None, None, None
    table: pa.Table = read_table(path, texts=text_columns(model))
    if name is None:
        return table, None, None
    if name not in table.column_names:
        raise ValueError(
            f"The table has no column {name!r}; its columns are: "
            f"{', '.join(table.column_names[:20])}."
        )
    task = Task.CLASSIFICATION if is_classifier(model) else Task.REGRESSION
    found = target_of(table, name, task)
    if found.n_missing:
        typer.echo(f"Skipped {found.n_missing:,} rows without a target.", err=True)
    return table.take(found.rows).drop_columns([name]), found.values, found.rows


def _print(found: Any) -> None:
    """What was found, and the worst of each kind."""
    summary = new_table("finding", "number")
    summary.columns[1].justify = "right"
    for name, n_found in found.summary().items():
        summary.add_row(name, f"{n_found:,}")
    show(summary)
    evidence = "probability" if found.classification else "residual"
    labels = found.labels[found.labels["likely"]]
    _print_frame(labels, "row", "given", "suggested", evidence, "voters")
    _print_frame(found.columns, "column", "problem", "text")
    _print_frame(found.drift[found.drift["drifted"]], "column", "before", "now")


def _print_frame(held: Any, *names: str) -> None:
    if not len(held):
        return
    table = new_table(*names)
    for line in held[list(names)].head(_N_LINES).itertuples(index=False):
        cells = (f"{c:.3g}" if isinstance(c, float) else str(c) for c in line)
        table.add_row(*map(printable, cells))
    show(table)
