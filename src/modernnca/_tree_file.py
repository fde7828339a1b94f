"""A tree of plain values and arrays as one file: safetensors with JSON inside.

Nothing in such a file is ever executed, unlike in a pickle. A file is written whole or
not at all, and carries a digest of its content, so that damage is found on reading.
Whoever changes a file can also write the digest anew: only a signature, made with a
key, tells that the content is as it was saved. The same tree is always the same bytes.
"""

import hashlib
import hmac
import json
import os
from typing import Any, BinaryIO

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load as read_tensors
from torch import Tensor

from modernnca._files import open_regular, written_whole
from modernnca.errors import ModelFileError

# The format of the tree itself; what it holds is the writer's matter.
_KIND = "modernnca"
# The tree's JSON is a tensor as well: a header of safetensors ends at 100 MB.
_TREE = "tree"
_MAX_HEADER = 100_000_000
_DTYPES = {
    torch.bool: "BOOL",
    torch.uint8: "U8",
    torch.int8: "I8",
    torch.int16: "I16",
    torch.uint16: "U16",
    torch.int32: "I32",
    torch.uint32: "U32",
    torch.int64: "I64",
    torch.uint64: "U64",
    torch.float16: "F16",
    torch.bfloat16: "BF16",
    torch.float32: "F32",
    torch.float64: "F64",
}
Key = bytes | str


def write_tree(
    path: str | os.PathLike, tree: dict[str, Any], *, key: Key | None = None
) -> None:
    """Write `tree`, a nest of dicts, lists, plain values, arrays and tensors.

    With a `key` the file is signed. If anything goes wrong (no space left, say), a file
    that was there before stays.
    """
    tensors: dict[str, Tensor] = {}
    text = json.dumps(_pack(tree, tensors), allow_nan=True).encode()
    tensors[_TREE] = torch.frombuffer(bytearray(text), dtype=torch.uint8)
    facts = {"kind": _KIND, "digest": _digest(tensors)}
    if key is not None:
        facts["signature"] = _signature(tensors, key)
    with written_whole(path) as file:
        _write_tensors(file, tensors, facts)


def read_tree(path: str | os.PathLike, *, key: Key | None = None) -> dict[str, Any]:
    """Read what `write_tree` wrote; arrays and tensors come back as tensors.

    With a `key`, the file must be signed with it.
    """
    shown = repr(str(path))
    with open_regular(path) as file:
        facts, tensors = _read_tensors(file, shown)
    if key is not None:
        _check_signature(facts, tensors, key, shown)
    if not hmac.compare_digest(str(facts["digest"]), _digest(tensors)):
        raise ModelFileError(
            f"{shown} is damaged: its content does not match its digest. "
            "Take another copy of the file, or save the model again."
        )
    try:
        # Each array stands at one place, so that a small file stays a small tree.
        unused = {name: part for name, part in tensors.items() if name != _TREE}
        tree = _unpack(json.loads(tensors[_TREE].numpy().tobytes()), unused)
        if unused or not isinstance(tree, dict):
            raise ValueError("it does not name each of its arrays once.")
    except (ValueError, TypeError, LookupError, RecursionError) as error:
        raise ModelFileError(
            f"{shown} does not describe a model: {type(error).__name__}, {error}"
        ) from error
    return tree


def bytes_of(tensor: Tensor) -> memoryview:
    """The bytes of a tensor, of any shape and strides; none of an empty one.

    >>> bytes_of(torch.zeros(3, 0)).nbytes, bytes_of(torch.zeros(2, 3).T).nbytes
    (0, 24)
    """
    # Not `contiguous`, which leaves the strides of empty and single numbers alone.
    plain = tensor.detach().cpu().clone(memory_format=torch.contiguous_format)
    return plain.reshape(-1).view(torch.uint8).numpy().data


def with_arrays(node: Any) -> Any:
    """The same tree with numpy arrays for tensors."""
    if isinstance(node, Tensor):
        return node.numpy()
    if isinstance(node, dict):
        return {key: with_arrays(value) for key, value in node.items()}
    if isinstance(node, list):
        return [with_arrays(value) for value in node]
    return node


def _write_tensors(
    file: BinaryIO, tensors: dict[str, Tensor], facts: dict[str, str]
) -> None:
    """Write safetensors; its own writer puts the facts in any order."""
    header: dict[str, Any] = {"__metadata__": facts}
    order = sorted(tensors, key=lambda name: (-tensors[name].element_size(), name))
    end = 0
    for name in order:  # the widest numbers first, so that all are aligned
        tensor, begin = tensors[name], end
        end += tensor.numel() * tensor.element_size()
        shape, offsets = list(tensor.shape), [begin, end]
        dtype = _DTYPES[tensor.dtype]
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": offsets}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    file.write(len(text).to_bytes(8, "little") + text)
    for name in order:
        file.write(bytes_of(tensors[name]))


