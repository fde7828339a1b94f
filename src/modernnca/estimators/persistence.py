"""Save and load fitted models, with the versions that wrote the file."""

import os
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch

from modernnca._declared import array, text
from modernnca._tree_file import Key, read_tree, with_arrays, write_tree
from modernnca._version import __version__
from modernnca.ensemble.calibration import Calibration
from modernnca.ensemble.ensemble import Ensemble
from modernnca.ensemble.fit_report import FitReport
from modernnca.ensemble.held_out import HeldOut
from modernnca.ensemble.preparation import Preparation
from modernnca.errors import ModelFileError
from modernnca.estimators.classifier import ModernNCAClassifier
from modernnca.estimators.config import ModernNCAConfig, as_options
from modernnca.estimators.device import choose_device
from modernnca.estimators.estimator import BaseModernNCA
from modernnca.estimators.family import (
    LNCAClassifier,
    LNCARegressor,
    NCAClassifier,
    TabConClassifier,
    TabConRegressor,
)
from modernnca.estimators.presets import PRESETS
from modernnca.estimators.regressor import ModernNCARegressor
from modernnca.estimators.resolve import check_arguments
from modernnca.estimators.restored_model import check_model, check_names
from modernnca.table.raw_examples import RawExamples
from modernnca.table.schema import RawTable
from modernnca.train.loop import Epoch

FORMAT = 1  # of the file; raised when an older reader could not read a newer file

# The only estimators that a file may name.
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
# Arguments that are code, or belong to the machine that fitted the model.
_UNSAVED = ("callbacks", "checkpoint_dir", "members", "device", "config")


def save_model(
    model: BaseModernNCA, path: str | os.PathLike, *, rows: bool, key: Key | None
) -> None:
    """Write a fitted model to one file."""
    write_tree(path, _state(model, rows=rows), key=key)


def load(
    path: str | os.PathLike, *, device: str | None = None, key: Key | None = None
) -> Any:
    """Read a model that `save` wrote. No code from the file is run.

    What the file declares is checked before anything is built from it, so a damaged
    file raises `ModelFileError`. That a file is the one that you saved, and not one
    that somebody else made, can only a `key` tell: with it, the file must be signed
    with the same key by `save`. See docs/threats.md.

    A model with members of your own needs their classes to be imported first.

    >>> import tempfile, modernnca
    >>> model = modernnca.ModernNCARegressor(max_epochs=1, random_state=0)
    >>> model = model.fit([[0], [1], [2]], [0.0, 1.0, 2.0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(f"{folder}/small.mnca")
    ...     again = modernnca.load(f"{folder}/small.mnca")
    >>> bool((again.predict([[1]]) == model.predict([[1]])).all())
    True
    """
    chosen = choose_device(device)
    tree = read_tree(path, key=key)
    if not isinstance(tree.get("format"), int):
        raise ModelFileError(f"{str(path)!r} holds no model of modernnca.")
    if tree["format"] != FORMAT:
        raise ModelFileError(
            f"{str(path)!r} was written by modernnca {tree.get('version')}, in another "
            f"format than this modernnca {__version__} reads; update modernnca."
        )
    try:
        return _restore(tree, chosen)
    except Exception as error:  # what a file declares may be anything
        raise ModelFileError(
            f"{str(path)!r} does not describe a model: {error}"
        ) from error


def to_bytes(model: BaseModernNCA) -> bytes:
    """The content of the file of a fitted model."""
    with TemporaryDirectory() as folder:
        save_model(model, path := Path(folder) / "model", rows=True, key=None)
        return path.read_bytes()


