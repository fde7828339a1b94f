"""Write the report of studies, from the records so far."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from modernnca.lab.bench.found import find
from modernnca.lab.bench.published import read_published
from modernnca.lab.bench.store import Store
from modernnca.lab.bench.study import read_study, study_names
from modernnca.lab.commands.bench_report import facts_of
from modernnca.lab.commands.bench_status import open_store
from modernnca.lab.commands.lists import split_list
from modernnca.lab.report.studies import write_studies

Published = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Scores of others (dataset,task,method,mean,std), asked beside ours.",
    ),
]


def report(
    stores: Annotated[
        list[Path] | None,
        typer.Argument(metavar="FOLDER...", help="Stores; several count as one."),
    ] = None,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FOLDER", help="For the report.")
    ] = Path("report"),
    studies: Annotated[
        str, typer.Option(metavar="NAMES", help="a,b,c or all; see `study list`.")
    ] = "all",
    published: Published = None,
    title: Annotated[str | None, typer.Option(metavar="TEXT")] = None,
) -> None:
    """Write one page that needs nothing else, its tables and figures, and findings.md.

    It can be written at any moment, and says how complete it is.
    """
    if not stores and published is None:
        raise ValueError("Name a store, or a file with --published.")
    kept = [open_store(folder) for folder in stores or ()]
    page = write(names_of(studies), kept, out, published=published, title=title)
    typer.echo(f"The report is {page}.")


def names_of(text: str) -> list[str]:
    """The studies that were asked for."""
    return study_names() if text == "all" else split_list(text)


def write(
    names: Sequence[str],
    stores: Sequence[Store],
    out: Path,
    *,
    published: Path | None,
    title: str | None = None,
) -> Path:
    """Write the report of some studies from what some stores hold."""
    found = []
    for name in names:
        study = read_study(name)
        found.append((study, find(study, stores)))
    more = {} if title is None else {"title": title}
    return write_studies(
        found,
        out,
        scores=None if published is None else read_published(published),
        facts=facts_of(stores),
        **more,
    )
