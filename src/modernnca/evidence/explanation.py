"""Explanations: the remembered rows behind predictions."""

from typing import NamedTuple

import numpy as np


class Explanation(NamedTuple):
    """The remembered rows behind predictions; one line for each query."""

    indices: np.ndarray  # (B, K) row numbers of the table given to `fit`
    shares: np.ndarray  # (B, K) of the vote that made the prediction
    distances: np.ndarray  # (B, K) as `kneighbors` gives them
    rest: np.ndarray  # (B,) the share of all other rows
