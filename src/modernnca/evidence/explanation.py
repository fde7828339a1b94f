"""Explanations: the remembered rows behind predictions, and the columns behind these.

Shapes: B queries, K neighbors, P columns of the table given to `fit`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from modernnca.core.rows import Rows
from modernnca.ensemble.neighbors import Neighbors
from modernnca.evidence.explainer import Counterfactuals, Explainer

N_COUNTERFACTUALS = 3


@dataclass(frozen=True, eq=False)
class Explanation:
    """The remembered rows behind predictions; one line for each query.

    It unpacks as `indices, shares, distances, rest`. What takes longer is computed when
    it is asked for first: `columns`, `importances` and `counterfactuals`.
    """

    indices: np.ndarray  # (B, K) row numbers of the table given to `fit`
    shares: np.ndarray  # (B, K) of the vote that made the prediction
    distances: np.ndarray  # (B, K) as `kneighbors` gives them
    rest: np.ndarray  # (B,) the share of all other rows
    n_effective: np.ndarray  # (B,) so many rows of equal shares would say as much
    prediction: np.ndarray  # (B,) the class, or the number
    targets: np.ndarray  # (B, K) of the neighbors
    _explainer: Explainer = field(repr=False)
    _found: Neighbors = field(repr=False)

    def __iter__(self) -> Iterator[np.ndarray]:
        return iter((self.indices, self.shares, self.distances, self.rest))

    def __len__(self) -> int:
        return len(self.indices)

    @property
    def column_names(self) -> list[str]:
        """The P columns."""
        return self._explainer.names

    @property
    def has_rows(self) -> bool:
        """Whether raw rows are known; a file may have been saved without them."""
        return self._explainer.has_rows

    @cached_property
    def columns(self) -> np.ndarray:
        """The part of each column in each distance, (B, K, P).

        Over the columns the parts add up to the distance. Columns that are not used
        have none. Where a distance is a product ("cosine", "dot"), a row has a distance
        to itself; it is shared equally by the columns in use.
        """
        return self._explainer.columns(self._found.rows, self.distances)

    @cached_property
    def importances(self) -> np.ndarray:
        """How much each column made the neighbors near, (B, P), out of 1.

        By how much the neighbors, by their shares, are nearer in a column than rows
        with other targets are.
        """
        return self._explainer.importances(self._found, self.shares)

    @property
    def mean_importances(self) -> np.ndarray:
        """The mean of `importances` over the queries, (P,): those of the model."""
        n_columns = len(self.column_names)
        return self.importances.mean(0) if len(self) else np.zeros(n_columns)

    @cached_property
    def counterfactuals(self) -> Counterfactuals:
        """The three nearest remembered rows that disagree with each prediction.

        These are rows of another class, or with a target at least a standard deviation
        of all targets away from the prediction.
        """
        return self._explainer.counterfactuals(self._found, N_COUNTERFACTUALS)

    @property
    def queries(self) -> dict[str, np.ndarray]:
        """The raw cells of the queries, (B,) for each column."""
        return dict(self._explainer.queries.columns)

    def values(self, indices: np.ndarray) -> dict[str, np.ndarray]:
        """The raw cells of remembered rows, by their numbers; of any shape."""
        self._explainer.require_rows("The table of neighbors")
        known = self._explainer.remembered.index
        order = np.argsort(known, kind="stable")
        place = np.searchsorted(known[order], indices.ravel())
        place = order[np.clip(place, 0, len(order) - 1)]
        unknown = known[place] != indices.ravel()
        if unknown.any():
            number = indices.ravel()[unknown][0]
            raise ValueError(
                f"There is no remembered row {number}; the rows are numbered from "
                f"{known.min()} to {known.max()}."
            )
        raw = self._explainer.raw(place).columns
        return {name: cells.reshape(indices.shape) for name, cells in raw.items()}

    def to_frame(self) -> Any:
        """A pandas frame with a line for each query and neighbor, with raw values."""
        from modernnca.evidence.explanation_frame import frame_of

        return frame_of(self)

    def plot(self, query: int = 0, *, ax: Any = None) -> Any:
        """Draw the neighbors of one query: their shares, targets and near columns."""
        from modernnca.evidence.explanation_plot import plot_query

        return plot_query(self, query, ax=ax)

    def to_html(self, *, n_queries: int = 10, rows: Sequence[int] | None = None) -> str:
        """A self-contained HTML page of the first queries.

        `rows` are their numbers in a larger table; None: as they were given.
        """
        from modernnca.evidence.explanation_page import page_of

        return page_of(self, n_queries, rows)

    def _repr_html_(self) -> str:
        from modernnca.evidence.explanation_page import section_of

        return section_of(self, n_queries=3)


def explain(explainer: Explainer, n_neighbors: int) -> Explanation:
    """Explain the predictions of some queries by so many remembered rows."""
    query: Rows = explainer.query
    found = explainer.ensemble.neighbors(query, n_neighbors, by="share")
    votes = found.votes
    codes = votes.argmax(1) if votes.shape[1] > 1 else votes[:, 0]
    return Explanation(
        indices=explainer.remembered.index[found.rows],
        shares=found.shares,
        distances=found.distances,
        rest=(1 - found.shares.sum(1)).clip(0),
        n_effective=found.n_effective,
        prediction=explainer.preparation.target.decode(codes),
        targets=explainer.targets(found.rows),
        _explainer=explainer,
        _found=found,
    )
