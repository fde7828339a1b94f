"""What an explanation computes only when it is asked for: columns, counterfactuals.

Shapes: B queries, K neighbors, P columns of the table, M remembered rows.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from modernnca.core.rows import Rows
from modernnca.ensemble.ensemble import Ensemble
from modernnca.ensemble.neighbors import Neighbors
from modernnca.ensemble.preparation import Preparation
from modernnca.evidence.cell_parts import N_STEPS, split_distances
from modernnca.table.raw_examples import RawExamples
from modernnca.table.read import RawTable, missing_in
from modernnca.table.schema import conform

_N_PAIRS = 4096  # pairs of rows that are split at a time
_N_BACKGROUND = 32  # remembered rows that stand for all with other targets
_N_STEPS = 8  # of the quadrature of a mean; with 32 it differs by half a percent
_N_CANDIDATES = 4096  # remembered rows of which these are chosen


class Counterfactuals(NamedTuple):
    """The nearest remembered rows that disagree with each prediction.

    Where fewer disagree, the index is -1 and the distance infinite.
    """

    indices: np.ndarray  # (B, K) row numbers of the table given to `fit`
    distances: np.ndarray  # (B, K)
    targets: np.ndarray  # (B, K)
    columns: np.ndarray  # (B, K, P) parts of the distance by column
    differs: np.ndarray  # (B, K, P) whether the cells of the column differ


@dataclass(frozen=True, eq=False)
class Explainer:
    """A fitted model and some queries."""

    ensemble: Ensemble
    preparation: Preparation
    remembered: RawExamples
    query: Rows
    queries: RawTable

    @property
    def names(self) -> list[str]:
        """The columns of the table given to `fit`."""
        schema = self.preparation.preprocessor.schema_
        return [column.name for column in schema.columns]

    @property
    def has_rows(self) -> bool:
        """Whether the raw rows are known; a file may have been saved without them."""
        return bool(self.remembered.table.columns)

    def require_rows(self, what: str) -> None:
        """Raise if the raw rows are not known."""
        if not self.has_rows:
            raise ValueError(
                f"{what} needs the raw rows, but the model was saved without them; "
                "save it with rows=True."
            )

    def raw(self, rows: np.ndarray) -> RawTable:
        """The raw cells of remembered rows (N,)."""
        schema = self.preparation.preprocessor.schema_
        return conform(self.remembered.table.take(rows), schema)

    def targets(self, rows: np.ndarray) -> np.ndarray:
        """The targets of remembered rows, of any shape."""
        values = self.ensemble.remembered.values.cpu().numpy()[rows.ravel()]
        codes = values.argmax(1) if values.shape[1] > 1 else values[:, 0]
        return self.preparation.target.decode(codes).reshape(rows.shape)

    def columns(self, rows: np.ndarray, distances: np.ndarray) -> np.ndarray:
        """The parts (B, K, P) of distances (B, K) to remembered rows, by column."""
        self.require_rows("The split of distances by column")
        return self._completed(self._parts(rows), distances)

    def _parts(self, rows: np.ndarray, n_steps: int = N_STEPS) -> np.ndarray:
        """The parts (B, K, P) of the distances to remembered rows, masked or not."""
        n_queries, n_rows = rows.shape
        known, places = np.unique(rows, return_inverse=True)
        device = self.query.device
        table = self.preparation.rows(self.remembered.table.take(known), device)
        one = torch.arange(n_queries, device=device).repeat_interleave(n_rows)
        other = torch.from_numpy(places.ravel()).to(device)
        found = []
        for some in torch.arange(len(one), device=device).split(_N_PAIRS):
            pairs = (self.query.take(one[some]), table.take(other[some]))
            numbers = rows.ravel()[some.cpu().numpy()]
            found.append(self._split(*pairs, numbers, n_steps).cpu().numpy())
        n_columns = len(self.names)
        parts = np.concatenate([np.zeros((0, n_columns)), *found])
        return parts.reshape(n_queries, n_rows, n_columns)

    def _split(
        self, one: Rows, other: Rows, numbers: np.ndarray, n_steps: int
    ) -> Tensor:
        """The parts (N, P) of the distances of pairs of rows, over all members."""
        of_column, used = self._sources()
        total: Tensor | None = None
        weight = 0.0
        members, weights = self.ensemble.members, self.ensemble.combine.weights
        for member, own in zip(members, weights, strict=True):
            if own == 0:
                continue
            found = split_distances(member, one, other, numbers, n_steps)
            if found is None:
                continue
            parts = found.parts @ of_column.to(found.parts)
            # What belongs to no cell is shared by all columns that are used.
            parts = parts + found.offsets[:, None] * (used / used.sum().clamp_min(1))
            total = own * parts if total is None else total + own * parts
            weight += own
        assert total is not None
        return total / weight

    def _sources(self) -> tuple[Tensor, Tensor]:
        """Which column each cell comes from, (F, P), and which are used, (P,)."""
        names = {name: place for place, name in enumerate(self.names)}
        sources = self.preparation.preprocessor.cell_sources()
        of_column = torch.zeros(len(sources), len(names), dtype=torch.float64)
        for cell, name in enumerate(sources):
            if name is not None:
                of_column[cell, names[name]] = 1.0
        device = self.query.device
        of_column = of_column.to(device)
        return of_column, (of_column.sum(0) > 0).to(of_column)

    def _completed(self, parts: np.ndarray, distances: np.ndarray) -> np.ndarray:
        """Spread what rounding left, and infinite distances, over the used columns."""
        used = self._sources()[1].cpu().numpy()
        far = ~np.isfinite(distances)
        missed = np.where(far, 0.0, distances) - parts.sum(2)
        size = np.abs(parts)
        size = np.where(size.sum(2, keepdims=True) > 0, size, used)
        total = size.sum(2, keepdims=True)
        parts = parts + missed[..., None] * size / np.where(total > 0, total, 1.0)
        parts[far] = np.where(used > 0, np.inf, 0.0)
        return parts

    def importances(self, found: Neighbors, shares: np.ndarray) -> np.ndarray:
        """How much each column made the neighbors near, (B, P), out of 1.

        It is how much farther rows with other targets are in a column, on average,
        than the neighbors by their shares are.
        """
        self.require_rows("The importance of columns")
        far = self._parts(self._others(found.votes), _N_STEPS).mean(1)  # (B, P)
        total = shares.sum(1, keepdims=True)
        weights = shares / np.where(total > 0, total, 1.0)
        near = (self._parts(found.rows, _N_STEPS) * weights[..., None]).sum(1)
        gained = (far - near).clip(min=0)
        total = gained.sum(1, keepdims=True)
        return gained / np.where(total > 0, total, 1.0)

    def _others(self, votes: np.ndarray) -> np.ndarray:
        """Some remembered rows (B, K) for votes (B, V), the more of them the more their
        targets differ from the vote; the same for the same vote.
        """
        values = self.ensemble.remembered.values
        step = -(-len(values) // _N_CANDIDATES)
        some = values[::step].cpu().numpy()  # (C, V)
        if some.shape[1] > 1:  # how little of the vote is for the class of the row
            differ = 1 - votes[:, some.argmax(1)]
        else:
            differ = np.abs(votes.reshape(-1, 1) - some[:, 0])
        sums = differ.clip(1e-9).cumsum(1)  # (B, C)
        shares = (np.arange(_N_BACKGROUND) + 0.5) / _N_BACKGROUND
        places = [np.searchsorted(each, shares * each[-1]) for each in sums]
        return step * np.array(places).reshape(len(votes), _N_BACKGROUND)

    def counterfactuals(self, found: Neighbors, n_neighbors: int) -> Counterfactuals:
        """The nearest rows of another class, or of a number one deviation away."""
        self.require_rows("A counterfactual")
        values = self.ensemble.remembered.values
        votes = torch.from_numpy(found.votes).to(values)

        def disagrees(some: slice, part: slice) -> Tensor:
            if values.shape[1] > 1:
                predicted = votes[some].argmax(1)
                return values[part].argmax(1) != predicted[:, None]
            # Targets are standardized.
            return (values[part, 0] - votes[some]).abs() >= 1

        n_neighbors = min(n_neighbors, len(values))
        near = self.ensemble.neighbors(
            self.query, n_neighbors, by="distance", allowed=disagrees
        )
        none = ~np.isfinite(near.distances)
        columns = self.columns(near.rows, near.distances)
        indices = np.where(none, -1, self.remembered.index[near.rows])
        differs = self._differ(near.rows) & ~none[..., None]
        return Counterfactuals(
            indices, near.distances, self.targets(near.rows), columns, differs
        )

    def _differ(self, rows: np.ndarray) -> np.ndarray:
        """Whether the raw cells of queries and remembered rows differ, (B, K, P)."""
        known, places = np.unique(rows, return_inverse=True)
        table, places = self.raw(known), places.reshape(rows.shape)
        found = np.zeros((*rows.shape, len(self.names)), dtype=bool)
        for place, name in enumerate(self.names):
            own = self.queries.columns[name][:, None]
            others = table.columns[name][places]
            missing = missing_in(own[:, 0])[:, None]
            gaps = missing_in(others.ravel()).reshape(others.shape)
            with np.errstate(invalid="ignore"):
                different = np.asarray(own != others, dtype=bool)
            found[..., place] = np.where(missing | gaps, missing != gaps, different)
        return found
