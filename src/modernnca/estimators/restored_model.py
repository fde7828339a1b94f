"""A model that was read from a file, checked as a whole before anyone uses it.

The parts have checked themselves; here each is checked against the others. Then the
model answers a few rows: one without any value, extreme ones, and some that the file
holds. A file that passes describes a model that predicts.
"""

from typing import Any

import numpy as np

from modernnca._declared import array, flag, number, text, texts, whole
from modernnca.ensemble.baselines import ConstantMember, KNNMember
from modernnca.ensemble.embedding_member import EmbeddingMember
from modernnca.estimators.estimator import BaseModernNCA
from modernnca.table.groups import NO_GROUP
from modernnca.table.restored import probe_table
from modernnca.train.loop import Epoch

_BASELINES = (KNNMember.kind, ConstantMember.kind)
_MAX_WIDTH = 2**16  # of an embedding; one of more members is as wide as these


def check_model(model: BaseModernNCA) -> None:
    """Raise a ValueError unless the parts of a restored model fit together."""
    schema = model.preparation_.preprocessor.schema_
    names = [column.name for column in schema.columns]
    whole(model.n_features_in_, "the number of columns", *[len(names)] * 2)
    given = [*getattr(model, "feature_names_in_", [])]
    if given != (names if schema.named else []):
        raise ValueError("the names of the columns are not those of the schema.")
    if model.baseline_ is not None:
        text(model.baseline_, "baseline", _BASELINES)
    _check_width(model)
    if model.validation_score_ is not None:
        number(model.validation_score_, "validation_score")
    _check_memory(model)
    _check_rows(model, names)
    _check_history(model)
    _check_answers(model)


def _check_width(model: BaseModernNCA) -> None:
    """Raise unless the width of an embedding is one, and not beyond all memory."""
    embedding = [each for each in model.members_ if isinstance(each, EmbeddingMember)]
    own = sum(member.keys_.shape[1] for member in embedding)
    whole(model.n_features_out_, "n_features_out", 0, max(own, _MAX_WIDTH))


def _check_memory(model: BaseModernNCA) -> None:
    preparation, remembered = model.preparation_, model.ensemble_.remembered
    table, n_rows = preparation.preprocessor, len(remembered.values)
    n_columns = table.n_numbers + table.n_plain + table.n_codes
    whole(remembered.n_columns, "n_columns", *[n_columns] * 2)
    n_values = preparation.target.n_values
    values = array(remembered.values, "values", (n_rows, n_values), ["float32"])
    shares = (values >= 0).all() and ((values.sum(1) - 1).abs() < 1e-3).all()
    if model._task == "classification" and not shares:
        raise ValueError("the classes of remembered rows are no shares.")
    if remembered.time is not None and preparation.times is None:
        raise ValueError("rows have times, but there is no time column.")
    if remembered.group is not None:
        names = texts([*model.rows_.group_names], "the names of the groups")
        highest = int(remembered.group.max())
        if int(remembered.group.min()) < NO_GROUP or (names and highest >= len(names)):
            raise ValueError("rows belong to groups that are unknown.")
    for member in model.members_:
        member.check(preparation.shape, remembered)


def _check_rows(model: BaseModernNCA, names: list[str]) -> None:
    rows, n_rows = model.rows_, len(model.ensemble_.remembered.values)
    if len(rows.index) != n_rows:
        raise ValueError("its memory is not complete.")
    array(rows.index, "index", (n_rows,), ["int64"])
    if (rows.index < 0).any():
        raise ValueError("index holds negative row numbers.")
    if rows.weights is not None:
        array(rows.weights, "weights", (n_rows,), ["float64"])
        if (rows.weights < 0).any():
            raise ValueError("weights are negative.")
    flag(rows.table.named, "named")
    if rows.table.columns and [*rows.table.columns] != names:
        raise ValueError("the raw rows have other columns.")
    for name, cells in rows.table.columns.items():
        if cells.shape != (n_rows,):
            raise ValueError(f"the raw column {name!r} has the shape {cells.shape}.")


def _check_history(model: BaseModernNCA) -> None:
    best, ended = model.best_epochs_, model.ended_
    if not isinstance(best, list) or not isinstance(ended, list):
        raise ValueError("the history is not one of members.")
    if len(best) != len(ended) or not all(isinstance(each, str) for each in ended):
        raise ValueError("the history is of other members.")
    n_epochs = [0] * len(best)
    for epoch in model.history_:
        _check_epoch(epoch)
        n_epochs[whole(epoch.member, "member", 0, len(best) - 1)] += 1
    for chosen, most in zip(best, n_epochs, strict=True):
        whole(chosen, "best_epochs", 0, most)


def _check_epoch(epoch: Epoch) -> None:
    whole(epoch.epoch, "epoch", 1)
    flag(epoch.best, "best")
    for each in (epoch.train_loss, epoch.score, epoch.valid_loss, epoch.seconds):
        number(each, "a number of an epoch")


def _check_answers(model: BaseModernNCA) -> None:
    """Raise unless the model answers a few rows with finite numbers."""
    schema = model.preparation_.preprocessor.schema_
    tables = [probe_table(schema)]
    if model.rows_.table.columns:
        last = len(model.rows_.index) - 1
        tables.append(model.rows_.table.take(np.array([0, last // 2, last])))
    for table in tables:
        with np.errstate(all="ignore"):
            votes = model.ensemble_.vote(model._encode(table))
            if model._task == "classification":
                votes = model.calibration_(votes)
            else:
                votes = model.preparation_.target.decode(votes[:, 0])
        if not np.isfinite(votes).all():
            raise ValueError("its predictions are not finite.")


def check_names(tree: Any) -> None:
    """Raise unless the tree of a file has what all model files have."""
    texts([*tree], "the parts of the file")
    for name in ("version", "torch", "estimator"):
        text(tree[name], name)
