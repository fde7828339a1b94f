"""Resolve a config: the only place where None becomes a value."""

import math
import os
import warnings
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from functools import wraps
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np

from modernnca._config import POSITIVE, Number
from modernnca._named import named
from modernnca.core.losses import LOSSES
from modernnca.core.samplers import SAMPLERS
from modernnca.estimators.config import ModernNCAConfig, as_options
from modernnca.estimators.presets import PRESETS, preset_for
from modernnca.table.metrics import METRICS
from modernnca.table.targets import Task

_METRIC: dict[Task, str] = {"classification": "accuracy", "regression": "rmse"}
_MIN_BATCH, _MAX_BATCH, _MAX_BATCH_OF_PATIENCE = 32, 256, 1024
# Steps, least and most epochs of a schedule; and the most with up to so many rows, for
# more of them learn few rows by heart (experiments/fewer_steps.md).
_SCHEDULES: dict[Task, tuple[int, int, int, int, int]] = {
    "classification": (600, 10, 40, 20, 1200),
    "regression": (1000, 14, 60, 40, 1600),
}
_EPOCHS_OF_PATIENCE = 200
_TORCH_OPTIMIZERS = ("sgd", "lbfgs")
# What the options of a time column may be without one.
_WITHOUT_TIME = {
    "time_features": "column",
    "past_only": "never",
    "validation_split": "random",
}


def known_arguments(init: Callable[..., None]) -> Callable[..., None]:
    """Wrap a constructor so that it refuses other arguments in users' words."""
    known = [*signature(init).parameters][1:]

    @wraps(init)
    def checked(self: Any, *values: Any, **arguments: Any) -> None:
        name = type(self).__name__
        if values:
            raise TypeError(f"{name} takes arguments by name, as in {known[0]}=...")
        for unknown in set(arguments) - set(known):
            close = get_close_matches(unknown, [*known, *ModernNCAConfig.names()], n=1)
            way_out = f"did you mean {close[0]!r}?" if close else f"see help({name})."
            if unknown in ModernNCAConfig.names():
                way_out = f"it is an option: config={{{unknown!r}: ...}}."
            raise TypeError(f"{name} has no argument {unknown!r}; {way_out}")
        init(self, **arguments)

    return checked


def check_arguments(model: Any) -> None:
    """Check the arguments that are not options of the config."""
    _check("time_limit", model.time_limit, POSITIVE, optional=True)
    flag = Number(0, integer=True, also=(True, False))
    _check("verbose", model.verbose, flag, optional=True)
    _check_kinds(model)
    whole = isinstance(model.random_state, int) or hasattr(
        model.random_state, "__index__"
    )
    if model.checkpoint_dir is not None and not whole:
        raise ValueError(
            "checkpoint_dir needs random_state to be a whole number, or a resumed fit "
            f"could not continue as it began; got {model.random_state!r}."
        )
    if model._task == "regression" and model.class_weight is not None:
        raise ValueError(
            "class_weight is for classification; leave it at None for regression "
            f"(got {model.class_weight!r}) or use sample_weight."
        )


def _check_kinds(model: Any) -> None:
    """Check callbacks, checkpoint_dir and class_weight."""
    callbacks, folder = model.callbacks, model.checkpoint_dir
    listed = isinstance(callbacks, list | tuple)
    if callbacks is not None and not (listed and all(map(callable, callbacks))):
        raise ValueError(
            "callbacks must be a list of functions that are called with the record of "
            f"each epoch, or None; got {callbacks!r}."
        )
    if folder is not None and not isinstance(folder, str | os.PathLike):
        raise ValueError(
            f"checkpoint_dir must be the path of a folder or None; got {folder!r}."
        )
    if folder is not None and Path(folder).exists() and not Path(folder).is_dir():
        raise ValueError(
            f"checkpoint_dir must be a folder, but {str(folder)!r} is a file; name "
            "another."
        )
    given = model.class_weight
    if given is None or (isinstance(given, str) and given == "balanced"):
        return
    weight = Number(0)
    if not isinstance(given, Mapping) or not given:
        raise ValueError(
            "class_weight must be None, 'balanced', or a dict from class to weight; "
            f"got {given!r}."
        )
    for label, value in given.items():
        if not weight.allows(value):
            raise ValueError(
                f"class_weight of {label!r} must be {weight}; got {value!r}."
            )


def import_ahead(model: Any) -> None:
    """Import what torch's own optimizers need, before the clock of a fit starts.

    Their first step imports torch's compiler, which takes seconds in a new process.
    """
    preset = PRESETS.get(str(model.preset or model._default_preset))
    optimizer = given_options(model).get("optimizer", preset and preset.optimizer)
    if optimizer in _TORCH_OPTIMIZERS:
        import_module("torch._dynamo")


