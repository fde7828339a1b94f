"""Load .npy files without running code from their pickles.

NumPy saves an array of objects as a pickle. This reader calls nothing that such a
pickle names: the few names that an array of text and numbers needs are replaced by
inert stand-ins, and any other name is refused. Nor does a file take much more memory
than its own size, whatever sizes it declares.
"""

import io
import math
import pickle
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO, ClassVar, NoReturn

import numpy as np

from modernnca._files import read_regular
from modernnca.errors import TableError

_CELLS = (str, int, float, bool, type(None), np.generic)
_MAX_GROWTH = 8  # times as many bytes as the pickle has may be made of it
_WAY_OUT = "save it with text and numbers only, or save the table as CSV or Parquet"


class _Type:
    """Stand-in for NumPy's ndarray or dtype; keeps the name of a dtype."""

    def __init__(self, name: object = "O", *_: object) -> None:
        self.name, self.state = name, None

    def __setstate__(self, state: Any) -> None:
        self.state = state  # (version, byte order, ...)

    def as_numpy(self) -> np.dtype:
        order = str(self.state[1]) if self.state else ""
        dtype = np.dtype(order + str(self.name))
        if dtype.kind not in "biufU":
            raise pickle.UnpicklingError(f"it contains cells of type {self.name!r}")
        return dtype


class _Array:
    """Stand-in for an array under reconstruction; keeps its shape and cells."""

    def __init__(self, *_: object) -> None:
        self.state: Any = None

    def __setstate__(self, state: Any) -> None:
        self.state = state  # (version, shape, dtype, Fortran order, cells)


def _scalar(dtype: _Type, raw: bytes) -> Any:
    return np.frombuffer(raw, dtype=dtype.as_numpy())[0]


def _encode(text: str, encoding: str) -> bytes:
    if encoding != "latin1":  # some encodings take very long
        raise pickle.UnpicklingError(f"it contains bytes in {encoding!r}")
    return text.encode(encoding)


_ALLOWED = {
    ("numpy", "ndarray"): _Type,
    ("numpy", "dtype"): _Type,
    ("_codecs", "encode"): _encode,  # bytes, in the oldest protocols
    **{
        (f"numpy.{core}.multiarray", name): stand_in
        for core in ("core", "_core")
        for name, stand_in in (("_reconstruct", _Array), ("scalar", _scalar))
    },
}


# Not pickle.Unpickler: its memo is as long as the largest index that a file names.
_PythonUnpickler = pickle._Unpickler


class _Unpickler(_PythonUnpickler):
    """Reads an array of text and numbers, and refuses anything else."""

    # A byte array is made as long as it is declared, before it is read.
    dispatch: ClassVar = {
        code: load
        for code, load in _PythonUnpickler.dispatch.items()
        if code != pickle.BYTEARRAY8[0]
    }

    def __init__(self, content: bytes) -> None:
        super().__init__(io.BytesIO(content))
        self.bytes_left = _MAX_GROWTH * len(content)

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _ALLOWED:
            raise pickle.UnpicklingError(f"its pickle uses {module}.{name}")
        allowed = _ALLOWED[module, name]
        return self._bounded(allowed) if allowed in (_scalar, _encode) else allowed

    def _bounded(self, make: Callable[..., Any]) -> Callable[..., Any]:
        """A function that may make only so much, however often it is called."""

        def call(one: Any, other: Any) -> Any:
            made = make(one, other)
            self.bytes_left -= made.nbytes if make is _scalar else len(made)
            if self.bytes_left < 0:
                raise pickle.UnpicklingError("its pickle grows far beyond its size")
            return made

        return call

    def persistent_load(self, pid: Any) -> NoReturn:
        raise pickle.UnpicklingError("its pickle refers to an object outside the file")


def load_array(path: Path) -> np.ndarray:
    """Read an array of numbers or text, even if it is stored as objects."""
    try:
        content = read_regular(path)
        array = parse_array(content)
        return _parse_objects(content) if array is None else array
    except OSError as error:
        reason = error.strerror or str(error)
        raise TableError(
            f"Cannot read {str(path)!r}: {reason}; complete the folder."
        ) from error
    except Exception as error:  # a hostile or damaged pickle may raise anything
        reason = str(error).rstrip(".") or type(error).__name__
        raise TableError(f"Cannot read {str(path)!r}: {reason}; {_WAY_OUT}.") from error


def parse_array(content: bytes) -> np.ndarray | None:
    """The array in the bytes of a .npy file; None if it is one of objects.

    An array never takes more memory than the file has bytes, whatever it declares.
    """
    file = io.BytesIO(content)
    shape, order, dtype = _read_header(file)
    if dtype.hasobject:
        return None
    left = content[file.tell() :]
    if dtype.itemsize * math.prod(shape) != len(left) or max([0, *shape]) > len(
        content
    ):
        raise ValueError(f"its shape {shape} is not that of its {len(left)} bytes")
    array = np.frombuffer(left, dtype=dtype).copy()
    return array.reshape(shape, order="F" if order else "C")


def load_arrays(file: Path | BinaryIO, *, most: int) -> dict[str, np.ndarray]:
    """The arrays of an .npz file, of at most so many bytes each when unpacked."""
    arrays = {}
    with zipfile.ZipFile(file) as archive:
        for entry in archive.infolist():
            if entry.file_size > most:
                raise ValueError(f"{entry.filename} unpacks to {entry.file_size} bytes")
            with archive.open(entry) as member:
                content = member.read(most + 1)
            if len(content) > most:
                raise ValueError(f"{entry.filename} unpacks to more than it says")
            array = parse_array(content)
            if array is None:
                raise ValueError(f"{entry.filename} holds objects")
            arrays[entry.filename.removesuffix(".npy")] = array
    return arrays


def _read_header(file: BinaryIO) -> tuple[tuple[int, ...], bool, np.dtype]:
    major, _ = np.lib.format.read_magic(file)
    if major == 1:
        return np.lib.format.read_array_header_1_0(file)
    if major == 2:
        return np.lib.format.read_array_header_2_0(file)
    raise ValueError(f"its version {major} is unknown")


def _parse_objects(content: bytes) -> np.ndarray:
    """Unpickle an array of objects."""
    file = io.BytesIO(content)
    _read_header(file)
    array = _Unpickler(content[file.tell() :]).load()
    if not isinstance(array, _Array) or not array.state:
        raise pickle.UnpicklingError("it does not contain an array")
    _, shape, _, _, cells = array.state  # always in C order
    for cell in cells:
        if not isinstance(cell, _CELLS):
            raise pickle.UnpicklingError(
                f"it contains a cell of type {type(cell).__name__}"
            )
    flat = np.empty(len(cells), dtype=object)
    flat[:] = cells
    return flat.reshape(shape)
