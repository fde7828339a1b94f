"""Explain the predictions of a saved model by the remembered rows behind them."""

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pyarrow as pa
import typer
from rich.table import Table

from modernnca import load
from modernnca._files import written_whole
from modernnca.cli.display import new_table, printable, show
from modernnca.cli.notes import warnings_as_notes
from modernnca.cli.options import TABLE_FILE, Device
from modernnca.cli.paths import check_input, check_output, writing
from modernnca.cli.predict import text_columns
from modernnca.cli.table_files import format_of, read_table, write_table
from modernnca.evidence.cell_texts import shorten, show_cell
from modernnca.evidence.explanation import Explanation

_N_COLUMNS = 3  # that are named for a neighbor
_N_SHOWN = 3  # rows on the screen, unless --row names them


def explain(
    model: Annotated[
        Path, typer.Argument(metavar="MODEL", help="A file saved by fit.")
    ],
    table: Annotated[Path, typer.Argument(metavar="TABLE", help=TABLE_FILE)],
    row: Annotated[
        list[int] | None,
        typer.Option(
            "--row",
            metavar="N",
            help="The number of a row of the table, from 0; may be repeated.",
        ),
    ] = None,
    neighbors: Annotated[
        int, typer.Option(metavar="K", help="How many neighbors.")
    ] = 5,
    html: Annotated[
        Path | None,
        typer.Option("--html", metavar="FILE", help="Write a page to look at."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            help="Write a line for each row and neighbor: .csv, .tsv or .parquet.",
        ),
    ] = None,
    groups: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="The column of groups; rows of the same group do not vote.",
        ),
    ] = None,
    device: Device = None,
) -> None:
    """Show the remembered rows behind predictions, and why they are near."""
    if out is not None:
        format_of(out)
    for file in (out, html):
        if file is not None:
            check_output(file, inputs=[model, table])
    check_input(model)
    fitted = load(model, device=device)
    whole = read_table(table, texts=text_columns(fitted))
    places = asked_rows(row, whole.num_rows, everything=out is not None)
    some = whole.take(pa.array(places))
    found = explanation_of(fitted, some, neighbors, groups)
    if out is not None:
        frame = found.to_frame()
        frame["query"] = np.array(places)[frame["query"]]
        write_table(pa.Table.from_pandas(frame, preserve_index=False), out)
        typer.echo(f"Wrote {len(frame):,} neighbors to {out}.", err=True)
    if html is not None:
        with writing(html), written_whole(html) as page:
            page.write(found.to_html(n_queries=len(places), rows=places).encode())
        typer.echo(f"Wrote {len(places):,} explanations to {html}.", err=True)
    if out is None and html is None:
        for number, place in enumerate(places):
            _show(found, number, place)


def asked_rows(rows: list[int] | None, n_rows: int, *, everything: bool) -> list[int]:
    """The rows that are asked for.

    >>> asked_rows([9], 5, everything=False)
    Traceback (most recent call last):
    ...
    ValueError: There is no row 9 in the table; its 5 rows are numbered from 0 to 4.
    """
    if not rows:
        return [*range(n_rows if everything else min(_N_SHOWN, n_rows))]
    for row in rows:
        if not 0 <= row < n_rows:
            raise ValueError(
                f"There is no row {row} in the table; its {n_rows:,} rows are numbered "
                f"from 0 to {n_rows - 1:,}."
            )
    return rows


def explanation_of(
    model: Any, some: pa.Table, n_neighbors: int, groups: str | None
) -> Explanation:
    """The explanation of some rows, with their groups if a column names them."""
    given = None
    if groups is not None:
        if groups not in some.column_names:
            raise ValueError(
                f"There is no column {groups!r} for --groups; the columns are: "
                f"{', '.join(some.column_names)}."
            )
        given = some[groups].to_pylist()
    with warnings_as_notes():
        found: Explanation = model.explain(some, n_neighbors, groups=given)
    return found


def _show(found: Explanation, number: int, place: int) -> None:
    """The neighbors of one row, and those that disagree."""
    typer.echo(
        f"row {place}: {printable(show_cell(found.prediction[number]))} (as "
        f"concentrated as {found.n_effective[number]:,.1f} equal rows; the rows below "
        f"have {found.shares[number].sum():.0%} of the vote)"
    )
    show(_neighbors(found, number))
    if not found.has_rows:
        typer.echo("The model was saved without its rows: no columns are shown.")
        return
    others = _counterfactuals(found, number)
    if others.row_count:
        typer.echo("nearest rows that disagree:")
        show(others)


def _neighbors(found: Explanation, number: int) -> Table:
    names = ["row", "share", "target", "distance", *["nearest in"] * found.has_rows]
    table = _new_table(*names)
    gained = _gained(found, number) if found.has_rows else None
    for place, index in enumerate(found.indices[number]):
        distance = found.distances[number, place]
        if not np.isfinite(distance):
            continue
        cells = [
            str(index),
            f"{found.shares[number, place]:.1%}",
            printable(show_cell(found.targets[number, place])),
            f"{distance:.3g}",
        ]
        if gained is not None:
            cells.append(_named(found, gained[place]))
        table.add_row(*cells)
    return table


def _gained(found: Explanation, number: int) -> np.ndarray:
    """How near each neighbor is in each column, (K, P), times its importance."""
    parts = np.abs(found.columns[number])
    total = parts.sum(1, keepdims=True)
    far = parts / np.where(total > 0, total, 1.0)
    nearness: np.ndarray = found.importances[number] * (1 - far)
    return nearness


def _counterfactuals(found: Explanation, number: int) -> Table:
    table = _new_table("row", "target", "distance", "differs in")
    others = found.counterfactuals
    for place, index in enumerate(others.indices[number]):
        if index < 0:
            continue
        parts = np.where(
            others.differs[number, place], others.columns[number, place], 0.0
        )
        table.add_row(
            str(index),
            printable(show_cell(others.targets[number, place])),
            f"{others.distances[number, place]:.3g}",
            _changes(found, number, index, parts),
        )
    return table


def _changes(found: Explanation, number: int, index: int, parts: np.ndarray) -> str:
    """The columns that differ most, with both cells."""
    cells, texts = found.values(np.array([index])), []
    for place in np.argsort(-parts, kind="stable")[:_N_COLUMNS]:
        if parts[place] > 0:
            name = found.column_names[place]
            own, other = found.queries[name][number], cells[name][0]
            texts.append(f"{shorten(name)}: {show_cell(own)} -> {show_cell(other)}")
    return printable("; ".join(texts))


def _named(found: Explanation, values: np.ndarray) -> str:
    order = np.argsort(-values, kind="stable")[:_N_COLUMNS]
    names = [shorten(found.column_names[j]) for j in order if values[j] > 0]
    return printable(", ".join(names))


def _new_table(*names: str) -> Table:
    table = new_table(*names)
    for column in table.columns:
        if column.header in ("row", "share", "distance"):
            column.justify = "right"
    return table
