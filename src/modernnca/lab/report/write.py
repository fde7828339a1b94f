"""A report on disk: written beside its place, then put there whole."""

import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd

from modernnca.lab.report.contents import gather
from modernnca.lab.report.figures import Figure
from modernnca.lab.report.formats import FORMATS, Table
from modernnca.lab.report.page import render

MARK = ".modernnca-report"  # a folder with this file in it may be replaced


def write_report(
    records: pd.DataFrame | None,
    out: Path,
    *,
    scores: pd.DataFrame | None = None,
    title: str = "Benchmark report",
    hero: str = "ModernNCA",
    published: pd.DataFrame | None = None,
    checks: pd.DataFrame | None = None,
    facts: Mapping[str, Any] | None = None,
    expected: int | None = None,
) -> Path:
    """Write a report of records into the folder `out`, and return its page.

    The folder gets index.html, which needs no other file, tables/ (.csv, .md, .tex)
    and figures/ (.png, .svg). A report that is there already stays until the new one
    is whole. The same records give the same bytes.

    Args:
        records: one row for each run; None or empty says so on the page.
        scores: a scores frame (see `modernnca.lab.stats.summary`) to be judged in place
            of records, as of published means.
        hero: the method whose wins and losses are told; spelled in any way.
        published: a scores frame to be shown beside records of the split "given"; leave
            out tables that came without a split, since theirs is then another.
        checks: what was found odd in the data; columns dataset, kind, text.
        facts: how it was run, as the page shall say it.
        expected: how many runs were planned.
    """
    out = Path(out)
    check_place(out)
    contents = gather(
        records,
        scores,
        title=title,
        hero=hero,
        published=published,
        checks=checks,
        facts=facts,
        expected=expected,
    )
    page = render(contents)
    with replacing(out) as folder:
        write_parts(folder, contents.all_tables(), contents.all_figures())
        (folder / "index.html").write_text(page, encoding="utf-8", newline="\n")
    return out / "index.html"


def write_parts(
    folder: Path, tables: Iterable[Table], figures: Iterable[Figure]
) -> None:
    """Write tables and figures as files into a new report, and mark it as one."""
    (folder / MARK).write_text("", encoding="utf-8")
    for name in ("tables", "figures"):
        (folder / name).mkdir()
    for table in tables:
        for ending, written in FORMATS.items():
            path = folder / "tables" / f"{table.name}.{ending}"
            path.write_text(written(table), encoding="utf-8", newline="\n")
    for figure in figures:
        path = folder / "figures" / figure.name
        path.with_suffix(".svg").write_text(figure.svg, encoding="utf-8", newline="\n")
        path.with_suffix(".png").write_bytes(figure.png)


def check_place(out: Path) -> None:
    """Say so if a report cannot be put there, or if other files would be lost."""
    if out.exists() and not out.is_dir():
        raise NotADirectoryError(
            f"{str(out)!r} is a file; a report is a folder, so name another place."
        )
    if out.is_dir() and any(out.iterdir()) and not (out / MARK).exists():
        raise FileExistsError(
            f"The folder {str(out)!r} holds other files than a report, and they would "
            "be lost; name an empty folder or one that does not exist yet."
        )


@contextmanager
def replacing(out: Path) -> Iterator[Path]:
    """Give a folder to write into, which takes the place of `out` if all goes well."""
    out = out.resolve()
    out.parent.mkdir(parents=True, exist_ok=True)
    beside = Path(tempfile.mkdtemp(prefix=f".{out.name}.", dir=out.parent))
    new, old = beside / "new", beside / "old"
    try:
        new.mkdir()
        yield new
        if out.exists():
            os.rename(out, old)
        try:
            os.rename(new, out)
        except OSError:
            if old.exists():
                os.rename(old, out)
            raise
    finally:
        shutil.rmtree(beside, ignore_errors=True)
