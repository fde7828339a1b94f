"""Predict with a saved model, for the rows of a table in a file."""

from pathlib import Path
from typing import Annotated, Any

import pyarrow as pa
import typer
from sklearn.base import is_classifier

from modernnca import load
from modernnca.cli.paths import check_input, check_output
from modernnca.cli.screen import printable
from modernnca.cli.tables import (
    format_of,
    in_short,
    print_table,
    read_table,
    write_table,
)

_N_NAMED = 10  # so many columns that are left out are named


def predict(
    model: Annotated[
        Path, typer.Argument(metavar="MODEL", help="A file saved by fit.")
    ],
    table: Annotated[
        Path, typer.Argument(metavar="TABLE", help="A .csv, .tsv or .parquet file.")
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            help="A .csv, .tsv or .parquet file; else CSV is printed.",
        ),
    ] = None,
    keep: Annotated[
        bool, typer.Option("--keep", help="Put the columns of the table in front.")
    ] = False,
    neighbors: Annotated[
        int | None,
        typer.Option(
            metavar="K", help="Add the K rows behind each prediction, and their shares."
        ),
    ] = None,
    device: Annotated[
        str, typer.Option(metavar="NAME", help="cpu, cuda, cuda:1, mps.")
    ] = "auto",
) -> None:
    """Predict the target for each row of a table."""
    if out is not None:
        format_of(out)
        check_output(out)
    check_input(model)
    learned = load(model, device=device)
    whole = read_table(table, texts=text_columns(learned))
    X, unknown = known_columns(learned, whole)
    if unknown:
        names = in_short([printable(name) for name in unknown], n=_N_NAMED)
        typer.echo(f"Not used, since the model does not know them: {names}.", err=True)
    answers = answers_for(learned, X, n_neighbors=neighbors)
    result = beside(whole, answers) if keep else answers
    if out is None:
        print_table(result)
        return
    write_table(result, out)
    typer.echo(f"Wrote {result.num_rows:,} predictions to {out}.", err=True)


def text_columns(model: Any) -> list[str]:
    """Name the columns that held text in fit, and are to be read as such."""
    columns = model.table_.schema_.columns
    return [column.name for column in columns if column.held == "text"]


def known_columns(model: Any, table: pa.Table) -> tuple[pa.Table, list[str]]:
    """Keep the columns that were there in fit; name the others."""
    if not hasattr(model, "feature_names_in_"):  # learned from an array, in Python
        return table, []
    known = set(model.feature_names_in_)
    unknown = [name for name in table.column_names if name not in known]
    return table.drop_columns(unknown), unknown


def answers_for(model: Any, X: pa.Table, *, n_neighbors: int | None) -> pa.Table:
    """Give the predictions, and what is behind them, as columns of a table."""
    columns = {"prediction": model.predict(X)}
    if is_classifier(model):
        for label, shares in zip(model.classes_, model.predict_proba(X).T, strict=True):
            columns[f"probability_{label}"] = shares
    if n_neighbors is not None:
        found = model.kneighbors(X, n_neighbors=n_neighbors)
        pairs = zip(found.indices.T, found.shares.T, strict=True)
        for place, (indices, shares) in enumerate(pairs, start=1):
            columns[f"neighbor_{place}"] = indices
            columns[f"share_{place}"] = shares
    return pa.table({name: pa.array(cells) for name, cells in columns.items()})


def beside(table: pa.Table, answers: pa.Table) -> pa.Table:
    """Put the columns of the table in front of the answers."""
    both = [name for name in answers.column_names if name in table.column_names]
    if both:
        raise ValueError(
            f"The table has a column {both[0]!r} already; rename it, or leave out "
            "--keep."
        )
    for field, cells in zip(answers.schema, answers.columns, strict=True):
        table = table.append_column(field, cells)
    return table
