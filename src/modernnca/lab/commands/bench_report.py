"""Write the page, the tables and the figures of a benchmark."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import pandas as pd
import typer

from modernnca.errors import TableError
from modernnca.lab.bench.beside import published_beside
from modernnca.lab.bench.checks import check
from modernnca.lab.bench.published import read_published
from modernnca.lab.bench.readers import read_dataset
from modernnca.lab.bench.splits import split_rows
from modernnca.lab.bench.store import Store
from modernnca.lab.commands.bench_status import open_store
from modernnca.lab.report import write_report


def report(
    store: Annotated[
        Path | None, typer.Argument(metavar="FOLDER", help="The store.")
    ] = None,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FOLDER", help="For the report.")
    ] = Path("report"),
    published: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Means of others (dataset,task,method,mean,std), in place of a store.",
        ),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER", envvar="MODERNNCA_DATA", help="Where the tables are."
        ),
    ] = None,
    hero: Annotated[
        str, typer.Option(metavar="METHOD", help="Whose wins and losses are told.")
    ] = "modernnca",
    title: Annotated[str | None, typer.Option(metavar="TEXT")] = None,
) -> None:
    """Write one page that needs nothing else, and its tables and figures as files.

    It can be written at any time, from the records so far.
    """
    if (store is None) == (published is None):
        raise ValueError("Name a store, or a file with --published; one of the two.")
    if store is None:
        assert published is not None
        page = write_report(
            None,
            out,
            scores=read_published(published),
            title=title or f"Published scores: {published.stem}",
            hero=hero,
        )
    else:
        kept = open_store(store)
        frame = kept.frame()
        page = write_report(
            frame,
            out,
            title=title or f"Benchmark: {store.name}",
            hero=hero,
            published=published_beside(sorted(set(frame["dataset"])), data),
            checks=_checks(frame, data),
            facts=facts_of([kept]),
            expected=len(kept.planned()) or None,
        )
    typer.echo(f"The report is {page}.")


def _checks(frame: pd.DataFrame, data: Path | None) -> pd.DataFrame:
    """What is odd in the tables; one that is not here any more is said to be so."""
    rows = []
    for name, split in sorted(set(zip(frame["dataset"], frame["split"], strict=True))):
        if split not in ("given", "random-0"):
            continue
        try:
            dataset = read_dataset(name, data=data)
        except TableError as error:
            rows.append((name, "not checked", str(error)))
            continue
        found = check(dataset, split_rows(dataset, split))
        rows += [(name, finding.kind, finding.text) for finding in found]
    return pd.DataFrame(rows, columns=["dataset", "kind", "text"])


def facts_of(stores: Sequence[Store]) -> dict[str, str]:
    """How it was run, from what the records say of themselves."""
    records = [record for store in stores for record in store.records()]
    told: dict[str, set[str]] = {}
    for record in records:
        for name, value in record.provenance.items():
            if isinstance(value, dict):
                value = ", ".join(f"{key} {text}" for key, text in value.items())
            if value is not None:
                told.setdefault(name, set()).add(str(value))
    facts = {name: "; ".join(sorted(values)) for name, values in told.items()}
    if records:
        times = sorted(record.finished for record in records)
        facts["records"] = f"{len(records)}, from {times[0]} to {times[-1]}"
    return facts
