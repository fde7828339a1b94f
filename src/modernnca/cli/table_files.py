"""Tables in files: CSV, TSV and Parquet, by the suffix of the file."""

import csv
import os
import re
import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pa_parquet
import typer

from modernnca._files import written_whole
from modernnca.cli.closed_streams import closed_streams
from modernnca.cli.paths import check_input, writing
from modernnca.table.column_warnings import in_short

# Each row, and the header, must fit into a block: wide tables need large blocks.
_BLOCK = 1 << 24
_INDEX_OF_PANDAS = re.compile(r"__index_level_\d+__")
_N_NAMED = 20  # columns that an error lists
_HEAD = 1 << 16  # bytes that tell the delimiter and the encoding
_N_SNIFFED = 20  # lines
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")  # byte order marks


def _read_text(
    path: Path, texts: Collection[str], *, by: str | None = None
) -> pa.Table:
    """Read a table in text: UTF-8, or what else it may be, maybe compressed."""
    with pa.input_stream(path) as stream:
        head = stream.read(_HEAD)
    encodings = ("utf-16",) if head[:2] in _UTF_16 else ("utf-8", "cp1252", "latin-1")
    by = by or find_delimiter(head.decode(encodings[0], errors="replace"))
    for encoding in encodings:
        try:
            table = _read_separated(path, texts, by=by, encoding=encoding)
            names = table.column_names
        except UnicodeDecodeError:
            continue
        except pa.ArrowInvalid as error:
            if "UTF8" in str(error) and encoding == "utf-8":
                continue
            raise
        if not any(pa.types.is_binary(field.type) for field in table.schema):
            if encoding != encodings[0]:
                shown = repr(str(path))
                typer.echo(f"{shown} is not UTF-8 text; read as {encoding}.", err=True)
            return table.rename_columns([name.removeprefix("\ufeff") for name in names])
    raise pa.ArrowInvalid("it is no text")


def _read_separated(
    path: Path, texts: Collection[str], *, by: str, encoding: str
) -> pa.Table:
    return pa_csv.read_csv(
        path,
        read_options=pa_csv.ReadOptions(block_size=_BLOCK, encoding=encoding),
        parse_options=pa_csv.ParseOptions(delimiter=by, newlines_in_values=True),
        convert_options=pa_csv.ConvertOptions(
            strings_can_be_null=True, column_types=dict.fromkeys(texts, pa.string())
        ),
    )


def find_delimiter(head: str) -> str:
    """The delimiter that cuts the first lines into the same number of cells.

    >>> find_delimiter("a;b\\n1,5;2\\n"), find_delimiter("a|b\\n1|2\\n")
    (';', '|')
    >>> find_delimiter("a\\n1\\n")
    ','
    """
    lines, found, best = head.splitlines()[:_N_SNIFFED], ",", (0.0, 0)
    for by in ",;\t|":
        try:
            widths = [len(row) for row in csv.reader(lines, delimiter=by) if row]
        except csv.Error:
            continue
        if not widths or widths[0] == 1:
            continue
        score = (widths.count(widths[0]) / len(widths), widths[0])
        if score > best:
            found, best = by, score
    return found


def _read_tsv(path: Path, texts: Collection[str]) -> pa.Table:
    return _read_text(path, texts, by="\t")


def _read_parquet(path: Path, texts: Collection[str]) -> pa.Table:
    """Read a table, without the index that pandas may have added."""
    with pa_parquet.ParquetFile(path) as file:
        table = file.read()
    for place, field in enumerate(table.schema):
        if pa.types.is_string_view(field.type):  # which pyarrow cannot take rows of
            cells = table.column(place).cast(pa.string())
            table = table.set_column(place, field.name, cells)
    return table.drop_columns(
        [name for name in table.column_names if _INDEX_OF_PANDAS.fullmatch(name)]
    )


def _write_csv(table: pa.Table, file: BinaryIO) -> None:
    pa_csv.write_csv(table, file)


def _write_tsv(table: pa.Table, file: BinaryIO) -> None:
    pa_csv.write_csv(table, file, pa_csv.WriteOptions(delimiter="\t"))


@dataclass(frozen=True)
class Format:
    """How a file format is read and written."""

    read: Callable[[Path, Collection[str]], pa.Table]
    write: Callable[[pa.Table, BinaryIO], None]


