"""A training under way, kept on disk so that an interrupted fit can resume."""

import hashlib
import warnings
from pathlib import Path
from typing import Any

from torch import Tensor, nn

from modernnca._tree_file import bytes_of, read_tree, write_tree
from modernnca.core.rows import Examples
from modernnca.errors import ModelFileError


class Checkpoint:
    """One file in a folder, written after each epoch, read when `fit` starts again.

    The file belongs to one training, by its fingerprint: a digest of the config, the
    seed, the rows, and the weights it began with. It is signed with the fingerprint, so
    that nobody without these rows can write one that is resumed from.
    """

    def __init__(self, folder: Path, name: str, fingerprint: str) -> None:
        self.path = folder / f"{name}.checkpoint"
        self.fingerprint = fingerprint
        self._told = False  # that it cannot be written

    def read(self, *, required: bool) -> dict[str, Any] | None:
        """The state of an earlier run of the same training; None if there is none.

        That of another training is refused if `required` to match, else ignored.
        """
        self.path.parent.mkdir(parents=True, exist_ok=True)
        if not self.path.exists():
            return None
        try:
            if read_tree(self.path).get("belongs_to") == self._belongs_to:
                tree = read_tree(self.path, key=self.fingerprint)
                state: dict[str, Any] = tree["state"]
                return state
        except ModelFileError as error:
            raise ModelFileError(
                f"The checkpoint {str(self.path)!r} is damaged; "
                "delete it to start over."
            ) from error
        if not required:
            return None
        raise ValueError(
            f"The folder {str(self.path.parent)!r} holds a checkpoint of another fit "
            "(other rows, options or random_state); empty it or name another."
        )

    def write(self, state: dict[str, Any]) -> None:
        """Replace the file by this state; if there is no room, warn and go on."""
        tree = {"belongs_to": self._belongs_to, "state": state}
        try:
            write_tree(self.path, tree, key=self.fingerprint)
        except OSError as error:
            if self._told:
                return
            self._told = True
            warnings.warn(
                f"The checkpoint {str(self.path)!r} cannot be written "
                f"({error.strerror or error}); the fit goes on, but if it is "
                "interrupted, it resumes from the last one that was written.",
                stacklevel=2,
            )

    @property
    def _belongs_to(self) -> str:
        """A digest of the fingerprint, which itself is the key."""
        return hashlib.sha256(self.fingerprint.encode()).hexdigest()


def fingerprint(seed: int, config: Any, rows: Examples, module: nn.Module) -> str:
    """A digest of all that decides how a training goes."""
    digest = hashlib.sha256(f"{seed} {config}".encode())
    parts: list[Tensor | None] = [*rows.rows, *rows[1:], *module.state_dict().values()]
    for part in parts:
        if part is not None:
            digest.update(str(tuple(part.shape)).encode())
            digest.update(bytes_of(part))
    return digest.hexdigest()
