"""The command `modernnca study report`: write the report of studies."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from modernnca.lab.bench.found import Records, find
from modernnca.lab.bench.published import read_published
from modernnca.lab.bench.record_files import RecordFile
from modernnca.lab.bench.study import read_study, study_names
from modernnca.lab.commands.bench_report import provenance_facts
from modernnca.lab.commands.bench_status import open_store
from modernnca.lab.commands.name_lists import split_names
from modernnca.lab.report.studies import write_studies

Published = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Published scores (dataset,task,method,mean,std) to test as well.",
    ),
]


def report(
    stores: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="FOLDER...", help="One or more stores, or CSV files of records."
        ),
    ] = None,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FOLDER", help="Folder to write to.")
    ] = Path("report"),
    studies: Annotated[
        str, typer.Option(metavar="NAMES", help="a,b,c or all; see `study list`.")
    ] = "all",
    published: Published = None,
    title: Annotated[str | None, typer.Option(metavar="TEXT")] = None,
) -> None:
    """Write a self-contained page, its tables and figures, and findings.md.

    The report can be written at any time; it states how complete it is.
    """
    if not stores and published is None:
        raise ValueError("Give a store, or a file with --published.")
    opened = [open_records(path) for path in stores or ()]
    page = write_report_of(
        parse_studies(studies), opened, out, published=published, title=title
    )
    typer.echo(f"Wrote the report to {page}.")


def open_records(path: Path) -> Records:
    """Open a store, or a CSV file of records."""
    return RecordFile(path) if path.suffix == ".csv" else open_store(path)


def parse_studies(text: str) -> list[str]:
    """Parse a list of study names; "all" stands for every built-in study."""
    return study_names() if text == "all" else split_names(text)


def write_report_of(
    names: Sequence[str],
    stores: Sequence[Records],
    out: Path,
    *,
    published: Path | None,
    title: str | None = None,
) -> Path:
    """Write the report of studies from the records of stores; return its page."""
    studies = [read_study(name) for name in names]
    options = {} if title is None else {"title": title}
    return write_studies(
        [(study, find(study, stores)) for study in studies],
        out,
        scores=None if published is None else read_published(published),
        facts=provenance_facts(stores),
        **options,
    )
