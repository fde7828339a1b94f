"""Save and load fitted models, with the versions that wrote the file."""

import os
from dataclasses import asdict
from typing import Any

import numpy as np
import torch

from modernnca._version import __version__
from modernnca.core.learner import Labeled
from modernnca.core.leaves import Leaves, LeavesShape
from modernnca.core.net import Embedding, Net, NetShape
from modernnca.core.rows import Rows
from modernnca.errors import ModelFileError
from modernnca.estimators.answering import Member
from modernnca.estimators.base import BaseModernNCA
from modernnca.estimators.calibrate import Calibration
from modernnca.estimators.classifier import ModernNCAClassifier
from modernnca.estimators.device import choose_device
from modernnca.estimators.family import (
    LNCAClassifier,
    LNCARegressor,
    NCAClassifier,
    TabConClassifier,
    TabConRegressor,
)
from modernnca.estimators.files import read_tree, with_arrays, write_tree
from modernnca.estimators.parts import Part
from modernnca.estimators.regressor import ModernNCARegressor
from modernnca.estimators.settings import Settings
from modernnca.table.clock import Clock
from modernnca.table.encoder import TableEncoder
from modernnca.table.schema import RawTable
from modernnca.table.screen import Screened
from modernnca.train.loop import Epoch

# Raised when an older reader could not make sense of a file.
FORMAT = 3

# The only classes that a file may name.
ESTIMATORS: dict[str, type[BaseModernNCA]] = {
    estimator.__name__: estimator
    for estimator in (
        ModernNCAClassifier,
        ModernNCARegressor,
        LNCAClassifier,
        LNCARegressor,
        NCAClassifier,
        TabConClassifier,
        TabConRegressor,
    )
}


def save_model(model: BaseModernNCA, path: str | os.PathLike, *, rows: bool) -> None:
    """Write a fitted model to one file."""
    write_tree(path, _state(model, rows=rows))


def load(path: str | os.PathLike, *, device: str = "auto") -> Any:
    """Read a model that `save` wrote. No code from the file is run.

    >>> import tempfile, modernnca
    >>> model = modernnca.ModernNCARegressor(max_epochs=1, random_state=0)
    >>> model = model.fit([[0], [1], [2]], [0.0, 1.0, 2.0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(f"{folder}/small.mnca")
    ...     again = modernnca.load(f"{folder}/small.mnca")
    >>> bool((again.predict([[1]]) == model.predict([[1]])).all())
    True
    """
    tree = read_tree(path)
    if not isinstance(tree, dict) or not isinstance(tree.get("format"), int):
        raise ModelFileError(f"{str(path)!r} holds no model of modernnca.")
    if tree["format"] > FORMAT:
        raise ModelFileError(
            f"{str(path)!r} was written by modernnca {tree.get('version')}, in a newer "
            f"format than this modernnca {__version__} can read; update modernnca."
        )
    try:
        return _restore(tree, device)
    except (LookupError, TypeError, ValueError, RuntimeError, AttributeError) as error:
        raise ModelFileError(
            f"{str(path)!r} does not describe a model: {error}"
        ) from error


def _state(model: BaseModernNCA, *, rows: bool) -> dict[str, Any]:
    """All that was learned, as a tree of plain values and arrays."""
    part = model.remembered_
    return {
        "format": FORMAT,
        "version": __version__,
        "torch": torch.__version__,
        "estimator": type(model).__name__,
        "params": _plain_params(model),
        "settings": {**asdict(model.settings_), "stopping_metric": _metric_name(model)},
        "columns": {
            "n": model.n_features_in_,
            "names": getattr(model, "feature_names_in_", np.array([])).tolist(),
        },
        "table": model.table_.state(),
        "target": model.target_.state(),
        "member_weights": model.member_weights_,
        "reach": model.reach_ if np.isfinite(model.reach_) else None,
        "members": [_member_state(member) for member in model.members_],
        "values": model.members_[0].memory.values,
        "weights": part.weights,
        "origin": part.origin,
        "rows": _rows_state(part.table) if rows and part.table.columns else None,
        "history": [list(epoch) for epoch in model.history_],
        "best_epochs": model.best_epochs_,
        "ended": model.ended_,
        "fallback": model.fallback_,
        "wide": None if model.wide_ is None else model.wide_.state(),
        "calibration": asdict(model.calibration_),
        "clock": None if model.clock_ is None else asdict(model.clock_),
        "moments": model.members_[0].memory.moments,
    }


def _has_second_turn(tree: dict[str, Any]) -> bool:
    return tree["settings"]["variety"] == "mixed" and len(tree["members"]) > 4


