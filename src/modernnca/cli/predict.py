"""Predict with a saved model for the rows of a table in a file."""

from pathlib import Path
from typing import Annotated, Any

import pyarrow as pa
import typer
from sklearn.base import is_classifier

from modernnca import load
from modernnca.cli.notes import warnings_as_notes
from modernnca.cli.options import TABLE_FILE, Device
from modernnca.cli.paths import check_input, check_output
from modernnca.cli.table_files import (
    format_of,
    print_table,
    read_table,
    write_table,
)


def predict(
    model: Annotated[
        Path, typer.Argument(metavar="MODEL", help="A file saved by fit.")
    ],
    table: Annotated[Path, typer.Argument(metavar="TABLE", help=TABLE_FILE)],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            help="A .csv, .tsv or .parquet file; default: print CSV.",
        ),
    ] = None,
    keep: Annotated[
        bool, typer.Option("--keep", help="Keep the columns of the table.")
    ] = False,
    neighbors: Annotated[
        int | None,
        typer.Option(
            metavar="K", help="Add the K rows with the largest shares of the vote."
        ),
    ] = None,
    interval: Annotated[
        float | None,
        typer.Option(
            metavar="COVERAGE",
            help="Add an interval with this probability of the number, such as 0.9.",
        ),
    ] = None,
    sets: Annotated[
        float | None,
        typer.Option(
            "--set",
            metavar="COVERAGE",
            help="Add which classes are in a set with this probability of the class.",
        ),
    ] = None,
    device: Device = None,
) -> None:
    """Predict the target of each row of a table."""
    if out is not None:
        format_of(out)
        check_output(out, inputs=[model, table])
    check_input(model)
    fitted = load(model, device=device)
    whole = read_table(table, texts=text_columns(fitted))
    with warnings_as_notes():
        predictions = predictions_for(
            fitted, whole, n_neighbors=neighbors, interval=interval, sets=sets
        )
    result = beside(whole, predictions) if keep else predictions
    if out is None:
        print_table(result)
        return
    write_table(result, out)
    typer.echo(f"Wrote {result.num_rows:,} predictions to {out}.", err=True)


def text_columns(model: Any) -> list[str]:
    """The columns that held text in the training table, to be read as text."""
    columns = model.preparation_.preprocessor.schema_.columns
    return [column.name for column in columns if column.held == "text"]


def predictions_for(
    model: Any,
    X: pa.Table,
    *,
    n_neighbors: int | None,
    interval: float | None = None,
    sets: float | None = None,
) -> pa.Table:
    """The predictions, how sure they are, and the rows behind them, as columns."""
    if is_classifier(model) and interval is not None:
        raise ValueError("--interval is for models that predict numbers; use --set.")
    if not is_classifier(model) and sets is not None:
        raise ValueError("--set is for models that predict classes; use --interval.")
    columns = {"prediction": model.predict(X)}
    if interval is not None:
        low, high = model.predict_interval(X, coverage=interval).T
        columns |= {"interval_low": low, "interval_high": high}
    if is_classifier(model):
        for label, shares in zip(model.classes_, model.predict_proba(X).T, strict=True):
            columns[f"probability_{label}"] = shares
    if sets is not None:
        found = model.predict_set(X, coverage=sets)
        for label, within in zip(model.classes_, found.T, strict=True):
            columns[f"in_set_{label}"] = within
    if n_neighbors is not None:
        found = model.explain(X, n_neighbors=n_neighbors)
        pairs = zip(found.indices.T, found.shares.T, strict=True)
        for place, (indices, shares) in enumerate(pairs, start=1):
            columns[f"neighbor_{place}"] = indices
            columns[f"share_{place}"] = shares
    return pa.table({name: pa.array(cells) for name, cells in columns.items()})


def beside(table: pa.Table, predictions: pa.Table) -> pa.Table:
    """The columns of the table, then the predictions."""
    both = [name for name in predictions.column_names if name in table.column_names]
    if both:
        raise ValueError(
            f"The table has a column {both[0]!r} already; rename it, or leave out "
            "--keep."
        )
    for field, cells in zip(predictions.schema, predictions.columns, strict=True):
        table = table.append_column(field, cells)
    return table
