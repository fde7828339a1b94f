"""What was said about validation rows before anything was learned from them.

Members are combined and calibrated by the validation rows, so each fold of these is
predicted with what the other folds tell. These votes are honest; leave-one-out votes
of the final memory are not, for its embedding was learned with the rows.

Two folds would be too few for conformal sets. A fold of difficult rows is calibrated by
the easy ones, too boldly, and the other way round, so that true classes seem less
probable than they will be to the model, which is calibrated by all.
"""

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from modernnca._declared import array
from modernnca.ensemble.calibration import Calibration, fit_calibration
from modernnca.ensemble.combine import Combiner, fit_combiner
from modernnca.ensemble.moments import Moments, Uncertainty, spread_of

_N_FOLDS = 10


@dataclass(frozen=True)
class HeldOut:
    """Validation rows with honest votes; row h of each part is the same row."""

    index: np.ndarray  # (H,) row numbers in the table given to `fit`
    truth: np.ndarray  # (H,) codes of classes, or standardized targets
    votes: np.ndarray  # (H, V) calibrated probabilities, or standardized predictions
    neighbors: np.ndarray  # (H,) as in `Uncertainty`
    members: np.ndarray  # (H,)

    def __len__(self) -> int:
        return len(self.index)

    @property
    def spread(self) -> Uncertainty:
        """How unsure the votes were."""
        return Uncertainty(self.neighbors, self.members)

    def state(self) -> dict[str, Any]:
        """Arrays, for a file."""
        return {each.name: getattr(self, each.name) for each in fields(self)}

    @classmethod
    def from_state(cls, state: dict[str, Any], n_values: int) -> "HeldOut":
        """Rebuild it; raise unless the parts belong together."""
        n_rows = len(state["index"])
        shapes = dict.fromkeys(state, (n_rows,)) | {"votes": (n_rows, n_values)}
        for name, part in state.items():
            kind = "int64" if name == "index" else "float64"
            array(part, f"{name} of held-out rows", shapes[name], [kind])
        new = cls(**state)
        if (new.index < 0).any():
            raise ValueError("held-out rows have negative numbers.")
        if n_values > 1:
            codes = new.truth
            if (codes != codes.round()).any() or not _within(codes, 0, n_values - 1):
                raise ValueError("held-out rows are of unknown classes.")
            if not _within(new.votes, 0, 1):
                raise ValueError("probabilities of held-out rows are out of range.")
        if not _within(new.neighbors, 0) or not _within(new.members, 0):
            raise ValueError("spreads of held-out rows are negative.")
        return new


def _within(numbers: np.ndarray, low: float, high: float = np.inf) -> bool:
    return bool(((numbers >= low) & (numbers <= high)).all())


def cross_fitted_votes(
    votes: np.ndarray,
    values: np.ndarray,
    weights: np.ndarray | None = None,
    *,
    weighted: bool,
    calibrate: bool,
    n_folds: int = 2,
) -> np.ndarray:
    """Combine votes (K, B, V) for rows of values (B, V); each fold by the others.

    Args:
        weights: (B,) of the rows.
        weighted: learn how much each member counts.
        calibrate: learn a calibration of probabilities.
    """
    classes, folds = votes.shape[2] > 1, np.arange(votes.shape[1]) % n_folds
    combined = votes.mean(0)
    for fold in range(n_folds):
        own = folds == fold
        if own.all() or not own.any():
            continue
        combine, known = Combiner.mean(len(votes)), votes[:, ~own]
        if weighted:
            combine = fit_combiner(known, values[~own], classification=classes)
        combined[own] = combine(votes[:, own])
        if calibrate and classes:
            some = None if weights is None else weights[~own]
            codes = values[~own].argmax(1)
            learned = fit_calibration(combine(known), codes, some)
            combined[own] = learned(combined[own])
    return combined


def held_out_rows(
    found: Moments,
    values: np.ndarray,
    index: np.ndarray,
    combine: Combiner,
    weights: np.ndarray | None = None,
    *,
    weighted: bool,
    calibrate: bool,
) -> HeldOut:
    """The honest votes on validation rows of these values (B, V)."""
    votes = cross_fitted_votes(
        found.votes,
        values,
        weights,
        weighted=weighted,
        calibrate=calibrate,
        n_folds=_N_FOLDS,
    )
    classes = votes.shape[1] > 1
    if classes and not calibrate:
        votes = Calibration()(votes)
    if classes:
        votes = votes.clip(0, 1)
    truth = values.argmax(1).astype(np.float64) if classes else values[:, 0]
    spread = spread_of(found, combine)
    return HeldOut(index, truth.astype(np.float64), votes, *spread)
