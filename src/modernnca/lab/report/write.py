"""Write a report to disk: to a temporary folder first, then moved into place."""

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

MARKER = ".modernnca-report"  # a folder with this file may be replaced


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
    """Write a report of records to the folder `out`, and return its page.

    The folder gets the self-contained index.html, tables/ (.csv, .md, .tex) and
    figures/ (.png, .svg). An existing report stays until the new one is complete. The
    same records give the same bytes.

    Args:
        records: one row for each run; may be None or empty.
        scores: a scores frame (see `modernnca.lab.stats.summary`) to analyze instead of
            records, such as published means.
        hero: the method to highlight, in any spelling.
        published: a scores frame to compare with records of the split "given"; leave
            out datasets without a given split, since the published split differs.
        checks: problems found in the data; columns dataset, kind, text.
        facts: how the benchmark was run, shown on the page.
        expected: the number of planned runs.
    """
    out = Path(out)
    check_output_folder(out)
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
    with replace_folder(out) as folder:
        write_files(folder, contents.all_tables(), contents.all_figures())
        (folder / "index.html").write_text(page, encoding="utf-8", newline="\n")
    return out / "index.html"


def write_files(
    folder: Path, tables: Iterable[Table], figures: Iterable[Figure]
) -> None:
    """Write the tables, the figures and the marker file of a new report."""
    (folder / MARKER).write_text("", encoding="utf-8")
    for name in ("tables", "figures"):
        (folder / name).mkdir()
    for table in tables:
        for ending, to_text in FORMATS.items():
            path = folder / "tables" / f"{table.name}.{ending}"
            path.write_text(to_text(table), encoding="utf-8", newline="\n")
    for figure in figures:
        path = folder / "figures" / figure.name
        path.with_suffix(".svg").write_text(figure.svg, encoding="utf-8", newline="\n")
        path.with_suffix(".png").write_bytes(figure.png)


def check_output_folder(out: Path) -> None:
    """Raise if `out` is a file, or a folder with files that would be lost."""
    if out.exists() and not out.is_dir():
        raise NotADirectoryError(
            f"{str(out)!r} is a file; a report needs a folder, so choose another path."
        )
    if out.is_dir() and any(out.iterdir()) and not (out / MARKER).exists():
        raise FileExistsError(
            f"The folder {str(out)!r} contains files that are not a report and would "
            "be lost; choose an empty or a new folder."
        )


@contextmanager
def replace_folder(out: Path) -> Iterator[Path]:
    """Yield a folder to write to, which replaces `out` if the block succeeds."""
    out = out.resolve()
    out.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(prefix=f".{out.name}.", dir=out.parent))
    new, old = temporary / "new", temporary / "old"
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
        shutil.rmtree(temporary, ignore_errors=True)