def from_bytes(content: bytes) -> Any:
    """The model in a file of this content."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        path.write_bytes(content)
        return load(path)


def _state(model: BaseModernNCA, *, rows: bool) -> dict[str, Any]:
    """All that was learned, as a tree of plain values and arrays."""
    remembered, config = model.rows_, model.config_
    if callable(config.eval_metric):
        config = config.updated({"eval_metric": None})
    return {
        "format": FORMAT,
        "version": __version__,
        "torch": torch.__version__,
        "estimator": type(model).__name__,
        "params": _plain_params(model),
        "preset": model.preset_,
        "config": _plain(config.given()),
        "columns": {
            "n": model.n_features_in_,
            "names": getattr(model, "feature_names_in_", np.array([])).tolist(),
        },
        "preparation": model.preparation_.state(),
        "ensemble": model.ensemble_.state(),
        "calibration": vars(model.calibration_),
        "baseline": model.baseline_,
        "index": remembered.index,
        "weights": remembered.weights,
        "rows": _rows_state(remembered.table) if rows else None,
        "group_names": [*remembered.group_names] if rows else [],
        "history": [list(epoch) for epoch in model.history_],
        "best_epochs": model.best_epochs_,
        "ended": model.ended_,
        "n_features_out": model.n_features_out_,
        "validation_score": model.validation_score_,
        "report": model.fit_report_.state(),
        "held_out": None if model.held_out_ is None else model.held_out_.state(),
    }


def _restore(tree: dict[str, Any], device: torch.device) -> BaseModernNCA:
    """The reverse of `_state`."""
    check_names(tree)
    model = ESTIMATORS[tree["estimator"]](**tree["params"])
    check_arguments(model)
    model.preset_ = text(tree["preset"], "preset", PRESETS)
    model.config_ = ModernNCAConfig(**tree["config"])
    model.config_.check()
    model.n_features_in_ = tree["columns"]["n"]
    if tree["columns"]["names"]:
        model.feature_names_in_ = np.array(tree["columns"]["names"], dtype=object)
    preparation = with_arrays(tree["preparation"])
    model.preparation_ = Preparation.from_state(preparation, model._task)
    model.ensemble_ = Ensemble.from_state(tree["ensemble"], device)
    model.calibration_ = Calibration(**tree["calibration"])
    model.baseline_ = tree["baseline"]
    index, weights = with_arrays(tree["index"]), with_arrays(tree["weights"])
    table = _rows_restored(tree["rows"])
    model.rows_ = RawExamples(table, np.empty(0), weights, index)
    group = model.ensemble_.remembered.group
    if group is not None:
        numbers, names = group.cpu().numpy(), tuple(tree["group_names"])
        model.rows_ = replace(model.rows_, groups=numbers, group_names=names)
    model.history_ = [Epoch(*epoch) for epoch in tree["history"]]
    model.best_epochs_, model.ended_ = tree["best_epochs"], tree["ended"]
    # Files of earlier versions do not have these.
    widths = [member.keys_.shape[1] for member in model._embedding_members()]
    model.n_features_out_ = tree.get("n_features_out", sum(widths))
    model.validation_score_ = tree.get("validation_score")
    unknown = FitReport(0.0, None, "unknown", len(index), len(model.members_))
    told = tree.get("report")
    model.fit_report_ = unknown if told is None else FitReport.from_state(told)
    held_out = with_arrays(tree.get("held_out"))
    n_values = model.preparation_.target.n_values
    model.held_out_ = (
        None if held_out is None else HeldOut.from_state(held_out, n_values)
    )
    check_model(model)
    return model


def _plain_params(model: BaseModernNCA) -> dict[str, Any]:
    """The arguments, but for those that are code or the state of a generator."""
    params = model.get_params(deep=False)
    kept = {n: v for n, v in params.items() if n not in _UNSAVED and not callable(v)}
    if not isinstance(kept["random_state"], int | np.integer | None):
        del kept["random_state"]
    options = {n: v for n, v in as_options(model.config).items() if not callable(v)}
    return {**_plain(kept), "config": _plain(options) or None}


def _plain(values: dict[str, Any]) -> dict[str, Any]:
    return {
        name: [*value] if isinstance(value, tuple | np.ndarray) else value
        for name, value in values.items()
    }


def _rows_state(table: RawTable) -> dict[str, Any]:
    """Raw columns as arrays; of text each distinct value once, and codes."""
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
            dates = array(held["dates"], name, (None,), ["int64"])
            columns[name] = dates.numpy().astype("datetime64[us]")
        elif "levels" in held:
            levels = np.empty(len(held["levels"]) + 1, dtype=object)  # never of text
            levels[:-1] = held["levels"]
            codes = array(held["codes"], name, (None,), ["int32"])
            if ((codes < 0) | (codes >= len(levels) - 1)).any():
                raise ValueError(f"the raw column {name!r} has unknown levels.")
            columns[name] = levels[codes.numpy()]
        else:
            columns[name] = held["numbers"].numpy()
            if columns[name].dtype != np.float64:
                raise ValueError(f"the raw column {name!r} holds no float64.")
    return RawTable(columns, state["named"])
