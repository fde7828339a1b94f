"""Ways to damage a file, and to craft one: bytes, trees of values, JSON, pickles.

Damage is what disks, networks and editors do; whoever crafts a file also writes its
digest anew, so that only the checks of what it declares stand in the way.
"""

import copy
import json
import pickle
import struct
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

Random = np.random.RandomState


def damage(content: bytes, rng: Random) -> bytes:
    """The bytes with one to three of the things that happen to files."""
    for _ in range(rng.randint(1, 4)):
        content = DAMAGES[rng.randint(len(DAMAGES))](content, rng)
    return content


def _flip(content: bytes, rng: Random) -> bytes:
    changed = bytearray(content or b"\0")
    for place in rng.randint(0, len(changed), rng.randint(1, 9)):
        changed[place] ^= 1 << rng.randint(8)
    return bytes(changed)


def _cut(content: bytes, rng: Random) -> bytes:
    return content[: rng.randint(0, len(content) + 1)]


def _behead(content: bytes, rng: Random) -> bytes:
    return content[rng.randint(0, len(content) + 1) :]


def _lose(content: bytes, rng: Random) -> bytes:
    begin, end = np.sort(rng.randint(0, len(content) + 1, 2))
    return content[:begin] + content[end:]


def _repeat(content: bytes, rng: Random) -> bytes:
    begin, end = np.sort(rng.randint(0, len(content) + 1, 2))
    return content[:end] + content[begin:end] + content[end:]


def _overwrite(content: bytes, rng: Random) -> bytes:
    place, length = rng.randint(0, len(content) + 1), rng.randint(1, 64)
    filling = rng.bytes(length) if rng.rand() < 0.5 else b"\0" * length
    return content[:place] + filling + content[place + length :]


def _large_number(content: bytes, rng: Random) -> bytes:
    """A length or an offset that is far too large, somewhere."""
    place = rng.randint(0, len(content) + 1)
    number = struct.pack("<q", [2**62, 2**31, -1, 10**9][rng.randint(4)])
    return content[:place] + number + content[place + 8 :]


DAMAGES = (_flip, _flip, _cut, _behead, _lose, _repeat, _overwrite, _large_number)
SCALARS: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 2, 7, 10**6, 2**31, 2**63, 10**400, -(10**9)),
    *(0.5, -0.5, 1e-300, 1e300, 1e30, float("nan"), float("inf"), float("-inf")),
    *("", "x", "os.system", "nan", "../../etc/passwd", "\x00", "\ud800", "é" * 300),
    *([], {}, [[]], [None] * 3, {"__tensor__": "0"}, {"kind": "network"}),
)


def craft(tree: Any, rng: Random) -> Any:
    """A copy of a tree with one to three other values in it."""
    tree = copy.deepcopy(tree)
    for _ in range(rng.randint(1, 4)):
        places = _places(tree)
        node, key = places[rng.randint(len(places))]
        change = CHANGES[rng.randint(len(CHANGES))]
        change(node, key, rng)
    return tree


def _places(node: Any) -> list[tuple[Any, Any]]:
    """Every (container, key) of a tree."""
    found: list[tuple[Any, Any]] = []
    items: Any = ()
    if isinstance(node, dict):
        items = list(node.items())
    elif isinstance(node, list):
        items = list(enumerate(node))
    for key, value in items:
        found.append((node, key))
        found += _places(value)
    return found or [({"": node}, "")]


def _replace(node: Any, key: Any, rng: Random) -> None:
    """By a value of another kind; numbers by other numbers, arrays by other arrays."""
    value = node[key]
    if isinstance(value, Tensor):
        node[key] = TENSORS[rng.randint(len(TENSORS))](value, rng)
    elif isinstance(value, list) and value and rng.rand() < 0.7:
        node[key] = LISTS[rng.randint(len(LISTS))](value, rng)
    elif isinstance(value, bool | str | None) or rng.rand() < 0.6:
        node[key] = copy.deepcopy(SCALARS[rng.randint(len(SCALARS))])
    elif isinstance(value, int | float):
        factors = (-1, 0, 2, 1000, 1e9, 1e30, 0.5, float("nan"), float("inf"))
        node[key] = value * factors[rng.randint(len(factors))]
    else:
        node[key] = copy.deepcopy(SCALARS[rng.randint(len(SCALARS))])


def _delete(node: Any, key: Any, rng: Random) -> None:
    del node[key]


def _rename(node: Any, key: Any, rng: Random) -> None:
    if isinstance(node, dict):
        node[f"{key}x"] = node.pop(key)


def _add(node: Any, key: Any, rng: Random) -> None:
    value = copy.deepcopy(SCALARS[rng.randint(len(SCALARS))])
    if isinstance(node, dict):
        node["more"] = value
    elif isinstance(node, list):
        node.insert(key, value)


def _swap(node: Any, key: Any, rng: Random) -> None:
    """With a neighbor."""
    keys = list(node) if isinstance(node, dict) else list(range(len(node)))
    other = keys[rng.randint(len(keys))]
    node[key], node[other] = node[other], node[key]