def _check(name: str, value: Any, check: Any, *, optional: bool = False) -> None:
    if (optional and value is None) or check.allows(value):
        return
    raise ValueError(f"{name} must be {check}{' or None' * optional}; got {value!r}.")


def given_options(model: Any) -> dict[str, Any]:
    """The options that the user has decided, as arguments or in `config`."""
    options = as_options(model.config)
    for name, value in model.get_params(deep=False).items():
        if name not in ModernNCAConfig.names() or value is None:
            continue
        if name in options and not _same(options[name], value):
            raise ValueError(
                f"{name} is given twice: {value!r} as an argument and "
                f"{options[name]!r} in config; keep one."
            )
        options[name] = value
    return options


def _same(one: Any, other: Any) -> bool:
    """Whether two values of an option, maybe lists or arrays, are equal."""
    return one is other or bool(np.array_equal(one, other))


def resolve(model: Any, n_rows: int) -> tuple[str, ModernNCAConfig]:
    """The preset and the config of a model that learns from so many rows.

    The preset's values, overridden by those that were given; nothing is left to choose
    but the columns, which the table may tell.
    """
    task: Task = model._task
    options = given_options(model)
    preset = model.preset or model._default_preset
    config = preset_for(preset, task).updated(options)
    config.check()
    metric = config.eval_metric
    if "eval_metric" not in options:
        own = metric is not None and METRICS[str(metric)].task == task
        config = config.updated({"eval_metric": metric if own else _METRIC[task]})
    if config.batch_size is None or config.optimizer == "lbfgs":
        size = _batch_size(n_rows, config)
        config = config.updated({"batch_size": size})
    if config.max_epochs is None:
        config = config.updated({"max_epochs": _n_epochs(n_rows, config, task)})
    _check_task(config, task)
    _check_time(config, options)
    return preset, config


def _batch_size(n_rows: int, config: ModernNCAConfig) -> int:
    """A batch size that grows with the table: steps, not epochs, learn.

    L-BFGS takes all rows at once.
    """
    if config.optimizer == "lbfgs":
        return n_rows
    early = math.isfinite(config.patience)  # epochs are validated, so have fewer steps
    n_batches, most = (8, _MAX_BATCH_OF_PATIENCE) if early else (5, _MAX_BATCH)
    return min(max(n_rows // n_batches, _MIN_BATCH), most)


def _n_epochs(n_rows: int, config: ModernNCAConfig, task: Task) -> int:
    """How long to train: so many steps, but neither too few epochs nor too many."""
    if math.isfinite(config.patience):
        return _EPOCHS_OF_PATIENCE
    n_steps, least, most, few, few_rows = _SCHEDULES[task]
    share = min(max(n_rows / few_rows - 1, 0.0), 1.0)  # of the way to twice as many
    most = round(few + share * (most - few))
    n_epochs = round(n_steps * config.batch_size / max(n_rows, 1))
    return min(max(n_epochs, least), most)


def _check_task(config: ModernNCAConfig, task: Task) -> None:
    """Check what depends on the task, and on two options at once."""
    if not callable(config.eval_metric):
        metrics = {name: part for name, part in METRICS.items() if part.task == task}
        named("eval_metric", config.eval_metric, metrics)
    if task == "regression" and not config.target_bins:
        losses = {name: part for name, part in LOSSES.items() if part.regression}
        named("loss for regression", config.loss, losses)
        samplers = {n: part for n, part in SAMPLERS.items() if n != "class-wise"}
        named("sampler for regression", config.sampler, samplers)
        if config.label_smoothing:
            raise ValueError(
                "label_smoothing is for classification; leave it at 0 for regression "
                f"(got {config.label_smoothing!r})."
            )
    lengths = ("euclidean", "manhattan")
    if config.loss == "t-distribution" and config.distance not in lengths:
        raise ValueError(
            "The loss 't-distribution' needs a distance that is a length; instead of "
            f"distance={config.distance!r} choose one of: {', '.join(lengths)}."
        )


def _check_time(config: ModernNCAConfig, options: dict[str, Any]) -> None:
    """Raise if an option needs a time column that is not named."""
    if config.time_column is not None:
        return
    for name, allowed in _WITHOUT_TIME.items():
        value = options.get(name)
        default = getattr(PRESETS["default"], name)
        if value is not None and value not in (allowed, default):
            raise ValueError(
                f"{name}={value!r} needs to know when rows happened; name the "
                "time_column."
            )


def warn_if_unencoded(model: Any, config: ModernNCAConfig, *, encoded: bool) -> None:
    """Warn if an encoding was given but the table has too many columns for it."""
    usual = (None, "none", PRESETS["default"].encoding)
    if encoded or given_options(model).get("encoding") in usual:
        return
    warnings.warn(
        f"encoding={config.encoding!r} is not used: this wide table keeps more than "
        f"{config.max_encoded_features} numerical columns, which stay unencoded; raise "
        "max_encoded_features to encode them.",
        stacklevel=4,
    )
