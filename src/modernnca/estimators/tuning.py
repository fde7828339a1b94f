"""Search for an estimator's options; every trial is scored on the same rows."""

import hashlib
import math
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from sklearn.base import clone
from tqdm.auto import tqdm

from modernnca._named import named
from modernnca.ensemble.run import random_state
from modernnca.errors import FitWarning
from modernnca.estimators.config import ModernNCAConfig
from modernnca.estimators.resolve import check_arguments, given_options, resolve
from modernnca.estimators.search_space import space_for
from modernnca.estimators.validation import split
from modernnca.table.metrics import METRICS, describe_score
from modernnca.table.raw_examples import RawExamples, read_examples
from modernnca.train.loop import Epoch
from modernnca.tune.ledger import Trial
from modernnca.tune.search import Report, best, search
from modernnca.tune.space import Space

Metric = str | Callable
_METRIC = {"classification": "accuracy", "regression": "rmse"}
# Trials are scored by these, so they are the same for all.
_NOT_SEARCHED = {
    "validation_fraction",
    "validation_split",
    "refit",
    "eval_metric",
    "max_validation_rows",
}


@dataclass(frozen=True)
class Search:
    """The arguments of `tune`; see there."""

    trials: int
    time_limit: float | None
    space: Space | None
    storage: Any
    metric: Metric | None
    pruner: str
    executor: Any


class Data(NamedTuple):
    """What was given to `tune`."""

    X: Any
    y: Any
    sample_weight: Any
    eval_set: Any
    groups: Any = None


@dataclass(frozen=True)
class TrialScore:
    """The score of options: fit with them, then predict the validation rows."""

    model: Any  # unfitted; its random_state is a number, so all hold out the same rows
    data: Data
    valid: RawExamples
    metric: Metric

    def __call__(self, options: dict[str, Any], report: Report) -> float:
        """Fit one model; an epoch is reported by the first network that reaches it."""
        last = 0

        def callback(epoch: Epoch) -> None:
            nonlocal last
            if epoch.epoch > last:
                last = epoch.epoch
                report(epoch.epoch, epoch.score)

        model = set_options(clone(self.model), options)
        model.callbacks = [*(self.model.callbacks or ()), callback]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FitWarning)  # the last fit tells
            _fit(model, self.data)
        if "interrupted" in model.ended_:
            raise KeyboardInterrupt  # a fit goes on without the rest, but not a search
        rows = model._encode(self.valid.table)
        if self.valid.groups is not None:
            rows = rows._replace(group=torch.from_numpy(self.valid.groups))
            rows = rows.to(rows.device)
        if not model.config_.masks_future_in("validation"):
            rows = rows.without_time()
        evaluate = model.preparation_.evaluator(self.valid, self.metric)
        return evaluate(model.ensemble_.vote(rows))[0]


def set_options(model: Any, options: dict[str, Any]) -> Any:
    """Set options by name, be they arguments of the model or of its `config`."""
    arguments = model.get_params(deep=False)
    return model.set_params(
        **{
            name if name in arguments else f"config__{name}": value
            for name, value in options.items()
        }
    )


def tune_model(
    model: Any,
    X: Any,
    y: Any,
    sample_weight: Any,
    eval_set: Any,
    asked: Search,
    groups: Any = None,
) -> None:
    """Search around the model's options, then fit it with the best ones."""
    check_arguments(model)
    if asked.time_limit is not None and not asked.time_limit > 0:
        raise ValueError(
            f"time_limit must be a number above 0 or None; got {asked.time_limit!r}."
        )
    began = time.monotonic()
    limit = math.inf if asked.time_limit is None else asked.time_limit
    seed = _seed_of(model, asked.storage)
    data = Data(X, y, sample_weight, eval_set, groups)
    subject = _subject(model, seed, max_seconds=limit / 2)
    metric = _metric_of(subject, asked.metric)
    whole, valid = _validation_rows(subject, data)
    preset, config = resolve(subject, len(whole))
    space = _space_of(subject, preset, asked.space)
    with _progress(asked.trials, limit, metric, shown=bool(model.verbose)) as on_trial:
        found = search(
            TrialScore(subject, data, valid, metric),
            space,
            trials=asked.trials,
            seed=seed,
            time_limit=asked.time_limit,
            storage=asked.storage,
            start={name: getattr(config, name) for name in space},
            pruner=asked.pruner,
            refit=True,
            belongs_to=_fingerprint(subject, config, metric, (whole, valid)),
            on_trial=on_trial,
            executor=asked.executor,
        )
    _warn_unless_scored(found.trials)
    set_options(model, found.settings)
    the_best = best(found.trials, "maximize")
    assert the_best is not None
    left = max(limit - (time.monotonic() - began), the_best.seconds)
    shorter = _least(model.time_limit, left)
    with _temporarily(model, random_state=seed, time_limit=shorter):
        _fit(model, data)
    model.best_params_, model.best_score_ = found.settings, found.score
    model.tuning_ = found.trials


def _warn_unless_scored(trials: list[Trial]) -> None:
    """Warn if the present options have no score to compare the best one with."""
    first = next((trial for trial in trials if trial.place == 0), None)
    if first is not None and first.state == "done":
        return
    reason = "its trial did not end" if first is None else first.error or first.state
    warnings.warn(
        f"The present options were not scored ({reason.rstrip('.')}), so the best "
        "options found may be worse than these.",
        stacklevel=4,
    )


