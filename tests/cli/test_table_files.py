import bz2
import datetime as dt
import gzip
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pa_parquet
import pytest

from modernnca._files import written_whole
from modernnca.cli.table_files import read_table, write_table


def read(tmp_path, text, **options):
    path = tmp_path / "t.csv"
    path.write_text(text, encoding="utf-8")
    return read_table(path, **options).to_pydict()


def test_numbers_text_dates_and_booleans_are_told_apart(tmp_path):
    table = read(tmp_path, "n,t,d,b\n1.5,a,2024-01-02,true\n2,b,2024-01-03,false\n")
    assert table == {
        "n": [1.5, 2.0],
        "t": ["a", "b"],
        "d": [dt.date(2024, 1, 2), dt.date(2024, 1, 3)],
        "b": [True, False],
    }


def test_the_usual_spellings_of_nothing_are_missing(tmp_path):
    spellings = ["", "NA", "N/A", "n/a", "NaN", "nan", "null", "NULL", "#N/A"]
    rows = "".join(f"x,{spelling}\n" for spelling in spellings)
    table = read(tmp_path, f"a,b\nx,text\n{rows}")
    assert table["b"] == ["text"] + [None] * len(spellings)


def test_a_late_decimal_point_makes_the_whole_column_numbers(tmp_path):
    table = read(tmp_path, "a\n" + "1\n" * 200_000 + "0.5\n")
    assert table["a"][-1] == 0.5


def test_text_columns_are_read_as_written(tmp_path):
    assert read(tmp_path, "a,b\n007,1\n,2\n", texts=["a", "absent"])["a"] == [
        "007",
        None,
    ]


def test_lines_may_break_inside_quotes(tmp_path):
    assert read(tmp_path, 'a,b\n"x\ny",1\n')["a"] == ["x\ny"]


def test_semicolons_and_a_byte_order_mark_are_understood(tmp_path):
    assert read(tmp_path, "\ufeffa;b\n1;2.5\n") == {"a": [1], "b": [2.5]}


def test_the_row_numbers_of_pandas_are_not_a_column(tmp_path):
    frame = pd.DataFrame({"a": [1, 2, 3]}).iloc[[2, 0]]
    frame.to_parquet(tmp_path / "t.parquet")
    assert read_table(tmp_path / "t.parquet").to_pydict() == {"a": [3, 1]}


@pytest.mark.parametrize("by", [",", ";", "\t", "|"])
def test_the_delimiter_is_found(tmp_path, by):
    lines = [["a", "b", "c"], ["1", "x", "2,5"], ["3", "y", "4,75"]]
    if by == ",":
        lines = [[cell.replace(",", ".") for cell in line] for line in lines]
    table = read(tmp_path, "\n".join(by.join(line) for line in lines))
    assert list(table) == ["a", "b", "c"]
    assert (table["a"], table["b"]) == ([1, 3], ["x", "y"])


def test_commas_in_texts_do_not_hide_the_delimiter(tmp_path):
    table = read(tmp_path, "name;size\nA, B and C;1\nD, E and F;2\n")
    assert table == {"name": ["A, B and C", "D, E and F"], "size": [1, 2]}
    table = read(tmp_path, 'name,size\n"a;b",1\n"c;d",2\n')
    assert table == {"name": ["a;b", "c;d"], "size": [1, 2]}


@pytest.mark.parametrize(
    ("encoding", "said"),
    [
        ("utf-8-sig", ""),
        ("utf-16", ""),
        ("cp1252", "'t.csv' is not UTF-8 text; read as cp1252.\n"),
    ],
)
def test_other_encodings_are_read_and_told(
    tmp_path, monkeypatch, capsys, encoding, said
):
    monkeypatch.chdir(tmp_path)
    path = Path("t.csv")
    path.write_bytes("größe,text\n1,5 €\n2,é\n".encode(encoding))
    for texts in ((), ("text",)):
        table = read_table(path, texts=texts).to_pydict()
        assert table == {"größe": [1, 2], "text": ["5 €", "é"]}
        assert capsys.readouterr().err == said


@pytest.mark.parametrize("opened", [gzip.open, bz2.open])
def test_compressed_text_is_read(tmp_path, opened):
    path = tmp_path / f"t.csv.{'gz' if opened is gzip.open else 'bz2'}"
    with opened(path, "wt") as file:
        file.write("a;b\n1;x\n")
    assert read_table(path).to_pydict() == {"a": [1], "b": ["x"]}


@pytest.mark.parametrize("name", ["t.csv", "t.tsv", "t.parquet", "t.csv.gz", "t.txt"])
def test_what_was_written_is_read_back(tmp_path, name):
    table = pa.table({"a": [0.1, None], "b": ['x,"\t', None], "c": [1, 2]})
    write_table(table, tmp_path / name)
    assert read_table(tmp_path / name).to_pydict() == table.to_pydict()


def test_dictionaries_can_be_written_as_csv(tmp_path):
    table = pa.table({"a": pa.array(["x", None]).dictionary_encode(), "b": [1, 2]})
    write_table(table, tmp_path / "t.csv")
    assert read_table(tmp_path / "t.csv")["a"].to_pylist() == ["x", None]


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("before")
    with pytest.raises(TypeError), written_whole(path) as file:
        file.writelines([b"after", "text is no bytes"])
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]


def test_lists_in_cells_cannot_be_written_as_csv(tmp_path):
    path = tmp_path / "t.csv"
    with pytest.raises(pa.ArrowException):
        write_table(pa.table({"a": [[1, 2]]}), path)
    assert list(tmp_path.iterdir()) == []


def test_parquet_is_read_without_its_folders(tmp_path):
    folder = tmp_path / "year=2024"
    folder.mkdir()
    pa_parquet.write_table(pa.table({"a": [1]}), folder / "t.parquet")
    assert read_table(folder / "t.parquet").column_names == ["a"]


def test_rows_can_be_taken_of_every_sort_of_text(tmp_path):
    sorts = (pa.string(), pa.large_string(), pa.string_view())
    table = pa.table({str(sort): pa.array(["a", None], sort) for sort in sorts})
    pa_parquet.write_table(table, tmp_path / "t.parquet")
    taken = read_table(tmp_path / "t.parquet").take(pa.array([0]))
    assert taken.to_pylist() == [{str(sort): "a" for sort in sorts}]
