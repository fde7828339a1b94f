"""A training under way, kept on disk so that an interrupted fit can go on."""

import hashlib
import os
from pathlib import Path
from typing import Any

from modernnca.core.learner import Labeled
from modernnca.estimators.files import bytes_of, read_tree, write_tree
from modernnca.estimators.settings import Settings


class Checkpoint:
    """One file in a folder, written after each epoch, read when `fit` starts again.

    The file remembers the settings, the seed and a digest of the rows it belongs to:
    another fit in the same folder is refused rather than mixed up.
    """

    def __init__(self, folder: str | os.PathLike, name: str) -> None:
        self.path = Path(folder) / f"{name}.checkpoint"
        self._belongs_to = ""

    def read(
        self, seed: int, fit: Labeled, settings: Settings
    ) -> dict[str, Any] | None:
        """The state of an earlier run of the same fit; None if there was none."""
        self._belongs_to = _fingerprint(seed, fit, settings)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        if not self.path.exists():
            return None
        tree = read_tree(self.path)
        if tree["belongs_to"] != self._belongs_to:
            raise ValueError(
                f"The folder {str(self.path.parent)!r} holds a checkpoint of another "
                "fit (other rows, settings or random_state); empty it or name another."
            )
        state: dict[str, Any] = tree["state"]
        return state

    def write(self, state: dict[str, Any]) -> None:
        """Replace the file by this state."""
        write_tree(self.path, {"belongs_to": self._belongs_to, "state": state})


def _fingerprint(seed: int, fit: Labeled, settings: Settings) -> str:
    """A digest of all that decides what the training will do."""
    digest = hashlib.sha256(f"{seed} {settings}".encode())
    for part in (*fit.rows, fit.values, fit.labels, fit.weights, fit.moments):
        if part is not None:
            digest.update(str(tuple(part.shape)).encode())
            digest.update(bytes_of(part))
    return digest.hexdigest()