def _fit(model: Any, data: Data) -> None:
    options = data._asdict()
    model.fit(options.pop("X"), options.pop("y"), **options)


def _seed_of(model: Any, storage: Any) -> int:
    """One seed for all trials, so that they hold out the same rows."""
    if isinstance(model.random_state, int | np.integer):
        return int(model.random_state)
    if storage is not None:
        raise ValueError(
            "storage needs random_state to be a whole number, or a resumed search "
            f"could not continue as it began; got {model.random_state!r}."
        )
    return int(random_state(model.random_state).randint(2**31 - 1))


def _subject(model: Any, seed: int, *, max_seconds: float) -> Any:
    """The model of the trials; what an earlier `tune` has set is open again.

    No trial takes more than half of the time, so that the best can be fitted once more.
    """
    subject = clone(model)
    earlier, given = getattr(model, "best_params_", {}), given_options(model)
    unset = {name: None for name, v in earlier.items() if given.get(name) == v}
    set_options(subject, unset)
    subject.random_state, subject.verbose = seed, False
    subject.time_limit = _least(model.time_limit, max_seconds)
    subject.checkpoint_dir = None
    subject.refit = "none"  # remembered validation rows would vote on themselves
    return subject


def _space_of(model: Any, preset: str, space: Space | None) -> Space:
    """The space given; or the preset's, without what the user has set."""
    if space is not None:
        names = set(ModernNCAConfig.names()) - _NOT_SEARCHED
        for name in space:
            named("option to search", name, dict.fromkeys(names))
        return dict(space)
    known, given = space_for(preset, model._task), given_options(model)
    left = {name: domain for name, domain in known.items() if name not in given}
    if not left:
        raise ValueError(
            f"All options that could be searched are set: {', '.join(sorted(known))}; "
            "leave some of them at None, or give a space."
        )
    return left


def _metric_of(model: Any, metric: Metric | None) -> Metric:
    """Accuracy, or RMSE in regression, unless given."""
    if metric is None:
        return _METRIC[model._task]
    if not callable(metric):
        metrics = {n: part for n, part in METRICS.items() if part.task == model._task}
        named("metric", metric, metrics)
    return metric


def _validation_rows(model: Any, data: Data) -> tuple[RawExamples, RawExamples]:
    """All rows given, and the validation rows that each fit with this seed draws."""
    X, y, sample_weight, eval_set, groups = data
    whole = read_examples(X, y, sample_weight, model.class_weight, model._task, groups)
    _, config = resolve(model, len(whole))
    rng = random_state(model.random_state)
    task, weights = model._task, model.class_weight
    _, valid = split(whole, eval_set, config, rng, task, weights)
    if valid is None:
        raise ValueError(
            "There are no validation rows to score trials on; give an eval_set, or at "
            "least 10 rows and a validation_fraction above 0."
        )
    return whole, valid


def _fingerprint(
    model: Any, config: ModernNCAConfig, metric: Metric, parts: tuple[RawExamples, ...]
) -> str:
    """A digest of all that decides the score of options."""
    names = (type(model).__name__, _name(metric), _name(config.eval_metric))
    rest = config.updated({"eval_metric": None})
    digest = hashlib.sha256(f"{names} {rest} {model.class_weight}".encode())
    for part in parts:
        digest.update(" ".join(part.table.columns).encode())
        grouped = () if part.groups is None else (part.groups,)
        cells_of = (*part.table.columns.values(), part.y, part.weights, *grouped)
        for cells in cells_of:
            array = np.asarray(cells)
            plain = array.dtype.kind != "O"
            digest.update(array.tobytes() if plain else repr(array.tolist()).encode())
    return digest.hexdigest()


def _name(metric: Metric) -> str:
    return getattr(metric, "__qualname__", str(metric))


def _least(one: float | None, other: float) -> float | None:
    least = min(math.inf if one is None else one, other)
    return None if math.isinf(least) else least


@contextmanager
def _temporarily(model: Any, **arguments: Any) -> Iterator[None]:
    """Other arguments while the block runs."""
    before = {name: getattr(model, name) for name in arguments}
    vars(model).update(arguments)
    try:
        yield
    finally:
        vars(model).update(before)


@contextmanager
def _progress(
    trials: int, limit: float, metric: Metric, *, shown: bool
) -> Iterator[Callable[[Trial], None] | None]:
    """Give a function that draws a bar of trials while the block runs, if `shown`."""
    if not shown:
        yield None
        return
    ends, best_score = time.monotonic() + limit, -math.inf
    with tqdm(total=trials, desc="tune", unit="trial", dynamic_ncols=True) as bar:

        def draw(trial: Trial) -> None:
            nonlocal best_score
            if trial.state == "done" and trial.score is not None:
                best_score = max(best_score, trial.score)
            left = max(0.0, ends - time.monotonic())
            rest = "" if math.isinf(left) else f", {left:.0f} s left"
            none = math.isinf(best_score)
            text = "none" if none else describe_score(metric, best_score)
            bar.set_postfix_str(f"best {text}{rest}", refresh=False)
            bar.update()

        yield draw
