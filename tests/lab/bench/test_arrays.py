"""Arrays read without running what a pickle asks for."""

import io
import os
import pickle
import struct
import tracemalloc

import numpy as np
import pytest

from modernnca.errors import TableError
from modernnca.lab.bench.arrays import load_array


def write_npy(path, pickled, shape=(1,)):
    """Write an .npy file of objects whose pickle is the one given."""
    file = io.BytesIO()
    header = {"descr": "|O", "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(file, header)
    path.write_bytes(file.getvalue() + pickled)
    return path


class Hostile:
    """Runs a command when it is unpickled the usual way."""

    def __init__(self, function, *args):
        self.call = function, args

    def __reduce__(self):
        return self.call


CELLS = [["a", None], [1, 2.5], [True, np.float64(0.5)], [np.str_("ü"), np.int8(-3)]]


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_objects_are_what_numpy_reads(tmp_path, protocol):
    array = np.array(CELLS, dtype=object)
    path = write_npy(tmp_path / "a.npy", pickle.dumps(array, protocol), array.shape)
    read = load_array(path)
    assert read.shape == (4, 2)
    assert read.tolist() == array.tolist() == np.load(path, allow_pickle=True).tolist()
    assert [type(cell) for cell in read.flat] == [type(cell) for cell in array.flat]


def test_pickles_of_older_numpy_are_read(tmp_path):
    array = np.array(["no", "yes"], dtype=object)
    old = pickle.dumps(array, 3).replace(b"numpy._core.", b"numpy.core.")
    assert load_array(write_npy(tmp_path / "a.npy", old)).tolist() == ["no", "yes"]


def test_columns_first_stay_in_place(tmp_path):
    array = np.asfortranarray(np.array([["a", "b", "c"], [1, 2, 3]], dtype=object))
    np.save(tmp_path / "a.npy", array, allow_pickle=True)
    assert load_array(tmp_path / "a.npy").tolist() == array.tolist()


@pytest.mark.parametrize(
    "array", [np.eye(3), np.array(["a", "bc"]), np.arange(4, dtype=np.uint8)]
)
def test_plain_arrays_are_read(tmp_path, array):
    np.save(tmp_path / "a.npy", array)
    read = load_array(tmp_path / "a.npy")
    np.testing.assert_array_equal(read, array)
    assert read.dtype == array.dtype


def test_a_hostile_file_would_run_its_command(tmp_path):
    """Shows that the next test can fail."""
    mark = tmp_path / "ran"
    pickled = pickle.dumps(np.array([Hostile(os.mkdir, str(mark))], dtype=object))
    np.load(write_npy(tmp_path / "a.npy", pickled), allow_pickle=True)
    assert mark.exists()


@pytest.mark.parametrize(
    "wrap",
    [
        lambda hostile: np.array([hostile], dtype=object),
        lambda hostile: hostile,
        lambda hostile: [np.array(["a"], dtype=object), hostile],
    ],
)
@pytest.mark.parametrize("protocol", [0, 2, 4])
def test_a_hostile_file_runs_nothing(tmp_path, wrap, protocol):
    mark = tmp_path / "ran"
    pickled = pickle.dumps(wrap(Hostile(os.mkdir, str(mark))), protocol)
    path = write_npy(tmp_path / "a.npy", pickled)
    with pytest.raises(TableError) as error:
        load_array(path)
    assert not mark.exists()
    assert str(error.value) == (
        f"Cannot read {str(path)!r}: its pickle uses posix.mkdir; save it with text "
        "and numbers only, or save the table as CSV or Parquet."
    )


@pytest.mark.parametrize(
    "asked",
    [
        b"cbuiltins\neval\n(S'1/0'\ntR.",
        b"cbuiltins\ngetattr\n(cnumpy\nndarray\nS'x'\ntR.",
        b"cnumpy\nload\n(S'x'\ntR.",
        b"\x80\x04\x8c\x05numpy\x8c\x0dndarray.dumps\x93.",
    ],
)
def test_names_beyond_arrays_are_refused(tmp_path, asked):
    with pytest.raises(TableError, match=r"its pickle uses "):
        load_array(write_npy(tmp_path / "a.npy", asked))


def test_parts_of_numpy_that_are_admitted_are_not_numpys(tmp_path):
    """The names an array needs may be called with anything: they only remember."""
    calls = b"cnumpy\ndtype\n(S'O8'\nI0\nI1\ntR."
    with pytest.raises(TableError, match=r"it does not contain an array"):
        load_array(write_npy(tmp_path / "a.npy", calls))


@pytest.mark.parametrize(
    ("cells", "reason"),
    [
        ([["a"], "b"], "it contains a cell of type list"),
        ([b"bytes", "b"], "it contains a cell of type bytes"),
        ([{"a": 1}, "b"], "it contains a cell of type dict"),
    ],
)
def test_cells_that_are_neither_text_nor_numbers_are_refused(tmp_path, cells, reason):
    array = np.empty(2, dtype=object)
    array[:] = cells
    np.save(tmp_path / "a.npy", array, allow_pickle=True)
    with pytest.raises(TableError, match=reason):
        load_array(tmp_path / "a.npy")


_LONG = 200_000


def _repeated(call: bytes) -> bytes:
    """A pickle that makes 5,000 copies of a long text out of one."""
    return b"\x80\x02X" + struct.pack("<I", _LONG) + b"a" * _LONG + b"q\0" + 5000 * call


@pytest.mark.parametrize(
    "bomb",
    [
        b"\x80\x02Nr" + struct.pack("<I", 2**26) + b".",  # the index of a memo
        b"\x80\x05\x96" + struct.pack("<Q", 2**28) + b".",  # the size of a byte array
        b"\x80\x04\x8d" + struct.pack("<Q", 2**28) + b"abc.",  # the size of a text
        _repeated(b"c_codecs\nencode\nh\0X\6\0\0\0latin1\x86R") + b".",
    ],
    ids=["memo", "bytearray", "text", "copies"],
)
def test_bombs_stay_bounded(tmp_path, bomb):
    path = write_npy(tmp_path / "a.npy", bomb)
    tracemalloc.start()
    try:
        with pytest.raises(TableError, match="Cannot read"):
            load_array(path)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 20e6


def test_declared_sizes_are_held_to_the_size_of_the_file(tmp_path):
    file = io.BytesIO()
    header = {"descr": "<f8", "fortran_order": False, "shape": (2**28,)}
    np.lib.format.write_array_header_1_0(file, header)
    (tmp_path / "a.npy").write_bytes(file.getvalue() + bytes(80))
    with pytest.raises(TableError, match="is not that of its 80 bytes"):
        load_array(tmp_path / "a.npy")


@pytest.mark.parametrize(
    "content", [b"", b"no array", struct.pack("100d", *range(100))]
)
def test_damaged_files_are_refused(tmp_path, content):
    (tmp_path / "a.npy").write_bytes(content)
    with pytest.raises(TableError, match=r"Cannot read .*a.npy"):
        load_array(tmp_path / "a.npy")


def test_cut_files_are_refused(tmp_path):
    np.save(tmp_path / "a.npy", np.array(["a"] * 99, dtype=object), allow_pickle=True)
    whole = (tmp_path / "a.npy").read_bytes()
    (tmp_path / "a.npy").write_bytes(whole[:-20])
    with pytest.raises(TableError, match=r"Cannot read .*a.npy"):
        load_array(tmp_path / "a.npy")


def test_absent_files_are_named(tmp_path):
    with pytest.raises(TableError, match=r"b.npy': No such file"):
        load_array(tmp_path / "b.npy")