FORMATS: dict[str, Format] = {
    ".csv": Format(_read_text, _write_csv),
    ".txt": Format(_read_text, _write_csv),
    ".tsv": Format(_read_tsv, _write_tsv),
    ".parquet": Format(_read_parquet, pa_parquet.write_table),
}


_COMPRESSIONS = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}  # of text files


def format_of(path: Path) -> Format:
    """The format of a file, by its suffix; text may be compressed, as in .csv.gz.

    >>> format_of(Path("a.xlsx"))
    Traceback (most recent call last):
    ...
    ValueError: Unknown suffix '.xlsx' of 'a.xlsx'; choose one of: .csv, ...
    """
    suffix = path.suffix.lower()
    compressed = suffix in _COMPRESSIONS
    inner = Path(path.stem).suffix.lower() if compressed else suffix
    if inner not in FORMATS or (compressed and inner == ".parquet"):
        shown = (inner if compressed and inner else "") + suffix
        raise ValueError(
            f"Unknown suffix {shown!r} of {path.name!r}; "
            f"choose one of: {', '.join(sorted([*FORMATS, '.csv.gz']))}."
        )
    return FORMATS[inner]


def read_table(path: Path, *, texts: Collection[str] = ()) -> pa.Table:
    """Read a table of at least one row.

    The columns in `texts` are read as text if the file does not declare types (CSV):
    the code 007 stays 007.
    """
    check_input(path)
    read, shown = format_of(path).read, repr(str(path))
    try:
        table = read(path, texts)
        names = table.column_names
    except UnicodeDecodeError as error:
        raise ValueError(
            f"The column names of {shown} are not UTF-8 text; save the file as UTF-8."
        ) from error
    except (pa.ArrowException, OSError) as error:
        reason = " ".join(str(error).split()).rstrip(".")
        raise ValueError(
            f"Cannot read {shown}: {reason}; repair the file, or name another."
        ) from error
    if table.num_rows == 0:
        raise ValueError(f"{shown} has no rows; name another file.")
    _check_columns_of(table, Counter(names), shown)
    return table


def _check_columns_of(table: pa.Table, names: Counter[str], shown: str) -> None:
    """Raise if a name occurs twice, or a column is not UTF-8 text."""
    name, count = names.most_common(1)[0]
    if count > 1:
        raise ValueError(
            f"The column name {name!r} occurs {count} times in {shown}; rename all "
            "but one of them."
        )
    for field in table.schema:
        if pa.types.is_binary(field.type):
            raise ValueError(
                f"The column {field.name!r} of {shown} is not UTF-8 text; save the "
                "file as UTF-8, or remove the column."
            )


def check_columns(table: pa.Table, names: Iterable[str], *, option: str) -> None:
    """Raise if a column named in an option is not in the table.

    >>> check_columns(pa.table({"income": [1]}), ["incom"], option="--target")
    Traceback (most recent call last):
    ...
    ValueError: There is no column 'incom' for --target; did you mean 'income'?
    """
    there = table.column_names
    for name in names:
        if name not in there:
            close = get_close_matches(name, there, n=1)
            way_out = (
                f"did you mean {close[0]!r}?"
                if close
                else f"the columns are: {in_short(there, n=_N_NAMED)}."
            )
            raise ValueError(f"There is no column {name!r} for {option}; {way_out}")


def write_table(table: pa.Table, path: Path) -> None:
    """Write a table to a file, atomically."""
    compression = _COMPRESSIONS.get(path.suffix.lower())
    with writing(path), written_whole(path) as file:
        if compression is None:
            format_of(path).write(table, file)
            return
        # The stream closes what it writes to, but the file is needed once more.
        with (
            open(os.dup(file.fileno()), "wb") as inner,
            pa.CompressedOutputStream(inner, compression) as stream,
        ):
            format_of(path).write(table, stream)


def print_table(table: pa.Table) -> None:
    """Write a table to stdout, as CSV in UTF-8."""
    if closed_streams().out:
        raise OSError("Standard output is closed; name a file with --out.")
    _write_csv(table, sys.stdout.buffer)
    sys.stdout.buffer.flush()
