"""Leave-one-out votes from further away, and how much the voters differ.

A network may have learned a wrong label by heart: it has moved the row among rows of
that label, and its nearest neighbors confirm it. Rows somewhat farther away do not.
Which distance is best differs from table to table; the mean of both is near the better.

Shapes: M remembered rows, V numbers in a vote.
"""

import numpy as np
import torch
from torch import Tensor

from modernnca.ensemble.embedding_member import EmbeddingMember
from modernnca.ensemble.ensemble import Ensemble
from modernnca.memory.exact_memory import ExactMemory

_WIDER = 8.0  # times the temperature
_N_ROWS = 8192  # asked at a time


def wide_votes(ensemble: Ensemble) -> np.ndarray:
    """The vote (M, V) of all other rows on each, at 8 times the temperature (or k)."""
    return _votes(ensemble, ensemble.remembered.values, _WIDER)


def spread_of_voters(ensemble: Ensemble) -> np.ndarray:
    """The standard deviation (M,) of the targets that vote on each row, by shares."""
    values = ensemble.remembered.values
    mean = _votes(ensemble, values, 1.0)[:, 0]
    squares = _votes(ensemble, values.square(), 1.0)[:, 0]
    spread: np.ndarray = np.sqrt((squares - mean**2).clip(min=0))
    return spread


def _votes(ensemble: Ensemble, values: Tensor, wider: float) -> np.ndarray:
    """Votes for some values (M, V), by the weights of the members that embed rows."""
    weighted = zip(ensemble.members, ensemble.combine.weights, strict=True)
    members = [(m, w) for m, w in weighted if isinstance(m, EmbeddingMember) and w > 0]
    total, found = sum(weight for _, weight in members), np.zeros(tuple(values.shape))
    remembered = ensemble.remembered
    log_weights = None if remembered.weights is None else remembered.weights.log()
    every = torch.arange(len(values), device=values.device)
    for member, weight in members:
        rule = member.rule()
        rule = rule._replace(temperature=rule.temperature * wider)
        if rule.n_neighbors is not None:  # hard k-NN, whatever the temperature
            n_wider = min(int(rule.n_neighbors * wider), len(values) - 1)
            rule = rule._replace(n_neighbors=n_wider)
        memory = ExactMemory(
            member.keys_,
            values,
            rule,
            log_weights=log_weights,
            origin=remembered.origin,
        )
        with torch.inference_mode():
            parts = [memory.leave_one_out(rows).mean for rows in every.split(_N_ROWS)]
        votes = torch.cat(parts).double().cpu().numpy()
        found += votes * (weight / total)
    return found