CHANGES: tuple[Callable[[Any, Any, Random], None], ...] = (
    *(_replace,) * 8,
    *(_delete, _rename, _add, _swap),
)
_DTYPES = (torch.float64, torch.float32, torch.float16, torch.int64, torch.int32)
TENSORS: tuple[Callable[[Tensor, Random], Any], ...] = (
    lambda t, rng: t.to(_DTYPES[rng.randint(len(_DTYPES))]),
    lambda t, rng: t.to(torch.bool),
    lambda t, rng: _with(t, rng, float("nan")),
    lambda t, rng: _with(t, rng, float("inf")),
    lambda t, rng: _with(t, rng, -1),
    lambda t, rng: _with(t, rng, 1e38 if t.is_floating_point() else 2**30),
    lambda t, rng: t.clone().fill_(0),
    lambda t, rng: -t if t.dtype != torch.bool else ~t,
    lambda t, rng: t[:-1] if t.ndim else t[None],
    lambda t, rng: torch.cat([t, t]) if t.ndim else t[None],
    lambda t, rng: t[..., :-1] if t.ndim else t,
    lambda t, rng: t.flatten(),
    lambda t, rng: t[None],
    lambda t, rng: t.T if t.ndim == 2 else t,
    lambda t, rng: t[:0] if t.ndim else t,
    lambda t, rng: t.tolist(),
    lambda t, rng: t[torch.randperm(len(t))] if t.ndim and len(t) else t,
    lambda t, rng: None,
)
LISTS: tuple[Callable[[list, Random], Any], ...] = (
    lambda v, rng: v[:-1],
    lambda v, rng: v + v[:1],
    lambda v, rng: v[::-1],
    lambda v, rng: [],
    lambda v, rng: v * 50,
    lambda v, rng: {"x": v},
)


def _with(tensor: Tensor, rng: Random, value: float) -> Tensor:
    """With a number in some places, or in all."""
    changed = tensor.clone().flatten()
    if changed.dtype in (torch.bool, torch.uint8) or not len(changed):
        return tensor.to(torch.float32)
    if not changed.is_floating_point() and not np.isfinite(value):
        changed = changed.to(torch.float32)
    n_places = len(changed) if rng.rand() < 0.2 else rng.randint(1, 4)
    changed[torch.from_numpy(rng.randint(0, len(changed), n_places))] = value
    return changed.reshape(tensor.shape)


def container(content: bytes, rng: Random) -> bytes:
    """A safetensors file with another header, or another text for the tree."""
    n_bytes = int.from_bytes(content[:8], "little")
    header, data = json.loads(content[8 : 8 + n_bytes]), content[8 + n_bytes :]
    for _ in range(rng.randint(1, 3)):
        names = list(header)
        name = names[rng.randint(len(names))]
        part = header[name]
        kind = rng.randint(8)
        if name == "__metadata__" or kind == 0:
            header[name] = copy.deepcopy(SCALARS[rng.randint(len(SCALARS))])
        elif kind == 1 and isinstance(part, dict):
            part["dtype"] = ["F64", "F8_E4M3", "I8", "BOOL", "X", 3][rng.randint(6)]
        elif kind == 2 and isinstance(part, dict):
            part["shape"] = [[2**62], [10**9, 0], [-1], [], "x", [2.5]][rng.randint(6)]
        elif kind == 3 and isinstance(part, dict):
            part["data_offsets"] = [[0, 2**62], [5, 1], [0], [-4, 4], None][
                rng.randint(5)
            ]
        elif kind == 4:
            header[f"{name}x"] = part
        elif kind == 5:
            del header[name]
        elif kind == 6:
            data += rng.bytes(9)
        else:
            header["__metadata__"] = {"digest": "0" * 64, "signature": "x"}
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data


def tree_text(rng: Random) -> bytes:
    """JSON that no tree is written as."""
    texts = (
        b"[" * 100_000,
        b'{"__dict__":' * 5000 + b"1" + b"}" * 5000,
        b"{}",
        b"[]",
        b"nul",
        b"\xff\xfe",
        b'{"__tensor__": "99"}',
        b'{"__tensor__": ["0"]}',
        b'{"__dict__": [["format", 1], ["format", 1]]}',
        b'{"__dict__": [[["format"], 1]]}',
        b'{"__dict__": [["format", 1, 2]]}',
        b'{"__dict__": 7}',
        b'{"format": 1}',
        b"9" * 10_000,
        b"1e999",
        b'"' + b"x" * 1_000_000 + b'"',
    )
    return texts[rng.randint(len(texts))]


class Bomb:
    """Its pickle would run a command."""

    def __reduce__(self):
        import os

        return os.system, ("exit 1",)


def hostile_pickle(rng: Random) -> bytes:
    """A pickle that asks for memory, time, other names or other types."""
    inner = pickle.dumps("x", protocol=2)[2:-1]
    huge = struct.pack("<I", 2**31 - 1)
    pickles = (
        b"\x80\x02" + inner + b"r" + huge + b".",  # a memo of two billion
        b"\x80\x04X" + struct.pack("<I", 2**31 - 1) + b"x.",
        b"\x80\x04\x8d" + struct.pack("<Q", 2**60) + b"x.",
        b"\x80\x04\x8e" + struct.pack("<Q", 2**40) + b"x.",
        b"\x80\x02" + b"(" * 100_000 + b".",
        b"\x80\x02" + b"]" * 50_000 + b"a" * 49_999 + b".",
        b"c_codecs\nencode\n(X\x05\x00\x00\x00\xc3\xa9abcX\x08\x00\x00\x00punycodetR.",
        b"cos\nsystem\n(X\x06\x00\x00\x00exit 1tR.",
        b"cnumpy\ndtype\n(X\x0b\x00\x00\x00U1000000000tR.",
        b"\x8a\xff" + b"\x01" * 255 + b".",
        pickle.dumps(Bomb()),
        pickle.dumps([1, 2, 3]),
        pickle.dumps({"a": np.float64(1)}),
        pickle.dumps(np.array([object], dtype=object)),
        b".",
        b"",
    )
    return pickles[rng.randint(len(pickles))]
