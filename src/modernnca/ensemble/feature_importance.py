"""Feature importances: how much the vote on a row changes with each of its cells.

A cell is replaced by that of another row, and the remembered rows, but the row itself,
vote again. This needs no targets of new rows and takes some seconds at most;
permutation importance (`sklearn.inspection`) tells what a column is worth to a score,
at many times the cost.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from modernnca.core.rows import Rows
from modernnca.ensemble.ensemble import Ensemble
from modernnca.table.read import RawTable

_MAX_ROWS, _MIN_ROWS = 256, 8
_MAX_PAIRS = 2e8  # of rows and remembered rows, over all columns


def feature_importances(
    table: RawTable, encode: Callable[[RawTable], Rows], ensemble: Ensemble
) -> np.ndarray:
    """The importance of each column of the remembered rows, (P,).

    It is the mean change of the vote, summed over the classes; over all columns they
    add up to 1, or all are 0.
    """
    rng, names = np.random.RandomState(0), list(table.columns)
    n_rows = _MAX_PAIRS // (len(table) * len(names))
    n_rows = int(np.clip(n_rows, _MIN_ROWS, _MAX_ROWS))
    own = rng.permutation(len(table))[:n_rows]
    others = own[rng.permutation(len(own))]
    some = table.take(own)
    before = _votes_of_others(ensemble, encode(some), own)
    changes = np.zeros(len(names))
    for number, name in enumerate(names):
        changed = {**some.columns, name: table.columns[name][others]}
        rows = encode(replace(some, columns=changed))
        after = _votes_of_others(ensemble, rows, own)
        changes[number] = float((after - before).abs().sum(1).mean())
    return changes / changes.sum() if changes.any() else changes


def _votes_of_others(ensemble: Ensemble, query: Rows, own: np.ndarray) -> Tensor:
    """The vote (B, V) on each query of all remembered rows but one."""
    with torch.inference_mode():
        shares = ensemble.shares(query).double()
        shares[torch.arange(len(own)), torch.from_numpy(own)] = 0.0
        total = shares.sum(1, keepdim=True).clamp_min(1e-300)
        votes: Tensor = (shares / total) @ ensemble.remembered.values.double()
        return votes
