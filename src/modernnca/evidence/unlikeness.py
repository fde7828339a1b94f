"""Rows unlike the training rows: few remembered rows are near, even the nearest."""

import numpy as np

from modernnca.ensemble.held_out import HeldOut


def p_values(held_out: HeldOut, log_mass: np.ndarray) -> np.ndarray:
    """The share of held-out rows with as little weight around them, (B,).

    The mass is the mean weight of all remembered rows, in which near ones dominate.

    >>> rows = HeldOut(*[np.zeros(4)] * 5, log_mass=np.array([1.0, 2, 3, 4]))
    >>> p_values(rows, np.array([0.0, 2.5, 9.0]))
    array([0.2, 0.6, 1. ])
    """
    known = np.sort(held_out.log_mass)
    n_lower = np.searchsorted(known, log_mass, side="right")
    return (1 + n_lower) / (1 + len(known))
