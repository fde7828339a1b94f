"""A training under way, kept on disk so that an interrupted fit can resume."""

import hashlib
from pathlib import Path
from typing import Any

from torch import Tensor, nn

from modernnca._tree_file import bytes_of, read_tree, write_tree
from modernnca.core.rows import Examples


class Checkpoint:
    """One file in a folder, written after each epoch, read when `fit` starts again.

    The file stores the fingerprint of the training it belongs to: the config, the seed,
    the rows, and the weights it began with.
    """

    def __init__(self, folder: Path, name: str, fingerprint: str) -> None:
        self.path = folder / f"{name}.checkpoint"
        self.fingerprint = fingerprint

    def read(self, *, required: bool) -> dict[str, Any] | None:
        """The state of an earlier run of the same training; None if there is none.

        That of another training is refused if `required` to match, else ignored.
        """
        self.path.parent.mkdir(parents=True, exist_ok=True)
        if not self.path.exists():
            return None
        tree = read_tree(self.path)
        if tree["fingerprint"] == self.fingerprint:
            state: dict[str, Any] = tree["state"]
            return state
        if not required:
            return None
        raise ValueError(
            f"The folder {str(self.path.parent)!r} holds a checkpoint of another fit "
            "(other rows, options or random_state); empty it or name another."
        )

    def write(self, state: dict[str, Any]) -> None:
        """Replace the file by this state."""
        write_tree(self.path, {"fingerprint": self.fingerprint, "state": state})


def fingerprint(seed: int, config: Any, rows: Examples, module: nn.Module) -> str:
    """A digest of all that decides how a training goes."""
    digest = hashlib.sha256(f"{seed} {config}".encode())
    parts: list[Tensor | None] = [*rows.rows, *rows[1:], *module.state_dict().values()]
    for part in parts:
        if part is not None:
            digest.update(str(tuple(part.shape)).encode())
            digest.update(bytes_of(part))
    return digest.hexdigest()
