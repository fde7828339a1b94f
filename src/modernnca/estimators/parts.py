"""Parts of what was given to fit: rows with their targets, weights and origin."""

from dataclasses import dataclass, replace

import numpy as np

from modernnca.table.schema import RawTable, Schema, conform


@dataclass(frozen=True)
class Part:
    """Some rows of a table, with all that belongs to them."""

    table: RawTable
    y: np.ndarray  # (N,) as the user gave it
    weights: np.ndarray | None  # (N,)
    origin: np.ndarray  # (N,) where the rows stood in the table given to `fit`

    def __len__(self) -> int:
        return len(self.y)

    def take(self, rows: np.ndarray) -> "Part":
        """These rows alone."""
        weights = None if self.weights is None else self.weights[rows]
        table = self.table.take(rows)
        return Part(table, self.y[rows], weights, self.origin[rows])


def join(first: Part, second: Part, schema: Schema) -> Part:
    """The rows of `first`, then those of `second`, as `schema` understands them."""
    one, two = conform(first.table, schema), conform(second.table, schema)
    columns = {
        name: np.concatenate([cells, two.columns[name]])
        for name, cells in one.columns.items()
    }
    weights = None
    if first.weights is not None and second.weights is not None:
        weights = np.concatenate([first.weights, second.weights])
    return Part(
        replace(one, columns=columns),
        np.concatenate([first.y, second.y]),
        weights,
        np.concatenate([first.origin, second.origin]),
    )
