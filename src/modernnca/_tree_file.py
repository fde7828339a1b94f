"""A tree of plain values and arrays as one file: safetensors with JSON inside.

Nothing in such a file is ever executed, unlike in a pickle. A file is written whole or
not at all, and carries a digest of its content, so that damage is found on reading.
"""

import hashlib
import json
import os
import secrets
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load as read_tensors
from safetensors.torch import save as dump_tensors
from torch import Tensor

from modernnca.errors import ModelFileError

# The format of the tree itself; what it holds is the writer's matter.
_KIND = "modernnca"
# The tree's JSON is a tensor as well: a header of safetensors ends at 100 MB.
_TREE = "tree"


def write_tree(path: str | os.PathLike, tree: dict[str, Any]) -> None:
    """Write `tree`, a nest of dicts, lists, plain values, arrays and tensors.

    If anything goes wrong (no space left, say), a file that was there before stays.
    """
    tensors: dict[str, Tensor] = {}
    text = json.dumps(_pack(tree, tensors), allow_nan=True).encode()
    tensors[_TREE] = torch.frombuffer(bytearray(text), dtype=torch.uint8)
    header = {"kind": _KIND, "digest": _digest(tensors)}
    _write_atomically(Path(path), dump_tensors(tensors, header))


def read_tree(path: str | os.PathLike) -> dict[str, Any]:
    """Read what `write_tree` wrote; arrays and tensors come back as tensors."""
    content = Path(path).read_bytes()
    try:
        tensors = read_tensors(content)
        digest, text = _header(content)["digest"], tensors[_TREE].numpy().tobytes()
    except (SafetensorError, KeyError, ValueError) as error:
        raise ModelFileError(
            f"{str(path)!r} is not a model file of modernnca, or it is cut short."
        ) from error
    if digest != _digest(tensors):
        raise ModelFileError(
            f"{str(path)!r} is damaged: its content does not match its digest. "
            "Take another copy of the file, or save the model again."
        )
    tree: dict[str, Any] = _unpack(json.loads(text), tensors)
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


def _header(content: bytes) -> dict[str, str]:
    """The text that stands in front of the tensors."""
    n_bytes = int.from_bytes(content[:8], "little")
    header: dict[str, str] = json.loads(content[8 : 8 + n_bytes])["__metadata__"]
    return header


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


def _unpack(node: Any, tensors: dict[str, Tensor]) -> Any:
    """The reverse of `_pack`."""
    if isinstance(node, list):
        return [_unpack(value, tensors) for value in node]
    if isinstance(node, dict):
        if "__tensor__" in node:
            return tensors[node["__tensor__"]]
        return {key: _unpack(value, tensors) for key, value in node["__dict__"]}
    return node


def _digest(tensors: dict[str, Tensor]) -> str:
    """A digest of all content."""
    digest = hashlib.sha256()
    for name in sorted(tensors):
        tensor = tensors[name]
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        digest.update(bytes_of(tensor))
    return digest.hexdigest()


def _write_atomically(path: Path, content: bytes) -> None:
    """Write beside `path`, then put it in place in one step."""
    beside = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        with beside.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
