"""Influence: how much each remembered row counts in the votes on the others.

Shapes: M remembered rows, B queries, V numbers in a vote.
"""

from typing import NamedTuple

import numpy as np
import torch

from modernnca.core.rows import Rows
from modernnca.core.softnn import chunks
from modernnca.ensemble.ensemble import Ensemble

_N_PAIRS = 2**22  # (query, row) pairs that are held at a time
_MAX_PAIRS = 4e8  # in all; of more remembered rows a sample is asked
UNUSED = 1e-3  # a row with a smaller part of an equal share is never used


class Influence(NamedTuple):
    """What each remembered row did in the leave-one-out votes on others; each (M,)."""

    share: np.ndarray  # of all votes, in units of an equal share
    support: np.ndarray  # of its votes, the share that went to rows of its own target
    n_queries: int  # rows that were voted on


def influence(ensemble: Ensemble, rows: Rows, *, classification: bool) -> Influence:
    """The share of all leave-one-out votes that each remembered row has.

    `rows` are the remembered rows. With support, a vote counts as far as it was for
    the right class; in regression, as far as both targets are on the same side of the
    mean, which is 1 / 2 by chance.
    """
    n_rows = rows.n_rows
    n_queries = int(min(n_rows, max(200, _MAX_PAIRS // n_rows)))
    asked = np.random.RandomState(0).permutation(n_rows)[:n_queries]
    asked.sort()
    values = ensemble.remembered.values
    if not classification:
        above = (values[:, :1] > 0).to(values)
        values = torch.cat([above, 1 - above], dim=1)
    shares = torch.zeros(n_rows, dtype=torch.float64)
    support = torch.zeros(n_rows, dtype=torch.float64)
    for some in chunks(n_queries, n_rows * len(ensemble.members), _N_PAIRS):
        own = torch.from_numpy(asked[some]).to(values.device)
        given = _shares(ensemble, rows.take(own))
        given[torch.arange(len(own)), own] = 0  # nobody votes on itself
        given = given / given.sum(1, keepdim=True).clamp_min(1e-12)
        shares += given.sum(0).double().cpu()
        agreed = given.T @ values[own]  # (M, V)
        support += (agreed * values).sum(1).double().cpu()
    share = shares.numpy() / n_queries * n_rows
    part = support.numpy() / np.maximum(shares.numpy(), 1e-300)
    return Influence(share, np.where(share > 0, part, np.nan), n_queries)


def _shares(ensemble: Ensemble, query: Rows) -> torch.Tensor:
    with torch.inference_mode():
        found = ensemble.shares(query)
    return found.clone()
