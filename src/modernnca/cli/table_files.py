"""Tables in files: CSV, TSV and Parquet, by the suffix of the file."""

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

from modernnca._files import written_whole
from modernnca.cli.closed_streams import closed_streams
from modernnca.cli.paths import check_input, writing

# Each row, and the header, must fit into a block: wide tables need large blocks.
_BLOCK = 1 << 24
_INDEX_OF_PANDAS = re.compile(r"__index_level_\d+__")
_N_NAMED = 20  # columns that an error lists


def _read_separated(path: Path, texts: Collection[str], *, by: str) -> pa.Table:
    return pa_csv.read_csv(
        path,
        read_options=pa_csv.ReadOptions(block_size=_BLOCK),
        parse_options=pa_csv.ParseOptions(delimiter=by, newlines_in_values=True),
        convert_options=pa_csv.ConvertOptions(
            strings_can_be_null=True, column_types=dict.fromkeys(texts, pa.string())
        ),
    )


def _read_csv(path: Path, texts: Collection[str]) -> pa.Table:
    """Read a table; the delimiter may be a semicolon if the header has no comma."""
    with open(path, "rb") as file:
        header = file.readline(_BLOCK)
    by = ";" if b";" in header and b"," not in header else ","
    return _read_separated(path, texts, by=by)


def _read_tsv(path: Path, texts: Collection[str]) -> pa.Table:
    return _read_separated(path, texts, by="\t")


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
    ".csv": Format(_read_csv, _write_csv),
    ".tsv": Format(_read_tsv, _write_tsv),
    ".parquet": Format(_read_parquet, pa_parquet.write_table),
}


def format_of(path: Path) -> Format:
    """The format of a file, by its suffix.

    >>> format_of(Path("a.xlsx"))
    Traceback (most recent call last):
    ...
    ValueError: Unknown suffix '.xlsx' of 'a.xlsx'; choose one of: .csv, .parquet, .tsv.
    """
    suffix = path.suffix.lower()
    if suffix not in FORMATS:
        raise ValueError(
            f"Unknown suffix {suffix!r} of {path.name!r}; "
            f"choose one of: {', '.join(sorted(FORMATS))}."
        )
    return FORMATS[suffix]


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


def in_short(names: Collection[str], *, n: int) -> str:
    """The first `n` names, and how many more there are.

    >>> in_short(["a", "b", "c", "d"], n=2)
    'a, b and 2 more'
    """
    more = f" and {len(names) - n:,} more" if len(names) > n else ""
    return ", ".join([*names][:n]) + more


def write_table(table: pa.Table, path: Path) -> None:
    """Write a table to a file, atomically."""
    with writing(path), written_whole(path) as file:
        format_of(path).write(table, file)


def print_table(table: pa.Table) -> None:
    """Write a table to stdout, as CSV in UTF-8."""
    if closed_streams().out:
        raise OSError("Standard output is closed; name a file with --out.")
    _write_csv(table, sys.stdout.buffer)
    sys.stdout.buffer.flush()
