"""Cooling: a lower temperature for the memory than for the samples of training.

In training a batch and some sampled rows vote, in prediction all rows. Among so many
more rows the nearest are nearer, and a temperature that suits the sample averages over
too many of them. The factor is found on validation rows, for each network by itself.
"""

import math
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from modernnca.core.origin import Origin
from modernnca.core.rows import Examples
from modernnca.core.softnn import Rule, chunks
from modernnca.table.evaluation import Evaluator

_STEP, N_FACTORS = 2**-0.25, 14  # down to a tenth
_N_PAIRS = 2**22  # of validation rows and remembered rows: enough, and soon done
_MIN_QUERIES, _MAX_QUERIES = 256, 2048
_N_AT_ONCE = 2**20  # pairs in memory


def n_cooling_queries(n_rows: int) -> int:
    """How many validation rows to ask where so many rows are remembered."""
    return min(max(_N_PAIRS // max(n_rows, 1), _MIN_QUERIES), _MAX_QUERIES)


def votes_at_factors(
    query: Tensor, keys: Tensor, train: Examples, rule: Rule, origin: Origin | None
) -> list[np.ndarray]:
    """The votes (B, V) at each factor of the temperature; distances are found once.

    Args:
        query: (B, D) embedded validation rows.
        keys: (M, D) embedded rows of `train`, which vote.
        origin: of the queries; see `core.origin`.
    """
    found: list[list[Tensor]] = [[] for _ in range(N_FACTORS)]
    values = train.values.T.contiguous()  # (V, M): fast products
    own = train.rows.origin
    if own is not None and origin is not None:
        origin = origin.within_reach(own)
    for some in chunks(len(query), len(keys), _N_AT_ONCE):
        distances = rule.distance(query[some], keys)
        mask = None
        if own is not None and origin is not None:
            mask = origin.take(some).mask(own)
        for place, votes in enumerate(found):
            temperature = rule.temperature * _STEP**place
            cooled = rule._replace(temperature=temperature)
            scores = cooled.scores(distances, train.log_weights, mask)
            votes.append((values @ scores.softmax(1).T).T)
    return [torch.cat(votes).double().cpu().numpy() for votes in found]


def fit_cooling(
    votes: Sequence[np.ndarray], evaluate: Evaluator
) -> tuple[float, float]:
    """The factor of the temperature, at most 1, of the least loss; and that loss.

    Args:
        votes: the votes (B, V) for the validation rows at each factor, from 1 down; the
            search ends where the loss no longer falls.
        evaluate: their loss.

    >>> from modernnca.table.targets import RegressionTarget
    >>> target = RegressionTarget().fit([0, 1])
    >>> evaluate = Evaluator(np.array([0.0, 1]), None, target, "rmse")
    >>> votes = [np.array([[-1.0], [1.0]]) * (1.5 - _STEP**i) for i in range(8)]
    >>> factor, loss = fit_cooling(votes, evaluate)
    >>> round(factor, 2), round(loss, 2)
    (0.5, 0.0)
    """
    best, loss = 0, evaluate.loss(votes[0])
    for place, cooler in enumerate(votes[1:], start=1):
        new = evaluate.loss(cooler)
        if not new < loss:
            break
        best, loss = place, new
    return float(_STEP**best), float(loss)


def rescaled_cooling(factor: float, n_rows: int, n_before: int, n_now: int) -> float:
    """The factor for a network that was trained with more voters than before.

    Where rows lie in d dimensions, distances to the nearest of n rows go with n^(-1/d),
    so the logarithm of the factor is proportional to that of `n_rows` / n.

    >>> round(rescaled_cooling(0.25, 10_000, n_before=100, n_now=1_000), 2)
    0.5
    """
    if n_before >= n_rows or n_now >= n_rows:
        return 1.0 if n_now >= n_rows else factor
    return float(factor ** (math.log(n_rows / n_now) / math.log(n_rows / n_before)))
