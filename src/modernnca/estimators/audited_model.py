"""What an audit and a map need of a fitted model, and of another table."""

from typing import Any

import numpy as np

from modernnca.ensemble.preparation import values_of
from modernnca.estimators.cross_votes import cross_votes
from modernnca.evidence.audit_result import Audit
from modernnca.evidence.auditing import Audited, OtherTable, run_audit
from modernnca.evidence.frames import import_pandas
from modernnca.evidence.leave_one_out import votes_without_self
from modernnca.evidence.map_view import Map
from modernnca.evidence.mapping import Mapped, make_map
from modernnca.evidence.wide_votes import spread_of_voters, wide_votes
from modernnca.table.read import RawTable
from modernnca.table.schema import conform, read_table
from modernnca.table.targets import read_numbers, read_target


def audit_model(model: Any, X: Any, y: Any, n_folds: int = 0) -> Audit:
    """Audit the remembered rows of a model, and another table."""
    model._check_fitted()
    import_pandas("audit")
    if X is None and y is not None:
        raise ValueError("y was given without X; give the rows of y as X, too.")
    n_rows = len(model.rows_.index)
    if n_folds != 0 and not (isinstance(n_folds, int) and 2 <= n_folds <= n_rows):
        raise ValueError(
            f"n_folds must be 0, or between 2 and the number of remembered rows, "
            f"{n_rows}; got {n_folds!r}."
        )
    if not model.rows_.table.columns:
        raise ValueError(
            "audit needs the raw rows, but the model was saved without them; save it "
            "with save(path, rows=True), or audit it before it is saved."
        )
    other = None if X is None else _other_table(model, X, y)
    votes, spread = leave_one_out_votes(model), None
    if model._task == "classification":
        votes = (votes + wide_votes(model.ensemble_)) / 2
    else:
        spread = spread_of_voters(model.ensemble_)
    if n_folds:
        votes = (votes + cross_votes(model, votes, n_folds)) / 2
    audited = Audited(
        model.ensemble_,
        model.preparation_,
        model.rows_.table,
        model._encode(model.rows_.table),
        model.rows_.index,
        votes,
        spread,
    )
    return run_audit(audited, other)


def map_model(model: Any, X: Any, color: str) -> Map:
    """A map of the remembered rows of a model, and of new ones."""
    model._check_fitted()
    mapped = Mapped(
        model.ensemble_,
        model.preparation_,
        model.rows_.table if model.rows_.table.columns else None,
        model.rows_.index,
        lambda: leave_one_out_votes(model),
        model._encode,
        None if X is None else _checked(model, X),
    )
    return make_map(mapped, color)


def _checked(model: Any, X: Any) -> RawTable:
    model._read_queries(X)  # raises, and warns, as prediction does
    return read_as_in_fit(model, X)


def leave_one_out_votes(model: Any) -> np.ndarray:
    """The vote of all other rows on each remembered row, (M, V)."""
    return votes_without_self(model.ensemble_)


def _other_table(model: Any, X: Any, y: Any) -> OtherTable:
    rows, table = model._read_queries(X), read_as_in_fit(model, X)
    values = None
    if y is not None:
        targets, _ = read_numbers(read_target(y), model.rows_.reading)
        if len(targets) != len(table):
            raise ValueError(
                f"X has {len(table):,} rows, but y has {len(targets):,} targets; give "
                "one for each row."
            )
        values = values_of(model.preparation_.target, targets)
    return OtherTable(table, rows, values, None)


def read_as_in_fit(model: Any, X: Any) -> RawTable:
    """The training columns of a table."""
    names = getattr(model, "feature_names_in_", None)
    table = read_table(X, only=None if names is None else set(names))
    return conform(table, model.preparation_.preprocessor.schema_)
