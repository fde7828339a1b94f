"""Feature importances: how far a row moves in the embedding with each of its cells.

A cell is replaced by that of another row, and the row is embedded again. Where it lies
decides its neighbors, and so its prediction: a column that does not move rows does not
matter. This needs no targets and takes about a second; permutation importance
(`sklearn.inspection`) tells what a column is worth to a score, at many times the cost.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import torch

from modernnca.core.rows import Rows
from modernnca.ensemble.embedding_member import EmbeddingMember
from modernnca.table.read import RawTable

_MAX_ROWS, _MIN_ROWS = 256, 16
_MAX_EMBEDDED = 20_000  # rows, over all columns


def feature_importances(
    table: RawTable,
    encode: Callable[[RawTable], Rows],
    members: Sequence[EmbeddingMember],
    weights: Sequence[float],
) -> np.ndarray:
    """The importance of each column, (P,); together 1, or all 0.

    Distances are those of each member, as shares of its sum over the columns.
    """
    rng, names = np.random.RandomState(0), list(table.columns)
    n_rows = np.clip(_MAX_EMBEDDED // len(names), _MIN_ROWS, _MAX_ROWS)
    chosen = np.sort(rng.permutation(len(table))[:n_rows])
    some = table.take(chosen)
    places = [member.embed(encode(some)) for member in members]
    moved = np.zeros((len(names), len(members)))
    for number, name in enumerate(names):
        cells = table.columns[name][rng.permutation(len(table))[: len(some)]]
        rows = encode(replace(some, columns={**some.columns, name: cells}))
        for place, member in enumerate(members):
            distance = torch.linalg.vector_norm(
                member.embed(rows) - places[place], dim=1
            )
            moved[number, place] = float(distance.mean())
    total = moved.sum(0)
    shares = moved / np.where(total > 0, total, 1) @ np.array(weights)
    return shares / shares.sum() if shares.any() else shares
