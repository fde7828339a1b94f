"""Arrays from .npy files, without running the code that a pickle may hold.

Numpy saves an array of objects as a pickle. Here nothing that such a pickle names is
ever called: the few names that an array of text and numbers needs stand for inert
recorders, and any other name is refused.
"""

import pickle
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

import numpy as np

from modernnca.errors import TableError

_CELLS = (str, int, float, bool, type(None), np.generic)
_WAY_OUT = "save it again with text and numbers only, or the table as CSV or Parquet"


class _Type:
    """Stands for numpy's ndarray or dtype; keeps the name of a dtype."""

    def __init__(self, name: object = "O", *_: object) -> None:
        self.name, self.state = name, None

    def __setstate__(self, state: Any) -> None:
        self.state = state  # (version, byte order, ...)

    def as_numpy(self) -> np.dtype:
        order = str(self.state[1]) if self.state else ""
        dtype = np.dtype(order + str(self.name))
        if dtype.kind not in "biufU":
            raise pickle.UnpicklingError(f"it holds cells of the type {self.name!r}")
        return dtype


class _Array:
    """Stands for an array under reconstruction; keeps its shape and cells."""

    def __init__(self, *_: object) -> None:
        self.state: Any = None

    def __setstate__(self, state: Any) -> None:
        self.state = state  # (version, shape, dtype, Fortran order, cells)


def _scalar(dtype: _Type, raw: bytes) -> Any:
    return np.frombuffer(raw, dtype=dtype.as_numpy())[0]


def _encode(text: str, encoding: str) -> bytes:
    return text.encode(encoding)


_ADMITTED = {
    ("numpy", "ndarray"): _Type,
    ("numpy", "dtype"): _Type,
    ("_codecs", "encode"): _encode,  # bytes, in the oldest protocols
    **{
        (f"numpy.{core}.multiarray", name): stand_in
        for core in ("core", "_core")
        for name, stand_in in (("_reconstruct", _Array), ("scalar", _scalar))
    },
}


class _Unpickler(pickle.Unpickler):
    """Reads an array of plain cells, and refuses all else."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _ADMITTED:
            raise pickle.UnpicklingError(f"it asks for {module}.{name}")
        return _ADMITTED[module, name]

    def persistent_load(self, pid: Any) -> NoReturn:
        raise pickle.UnpicklingError("it asks for an object outside the file")


def load_array(path: Path) -> np.ndarray:
    """Read an array of numbers or text, also if they are held as objects."""
    try:
        with open(path, "rb") as file:
            major, _ = np.lib.format.read_magic(file)
            read_header = getattr(np.lib.format, f"read_array_header_{major}_0")
            _, _, dtype = read_header(file)
            if dtype.hasobject:
                return _objects(file)
            file.seek(0)
            return np.lib.format.read_array(file, allow_pickle=False)
    except OSError as error:
        reason = error.strerror or str(error)
        raise TableError(
            f"Cannot read {str(path)!r}: {reason}; name a folder that has it."
        ) from error
    except Exception as error:  # a hostile or damaged pickle may raise anything
        reason = str(error).rstrip(".") or type(error).__name__
        raise TableError(f"Cannot read {str(path)!r}: {reason}; {_WAY_OUT}.") from error


def _objects(file: BinaryIO) -> np.ndarray:
    array = _Unpickler(file).load()
    if not isinstance(array, _Array) or not array.state:
        raise pickle.UnpicklingError("it does not hold an array")
    _, shape, _, _, cells = array.state  # in C order, whatever the array's own
    for cell in cells:
        if not isinstance(cell, _CELLS):
            raise pickle.UnpicklingError(
                f"it holds a cell of the type {type(cell).__name__}"
            )
    flat = np.empty(len(cells), dtype=object)
    flat[:] = cells
    return flat.reshape(shape)