def _read_tensors(
    file: BinaryIO, shown: str
) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """The facts in the header, and the tensors; all of it as long as it says."""
    size = os.fstat(file.fileno()).st_size
    try:
        start = file.read(8)
        n_bytes = int.from_bytes(start, "little")
        if not 0 < n_bytes <= min(size - 8, _MAX_HEADER):
            raise ValueError("no header")
        text = file.read(n_bytes)
        header = json.loads(text)
        facts = header.pop("__metadata__")
        if (
            max(part["data_offsets"][1] for part in header.values())
            != size - 8 - n_bytes
        ):
            raise ValueError("another length")
        if not {part["dtype"] for part in header.values()} <= {*_DTYPES.values()}:
            raise ValueError("an unknown dtype")
        # An array without any numbers takes no bytes, whatever its shape.
        if any(max([0, *part["shape"]]) > size for part in header.values()):
            raise ValueError("a shape beyond the file")
        tensors = read_tensors(start + text + file.read(size))
        if not isinstance(facts["digest"], str) or _TREE not in tensors:
            raise ValueError("no digest")
    except (
        *(SafetensorError, LookupError, ValueError, TypeError, AttributeError),
        *(RecursionError, OverflowError),
    ) as error:
        raise ModelFileError(
            f"{shown} is not a model file of modernnca, or it is cut short."
        ) from error
    return facts, tensors


def _check_signature(
    facts: dict[str, Any], tensors: dict[str, Tensor], key: Key, shown: str
) -> None:
    signature = facts.get("signature")
    if not isinstance(signature, str):
        raise ModelFileError(
            f"{shown} is not signed; load it without a key only if you trust where it "
            "comes from, or save it with the key."
        )
    expected = _signature(tensors, key)
    if not hmac.compare_digest(signature.encode(), expected.encode()):
        raise ModelFileError(
            f"{shown} does not match its signature: it was changed, or signed with "
            "another key. Take another copy of the file, or the right key."
        )


def _pack(node: Any, tensors: dict[str, Tensor]) -> Any:
    """JSON for `node`; arrays go to `tensors` and leave a reference."""
    if isinstance(node, np.ndarray):
        node = torch.from_numpy(np.ascontiguousarray(node))
    if isinstance(node, Tensor):
        name = str(len(tensors))
        tensors[name] = node.detach().cpu().clone(memory_format=torch.contiguous_format)
        return {"__tensor__": name}
    if isinstance(node, dict):
        # Pairs, since the keys of a torch state are numbers and JSON's are text.
        return {
            "__dict__": [[key, _pack(value, tensors)] for key, value in node.items()]
        }
    if isinstance(node, list | tuple):
        return [_pack(value, tensors) for value in node]
    if isinstance(node, np.generic):
        return node.item()
    return node


def _unpack(node: Any, unused: dict[str, Tensor]) -> Any:
    """The reverse of `_pack`; takes the tensors that it meets."""
    if isinstance(node, list):
        return [_unpack(value, unused) for value in node]
    if isinstance(node, dict):
        if "__tensor__" in node:
            return unused.pop(node["__tensor__"])
        pairs = node["__dict__"]
        unpacked = {name: _unpack(value, unused) for name, value in pairs}
        if len(unpacked) < len(pairs):
            raise ValueError("a name occurs twice.")
        return unpacked
    return node


def _digest(tensors: dict[str, Tensor]) -> str:
    """A digest of all content."""
    digest = hashlib.sha256()
    for name in sorted(tensors):
        tensor = tensors[name]
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        digest.update(bytes_of(tensor))
    return digest.hexdigest()


def _signature(tensors: dict[str, Tensor], key: Key) -> str:
    """The HMAC-SHA256 of all content; each name is quoted, so that no two are alike."""
    secret = key.encode() if isinstance(key, str) else bytes(key)
    if not secret:
        raise ValueError("key must not be empty; give a secret text or bytes.")
    signature = hmac.new(secret, digestmod=hashlib.sha256)
    for name in sorted(tensors):
        tensor = tensors[name]
        facts = [name, _DTYPES[tensor.dtype], list(tensor.shape)]
        signature.update(json.dumps(facts).encode() + b"\n")
        signature.update(bytes_of(tensor))
    return signature.hexdigest()
