"""The command `modernnca bench report`: write the report of a benchmark."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import pandas as pd
import typer

from modernnca.errors import TableError
from modernnca.lab.bench.checks import check
from modernnca.lab.bench.found import Records
from modernnca.lab.bench.published import read_published
from modernnca.lab.bench.published_reference import published_scores
from modernnca.lab.bench.readers import read_dataset
from modernnca.lab.bench.splits import split_rows
from modernnca.lab.commands.bench_status import open_store
from modernnca.lab.report import write_report


def report(
    store: Annotated[
        Path | None, typer.Argument(metavar="FOLDER", help="The store.")
    ] = None,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FOLDER", help="Folder to write to.")
    ] = Path("report"),
    published: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Published means (dataset,task,method,mean,std) instead of a store.",
        ),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER", envvar="MODERNNCA_DATA", help="Folder of the datasets."
        ),
    ] = None,
    hero: Annotated[
        str, typer.Option(metavar="METHOD", help="Method whose wins are counted.")
    ] = "modernnca",
    title: Annotated[str | None, typer.Option(metavar="TEXT")] = None,
) -> None:
    """Write a self-contained page, and its tables and figures as files.

    The report can be written at any time, from the records so far.
    """
    if (store is None) == (published is None):
        raise ValueError("Give either a store or a file with --published.")
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
        records = open_store(store)
        frame = records.frame()
        page = write_report(
            frame,
            out,
            title=title or f"Benchmark: {store.name}",
            hero=hero,
            published=published_scores(sorted(set(frame["dataset"])), data),
            checks=_checks(frame, data),
            facts=provenance_facts([records]),
            expected=len(records.planned()) or None,
        )
    typer.echo(f"Wrote the report to {page}.")


def _checks(frame: pd.DataFrame, data: Path | None) -> pd.DataFrame:
    """Check every dataset for data problems; one that is gone is "not checked"."""
    rows = []
    for name, split in sorted(set(zip(frame["dataset"], frame["split"], strict=True))):
        if split not in ("given", "random-0"):
            continue
        try:
            dataset = read_dataset(name, data=data)
        except TableError as error:
            rows.append((name, "not checked", str(error)))
            continue
        findings = check(dataset, split_rows(dataset, split))
        rows += [(name, finding.kind, finding.text) for finding in findings]
    return pd.DataFrame(rows, columns=["dataset", "kind", "text"])


def provenance_facts(stores: Sequence[Records]) -> dict[str, str]:
    """Summarize the provenance of the records: versions, machines, times."""
    records = [record for store in stores for record in store.records()]
    seen: dict[str, set[str]] = {}
    for record in records:
        for name, value in record.provenance.items():
            if isinstance(value, dict):
                value = ", ".join(f"{key} {text}" for key, text in value.items())
            if value is not None:
                seen.setdefault(name, set()).add(str(value))
    facts = {name: "; ".join(sorted(values)) for name, values in seen.items()}
    if records:
        times = sorted(filter(None, (record.finished for record in records)))
        span = f", from {times[0]} to {times[-1]}" if times else ""
        facts["records"] = f"{len(records)}{span}"
    return facts
