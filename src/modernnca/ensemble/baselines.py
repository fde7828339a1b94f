"""Baselines as members: plain k-NN on the columns themselves, and a constant."""

from typing import Self

import numpy as np
import torch
from torch import Tensor

from modernnca._declared import whole
from modernnca.core.distances import euclidean
from modernnca.core.network import InputShape
from modernnca.core.rows import Examples, Rows
from modernnca.core.softnn import Rule
from modernnca.ensemble.embedding_member import EmbeddingMember
from modernnca.ensemble.member import Member, Remembered, State, unvalidated
from modernnca.ensemble.run import Run
from modernnca.train.loop import History

_MAX_NUMBERS = 50_000_000  # that k-NN remembers; with more it is not tried


class KNNMember(EmbeddingMember):
    """The nearest rows vote equally; rows are numbers beside one-hot categories."""

    kind = "knn"

    def __init__(self, n_neighbors: int = 5) -> None:
        self.n_neighbors = n_neighbors

    def fit(self, train: Examples, valid: Examples | None, run: Run) -> History:
        """Learn nothing but the width of a row."""
        self.shape_ = run.shape
        self.n_neighbors_ = min(self.n_neighbors, train.n_rows)
        return unvalidated()

    def embed(self, rows: Rows) -> Tensor:
        """Numbers, plain columns and one-hot categories side by side: (N, width)."""
        onehot = rows.numbers.new_zeros(rows.n_rows, self.shape_.n_levels + 1)
        onehot.scatter_(1, rows.codes, 1.0)  # the last is the unknown level
        return torch.cat([rows.numbers, rows.plain, onehot[:, :-1]], 1)

    def rule(self) -> Rule:
        """Hard k-NN."""
        return Rule(euclidean, n_neighbors=self.n_neighbors_)

    def embedding_state(self) -> State:
        """The shape of a row."""
        return {"shape": list(self.shape_), "n_neighbors": self.n_neighbors_}

    @classmethod
    def from_embedding_state(
        cls, state: State, remembered: Remembered, device: torch.device
    ) -> Self:
        """Rebuild it from the shape of a row."""
        new = cls(whole(state["n_neighbors"], "n_neighbors", 1, len(remembered.values)))
        new.n_neighbors_, new.shape_ = new.n_neighbors, InputShape(*state["shape"])
        return new

    def check(self, shape: InputShape, remembered: Remembered) -> None:
        """Raise unless it compares rows of this shape."""
        if self.shape_ != shape or self.keys_.shape[1] != shape.width:
            raise ValueError(f"k-NN is for rows of {self.shape_}.")


class ConstantMember(EmbeddingMember):
    """All rows vote equally: the mean, or the frequencies of the classes."""

    kind = "constant"

    def fit(self, train: Examples, valid: Examples | None, run: Run) -> History:
        """Learn nothing."""
        return unvalidated()

    def embed(self, rows: Rows) -> Tensor:
        """All rows at the same point: (N, 1)."""
        return torch.zeros(rows.n_rows, 1, device=rows.device)

    def rule(self) -> Rule:
        """Any rule does, as all distances are zero."""
        return Rule(euclidean)

    def embedding_state(self) -> State:
        """Nothing."""
        return {}

    @classmethod
    def from_embedding_state(
        cls, state: State, remembered: Remembered, device: torch.device
    ) -> Self:
        """Rebuild it from nothing."""
        return cls()

    def check(self, shape: InputShape, remembered: Remembered) -> None:
        """Raise unless all rows are at the same point."""
        if self.keys_.shape[1] != 1 or self.keys_.any():
            raise ValueError("the rows of a constant are not at the same point.")


def default_baselines(shape: InputShape, n_rows: int) -> list[Member]:
    """The members that an ensemble must not be worse than."""
    if n_rows * shape.width > _MAX_NUMBERS:
        return [ConstantMember()]
    return [KNNMember(), ConstantMember()]


def gain_in_errors(
    votes: np.ndarray,
    others: np.ndarray,
    values: np.ndarray,
    weights: np.ndarray | None = None,
) -> float:
    """How much closer votes (B, V) are to values than others, in standard errors.

    Of a few rows one more or less is right by chance; a baseline that is better so is
    not better on others.

    >>> truth, alike = np.zeros((4, 1)), np.ones((4, 1))
    >>> gain_in_errors(np.array([[0.0], [0.0], [0.0], [2**0.5]]), alike, truth)
    1.15...
    """
    if not np.isfinite(others).all():
        return np.inf
    gains = np.square(others - values).sum(1) - np.square(votes - values).sum(1)
    mean = np.average(gains, weights=weights)
    error = np.sqrt(np.average(np.square(gains - mean), weights=weights) / len(gains))
    return float(mean / error) if error else float(np.sign(mean)) * np.inf
