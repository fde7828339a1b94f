"""Votes on remembered rows by models that did not learn from them: a cross-fit.

Shapes: M remembered rows, V numbers in a vote.
"""

import warnings
from typing import Any

import numpy as np
from sklearn.base import clone

from modernnca.ensemble.ensemble import Ensemble
from modernnca.ensemble.preparation import Preparation
from modernnca.evidence.frames import import_pandas
from modernnca.evidence.leave_one_out import votes_without_self
from modernnca.table.raw_examples import RawExamples
from modernnca.table.schema import RawTable
from modernnca.table.targets import RegressionTarget


def cross_votes(model: Any, votes: np.ndarray, n_folds: int) -> np.ndarray:
    """The vote on each remembered row in the distance of a model fitted without it.

    A model of the preset "fast" is fitted to each part of the rows but one, and then
    remembers all rows; each row of the part is voted on by all others. Its label counts
    for the votes on others, but nothing was learned from it.

    Args:
        model: the fitted model.
        votes: (M, V) stand for rows that are the only one of their class.
        n_folds: how many parts.
    """
    codes, found = _strata(model), votes.copy()
    parts = np.empty(len(codes), dtype=np.int64)
    shuffled = np.random.RandomState(0).permutation(len(codes))
    for code in np.unique(codes):
        own = shuffled[codes[shuffled] == code]
        parts[own] = np.arange(len(own)) % n_folds
    y = _targets(model)
    frame = _frame(model.rows_.table, model.preparation_)
    for part in range(n_folds):
        train, held_out = np.flatnonzero(parts != part), np.flatnonzero(parts == part)
        known = np.isin(codes, codes[train])
        fitted = _fit(model, frame.iloc[train], y[train])
        rows = RawExamples(model.rows_.table, y, model.rows_.weights, codes).take(
            np.flatnonzero(known)
        )
        device = model.ensemble_.remembered.values.device
        encoded = fitted.preparation_.part(rows, device).encoded
        combine = fitted.ensemble_.combine
        ensemble = Ensemble.remembering(fitted.members_, combine, encoded)
        place = np.cumsum(known) - 1
        asked = held_out[known[held_out]]
        own_votes = votes_without_self(ensemble, place[asked])
        found[asked] = _in_units_of(model, fitted, own_votes)
    return found


def _strata(model: Any) -> np.ndarray:
    """The classes, of which each part has its share; of numbers all are alike."""
    values = model.ensemble_.remembered.values.cpu().numpy()
    strata: np.ndarray = values.argmax(1)
    return strata


def _targets(model: Any) -> np.ndarray:
    values = model.ensemble_.remembered.values.double().cpu().numpy()
    target = model.preparation_.target
    if isinstance(target, RegressionTarget):
        return target.decode(values[:, 0])
    return np.asarray(target.decode(values.argmax(1)))


def _frame(table: RawTable, preparation: Preparation) -> Any:
    """The raw rows as a frame that is read as the table given to `fit` was."""
    pd = import_pandas("n_folds")
    columns: dict[Any, Any] = dict(table.columns)
    for name in preparation.preprocessor.schema_.names("category"):
        if columns[name].dtype.kind == "O" and table.named:
            columns[name] = pd.Categorical(columns[name])
    frame = pd.DataFrame(columns)
    if not table.named:
        frame.columns = range(frame.shape[1])
    return frame


def _fit(model: Any, frame: Any, y: np.ndarray) -> Any:
    fresh = clone(model).set_params(
        preset="fast", random_state=0, verbose=False, checkpoint_dir=None
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the first fit has told
        return fresh.fit(frame, y)


def _in_units_of(model: Any, fitted: Any, votes: np.ndarray) -> np.ndarray:
    """Votes of another model in the units, or the classes, of this one."""
    target, other = model.preparation_.target, fitted.preparation_.target
    if isinstance(target, RegressionTarget):
        return target.encode(other.decode(votes[:, 0]))[:, None]
    whole = np.zeros((len(votes), target.n_values))
    whole[:, target.encode(other.classes_)] = votes
    return whole
