"""Files of the benchmark that somebody damaged or crafted."""

import json
import sqlite3
import struct
import time
import tracemalloc
import zipfile
from contextlib import closing

import numpy as np
import pytest

from modernnca.errors import StoreError, TableError
from modernnca.lab.bench import store as store_room
from modernnca.lab.bench.arrays import load_array, load_arrays
from modernnca.lab.bench.job import Job, Record
from modernnca.lab.bench.store import Store
from modernnca.lab.bench.study import FOLDER, read_study


def npy(path, descr, shape, rest=b""):
    header = {"descr": descr, "fortran_order": False, "shape": shape}
    with path.open("wb") as file:
        np.lib.format.write_array_header_1_0(file, header)
        file.write(rest)
    return path


BOMBS = {
    "memo": b"\x80\x02X\x01\x00\x00\x00xr" + struct.pack("<I", 2**28) + b".",
    "text": b"\x80\x04\x8d" + struct.pack("<Q", 2**40) + b"x.",
    "encoding": b"c_codecs\nencode\n(X\x01\x00\x00\x00xX\x08\x00\x00\x00punycodetR.",
}


@pytest.mark.parametrize("content", BOMBS.values(), ids=BOMBS)
def test_a_pickle_in_an_array_stays_within_a_bound(content, tmp_path):
    path = npy(tmp_path / "bomb.npy", "|O", (1,), content)
    tracemalloc.start()
    with pytest.raises(TableError, match=r"Cannot read .*bomb\.npy"):
        load_array(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2**20


def test_bytes_in_an_encoding_that_may_take_long_are_not_made(tmp_path):
    path = npy(tmp_path / "bomb.npy", "|O", (1,), BOMBS["encoding"])
    with pytest.raises(TableError, match="it contains bytes in 'punycode'"):
        load_array(path)


@pytest.mark.parametrize(
    ("shape", "rest"),
    [
        ((10**12,), b"12345678"),
        ((2**40, 2**40), b"12345678"),
        ((10**15, 0), b""),  # no numbers, but of very many rows
    ],
)
def test_an_array_takes_no_more_memory_than_its_file(shape, rest, tmp_path):
    path = npy(tmp_path / "large.npy", "<f8", shape, rest)
    with pytest.raises(TableError, match="its shape"):
        load_array(path)


def test_a_compressed_array_is_not_unpacked_beyond_its_bound(tmp_path):
    path = tmp_path / "bomb.npz"
    np.savez_compressed(path, train=np.zeros(10**7))
    with pytest.raises(ValueError, match=r"unpacks to \d+ bytes"):
        load_arrays(path, most=10**6)
    with zipfile.ZipFile(path) as archive:
        assert len(archive.namelist()) == 1


def stored(folder, **fields):
    store, job = Store(folder), Job("iris", "knn")
    store.plan([job])
    store.append(Record(job, "done", scores={"accuracy": 0.5}, **fields))
    return store


def test_a_record_with_a_number_that_is_none_is_read(tmp_path):
    stored(tmp_path, facts={"peak_bytes": float("nan")})
    assert len(Store(tmp_path).records()) == 1


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE records SET key = 'other'",
        "UPDATE jobs SET job = replace(job, 'iris', 'wine')",
        "UPDATE jobs SET job = '[]'",
    ],
)
def test_a_row_that_is_not_of_its_key_is_found(change, tmp_path):
    store = stored(tmp_path)
    with closing(sqlite3.connect(store.file)) as file, file:
        file.execute(change)
    again = Store(tmp_path)
    assert again.notes
    assert again.planned() == []


def test_a_crafted_record_is_left_out(tmp_path):
    store = stored(tmp_path)
    with closing(sqlite3.connect(store.file)) as file, file:
        ((text,),) = file.execute("SELECT record FROM records")
        text = json.dumps({**json.loads(text), "scores": "high"})
        row = (text, store_room._digest(text, None))
        file.execute("UPDATE records SET record = ?, digest = ?", row)
    again = Store(tmp_path)
    assert again.notes
    assert again.records() == []


def test_a_full_disk_is_told_with_the_file(tmp_path, monkeypatch):
    store = stored(tmp_path)
    job = Job("wine", "knn")

    def full(self):
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(Store, "_open", full)
    for write in (
        lambda: store.plan([job]),
        lambda: store.append(Record(job, "done")),
        lambda: store.delete(["x"]),
    ):
        with pytest.raises(StoreError, match=r"records\.sqlite' \(database or disk is"):
            write()


STUDIES = {
    "a number as title": ("title = ", "title = 3"),
    "a table of variants": ("asks = ", "variants = {}"),
    "a text as size": ("asks = ", "full = 'all'"),
    "a list as text": ("paper = ", "paper = [3]"),
}


@pytest.mark.parametrize("change", STUDIES.values(), ids=STUDIES)
def test_a_study_with_values_of_another_kind_is_refused(change, tmp_path):
    start, line = change
    lines = (FOLDER / "loss.toml").read_text().splitlines()
    path = tmp_path / "loss.toml"
    path.write_text("\n".join(line if x.startswith(start) else x for x in lines))
    with pytest.raises(ValueError, match=r"The study file '.*loss\.toml'"):
        read_study(path)


def test_a_long_array_of_text_is_read_in_reasonable_time(tmp_path):
    cells = np.array([[f"level {i % 50}", i] for i in range(20_000)], dtype=object)
    np.save(tmp_path / "C.npy", cells)
    began = time.monotonic()
    assert load_array(tmp_path / "C.npy").tolist() == cells.tolist()
    assert time.monotonic() - began < 10