def _restore(tree: dict[str, Any], device: str) -> BaseModernNCA:
    """The reverse of `_state`."""
    if tree["format"] == 1 and _has_second_turn(tree):
        raise ValueError(
            "its members after the fourth are of kinds that are no more; fit it again"
        )
    model = ESTIMATORS[tree["estimator"]](**tree["params"])
    model._device = choose_device(device)
    settings = tree["settings"]
    model.settings_ = Settings(**settings)
    model.n_features_in_ = tree["columns"]["n"]
    if tree["columns"]["names"]:
        model.feature_names_in_ = np.array(tree["columns"]["names"], dtype=object)
    model.table_ = TableEncoder.from_state(with_arrays(tree["table"]))
    clock = tree.get("clock")
    model.clock_ = None if clock is None else Clock(**with_arrays(clock))
    model.target_ = model._target_type.from_state(tree["target"])
    weights = tree["weights"]
    model.remembered_ = Part(
        _rows_restored(tree["rows"]),
        np.empty(0),
        None if weights is None else weights.numpy(),
        tree["origin"].numpy(),
    )
    nothing = torch.empty(0)
    labeled = Labeled(
        Rows(nothing, nothing, nothing),
        tree["values"],
        nothing,
        None if weights is None else weights.float(),
        tree.get("moments"),
    ).to(model._device)
    model.members_ = []
    if not tree["members"] or len(model.remembered_.origin) != len(labeled.values):
        raise ValueError("its memory is not whole.")
    table = model.table_
    n_columns = table.n_numbers + table.n_plain + table.n_codes
    for member in tree["members"]:
        net = _net_restored(member, n_columns).to(model._device)
        keys = member["keys"].to(model._device)
        if keys.shape != (len(labeled.values), net.shape.dim):
            raise ValueError(f"the remembered rows have the shape {tuple(keys.shape)}.")
        model.members_.append(model._member(net, keys, labeled))
    n_members = len(model.members_)
    model.member_weights_ = tree.get("member_weights", [1 / n_members] * n_members)
    if len(model.member_weights_) != n_members:
        raise ValueError("its members and their weights are not equally many.")
    reach = tree.get("reach")
    model.reach_ = np.inf if reach is None else float(reach)
    model.history_ = [Epoch(*epoch) for epoch in tree["history"]]
    model.best_epochs_, model.ended_ = tree["best_epochs"], tree["ended"]
    model.fallback_ = tree.get("fallback")
    wide = tree.get("wide")
    model.wide_ = None if wide is None else Screened.from_state(wide)
    model.calibration_ = Calibration(**tree.get("calibration", {}))
    return model


def _member_state(member: Member) -> dict[str, Any]:
    return {
        "kind": "leaves" if isinstance(member.net, Leaves) else "net",
        "shape": asdict(member.net.shape),
        "weights": member.net.state_dict(),
        "keys": member.memory.keys,
    }


def _net_restored(member: dict[str, Any], n_columns: int) -> Embedding:
    """A net with the weights in the file; it takes no memory that the file lacks."""
    net: Embedding
    with torch.device("meta"):
        if member.get("kind") == "leaves":
            net = Leaves(LeavesShape(**member["shape"]))
        else:
            net = Net(NetShape(**member["shape"]))
    net.load_state_dict(member["weights"], assign=True)
    if isinstance(net, Leaves):
        net.check(n_columns)
    return net.eval().requires_grad_(False)


def _plain_params(model: BaseModernNCA) -> dict[str, Any]:
    """The arguments, but for those that are code or a state of a generator."""
    kept = {}
    for name, value in model.get_params(deep=False).items():
        if name == "callbacks" or callable(value):
            continue
        if name == "random_state" and not isinstance(value, int | np.integer | None):
            continue
        if name in ("checkpoint_dir",):
            continue
        kept[name] = value
    return kept


def _metric_name(model: BaseModernNCA) -> str:
    metric = model.settings_.stopping_metric
    return "function" if callable(metric) else str(metric)


def _rows_state(table: RawTable) -> dict[str, Any]:
    """Raw columns as arrays; of text, and of what is alike, each value once."""
    columns: dict[str, dict[str, Any]] = {}
    for name, cells in table.columns.items():
        if cells.dtype.kind == "M":
            columns[name] = {"dates": cells.astype("int64")}
        elif cells.dtype.kind == "O":
            codes: dict[Any, int] = {}
            places = [codes.setdefault(cell, len(codes)) for cell in cells.tolist()]
            columns[name] = {"levels": [*codes], "codes": np.array(places, np.int32)}
        else:
            columns[name] = {"numbers": cells}
    return {"named": table.named, "columns": columns}


def _rows_restored(state: dict[str, Any] | None) -> RawTable:
    if state is None:
        return RawTable({}, named=False)
    columns = {}
    for name, held in state["columns"].items():
        if "dates" in held:
            columns[name] = held["dates"].numpy().astype("datetime64[us]")
        elif "levels" in held:
            levels = np.array([*held["levels"], None], dtype=object)  # never of text
            columns[name] = levels[held["codes"].numpy()]
        else:
            columns[name] = held["numbers"].numpy()
    return RawTable(columns, state["named"])
