"""Rows unlike the training rows: even the nearest of these are far, in the columns.

The learned distance is no measure of this: it was learned with the remembered rows,
which lie nearer to each other than new rows do. The columns themselves were not.
"""

import numpy as np
import torch
from torch import Tensor

from modernnca.core.network import InputShape
from modernnca.core.rows import Rows
from modernnca.core.softnn import chunks

_N_NEAREST = 5  # whose mean distance counts
_MAX_NUMBERS = 20_000_000  # of the rows that are compared with
_N_KNOWN = 2048  # rows whose own distances are known
_N_PAIRS = 2**22  # held at a time


def p_values(remembered: Rows, queries: Rows, shape: InputShape) -> np.ndarray:
    """The share of remembered rows that are as far from the nearest others, (B,).

    Args:
        remembered: M encoded rows. If they are many, some are compared.
        queries: B encoded rows.
        shape: of an encoded row.
    """
    n_compared = max(_MAX_NUMBERS // max(shape.width, 1), _N_KNOWN)
    compared = remembered.take(_spaced(remembered.n_rows, n_compared))
    keys = _side_by_side(compared, shape)
    own = _spaced(len(keys), _N_KNOWN)
    typical = _mean_distances(keys[own], keys, own).sort().values
    found = _mean_distances(_side_by_side(queries, shape), keys)
    # Rounding must not tell equal rows apart.
    n_nearer = torch.searchsorted(typical, found * (1 - 1e-5) - 1e-6)
    p_values: np.ndarray = (1 + len(own) - n_nearer.cpu().numpy()) / (1 + len(own))
    return p_values


def _spaced(n_rows: int, most: int) -> Tensor:
    """At most so many row numbers, evenly spaced."""
    return torch.linspace(0, n_rows - 1, min(n_rows, most)).round().long()


def _side_by_side(rows: Rows, shape: InputShape) -> Tensor:
    """Numbers, plain columns and one-hot categories: (N, width).

    Categories that differ are as far apart as numbers of one standard deviation.
    """
    onehot = rows.numbers.new_zeros(rows.n_rows, shape.n_levels + 1)
    onehot.scatter_(1, rows.codes, 0.5**0.5)  # the last is the unknown level
    return torch.cat([rows.numbers, rows.plain, onehot[:, :-1]], 1)


def _mean_distances(query: Tensor, keys: Tensor, own: Tensor | None = None) -> Tensor:
    """The mean distance (B,) to the nearest keys, but the key `own` (B,)."""
    parts = []
    n_others = len(keys) - (own is not None)
    for some in chunks(len(query), len(keys), _N_PAIRS):
        distances = torch.cdist(query[some], keys)
        if own is not None:
            distances.scatter_(1, own[some, None].to(keys.device), torch.inf)
        nearest = distances.topk(min(_N_NEAREST, n_others), largest=False).values
        parts.append(nearest.mean(1))
    return torch.cat(parts)
