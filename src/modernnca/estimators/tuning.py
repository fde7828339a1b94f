"""Search for an estimator's settings; the same held-out rows judge every trial."""

import hashlib
import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import torch
from sklearn.base import clone
from sklearn.utils import check_random_state
from torch import Tensor
from tqdm.auto import tqdm

from modernnca._named import named
from modernnca.estimators.parts import Part
from modernnca.estimators.settings import Settings, check_value
from modernnca.estimators.spaces import space_for
from modernnca.table.metrics import METRICS, in_words
from modernnca.table.schema import RawTable
from modernnca.train.loop import Epoch
from modernnca.tune.ledger import Trial
from modernnca.tune.search import Report, best, search
from modernnca.tune.space import Space

Metric = str | Callable
_METRIC = {"classes": "accuracy", "numbers": "rmse"}
# By these trials are judged, so they are the same for all.
_NOT_SEARCHED = {
    "validation_fraction",
    "validation_rows",
    "refit",
    "stopping_metric",
    "max_judges",
}


@dataclass(frozen=True)
class Given:
    """What the user gave to learn from, and maybe to judge by."""

    X: Any
    y: Any
    sample_weight: Any = None
    eval_set: Any = None

    def teach(self, model: Any) -> None:
        """Fit a model to it."""
        model.fit(
            self.X, self.y, sample_weight=self.sample_weight, eval_set=self.eval_set
        )


@dataclass(frozen=True)
class TrialScore:
    """The score of settings: learn with them, then predict the held-out rows."""

    model: Any  # not fitted; its random_state is a number, so all hold out the same
    given: Given
    held_out: Part
    metric: Metric

    def __call__(self, settings: dict[str, Any], report: Report) -> float:
        """Train one model; the first network reports its epochs."""
        last = 0

        def tell(epoch: Epoch) -> None:
            nonlocal last
            if epoch.epoch > last:
                last = epoch.epoch
                report(epoch.epoch, epoch.score)

        model = clone(self.model).set_params(**settings)
        model.callbacks = [*self.model.callbacks, tell]
        self.given.teach(model)
        if "interrupted" in model.ended_:
            raise KeyboardInterrupt  # which a training survives, but not a search
        model.settings_ = replace(model.settings_, stopping_metric=self.metric)
        return model._judge(self.held_out)(_votes(model, self.held_out.table))[0]


def tune_model(
    model: Any,
    given: Given,
    *,
    trials: int,
    time_limit: float | None,
    space: Space | None,
    storage: Any,
    metric: Metric | None,
    pruner: str,
    executor: Any,
) -> None:
    """Search around the model's settings, then fit it with the best ones."""
    check_value("time_limit", time_limit)
    began, limit = time.monotonic(), math.inf if time_limit is None else time_limit
    seed = _seed_of(model, storage)
    subject = _subject(model, seed, most_seconds=limit / 2)
    base = subject.settings_ = subject._resolve()
    space = _space_of(subject, space)
    metric = _metric_of(subject, metric)
    parts = _parts(subject, given)
    with _progress(trials, limit, metric, shown=model.verbose > 0) as on_trial:
        found = search(
            TrialScore(subject, given, parts[1], metric),
            space,
            trials=trials,
            seed=seed,
            time_limit=time_limit,
            storage=storage,
            start={name: getattr(base, name) for name in space},
            pruner=pruner,
            refit=True,
            belongs_to=_digest(subject, metric, parts),
            on_trial=on_trial,
            executor=executor,
        )
    model.set_params(**found.settings)
    the_best = best(found.trials, "maximize")
    assert the_best is not None
    left = max(limit - (time.monotonic() - began), the_best.seconds)
    with _for_now(model, random_state=seed, time_limit=_least(model.time_limit, left)):
        given.teach(model)
    model.best_params_, model.best_score_ = found.settings, found.score
    model.tuning_ = found.trials


def _seed_of(model: Any, storage: Any) -> int:
    """One seed for all trials: so they hold out the same rows."""
    if isinstance(model.random_state, int | np.integer):
        return int(model.random_state)
    if storage is not None:
        raise ValueError(
            "storage needs random_state to be a whole number, or a resumed search "
            f"could not go on as it began; got {model.random_state!r}."
        )
    if model.random_state is None:  # and numpy's global state stays untouched
        return int(np.random.RandomState().randint(2**31 - 1))
    return int(check_random_state(model.random_state).randint(2**31 - 1))


def _subject(model: Any, seed: int, *, most_seconds: float) -> Any:
    """The model as trials take it; what an earlier `tune` has set is open again.

    No trial takes more than half of the time, so that the best can be fitted once more.
    """
    subject = clone(model)
    for name, value in getattr(model, "best_params_", {}).items():
        if getattr(model, name) == value:
            setattr(subject, name, "auto")
    subject.random_state, subject.verbose = seed, 0
    subject.time_limit = _least(model.time_limit, most_seconds)
    subject.checkpoint_dir = None
    subject.refit = None  # held-out rows that are remembered would vote for themselves
    return subject


def _space_of(model: Any, space: Space | None) -> Space:
    """The space given; or the preset's, without what the user has set."""
    params = model.get_params(deep=False)
    if space is not None:
        names = {field.name for field in fields(Settings)} & params.keys()
        for name in space:
            named("setting to search", name, dict.fromkeys(names - _NOT_SEARCHED))
        return dict(space)
    preset = model._default_preset(0) if model.preset == "auto" else model.preset
    known = space_for(preset, model._task)
    left = {name: domain for name, domain in known.items() if params[name] == "auto"}
    if not left:
        raise ValueError(
            f"All that could be searched is set: {', '.join(sorted(known))}; "
            'leave some of it at "auto", or give a space.'
        )
    return left


def _metric_of(model: Any, metric: Metric | None) -> Metric:
    """Accuracy for classes and RMSE for numbers, unless told."""
    if metric is None:
        return _METRIC[model._task]
    if not callable(metric):
        metrics = {n: part for n, part in METRICS.items() if part.task == model._task}
        named("metric", metric, metrics)
    return metric


def _parts(model: Any, given: Given) -> tuple[Part, Part]:
    """All rows given, and the held-out ones, as each fit with this seed draws them."""
    whole = model._read(given.X, given.y, given.sample_weight)
    rng = np.random.RandomState(model.random_state)
    _, held_out = model._hold_out(whole, given.eval_set, rng)
    if held_out is None:
        raise ValueError(
            "There are no rows to judge trials by; give an eval_set, or at least 10 "
            "rows and a validation_fraction above 0."
        )
    return whole, held_out


def _votes(model: Any, table: RawTable) -> Tensor:
    """The mean vote of the members, (B, V)."""
    return torch.from_numpy(model._vote(model._asking_to_judge(table)))


def _digest(model: Any, metric: Metric, parts: tuple[Part, ...]) -> str:
    """A digest of all that decides the score of settings."""
    params = model.get_params(deep=False)
    params |= dict.fromkeys(("callbacks", "time_limit", "device"))  # not these
    params |= {"stopping_metric": _word(model.settings_.stopping_metric)}
    told = f"{type(model).__name__} {_word(metric)} {sorted(params.items(), key=str)}"
    digest = hashlib.sha256(told.encode())
    for part in parts:
        digest.update(" ".join(part.table.columns).encode())
        for cells in (*part.table.columns.values(), part.y, part.weights):
            array = np.asarray(cells)
            plain = array.dtype.kind != "O"
            digest.update(array.tobytes() if plain else repr(array.tolist()).encode())
    return digest.hexdigest()


def _word(metric: Metric) -> str:
    return getattr(metric, "__qualname__", str(metric))


def _least(one: float | None, other: float) -> float | None:
    least = min(math.inf if one is None else one, other)
    return None if math.isinf(least) else least


@contextmanager
def _for_now(model: Any, **arguments: Any) -> Iterator[None]:
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
    ends, so_far = time.monotonic() + limit, -math.inf
    with tqdm(total=trials, desc="tune", unit="trial", dynamic_ncols=True) as bar:

        def draw(trial: Trial) -> None:
            nonlocal so_far
            if trial.state == "done" and trial.score is not None:
                so_far = max(so_far, trial.score)
            left = max(0.0, ends - time.monotonic())
            said = "" if math.isinf(left) else f", {left:.0f} s left"
            best = "none" if math.isinf(so_far) else in_words(metric, so_far)
            bar.set_postfix_str(f"best {best}{said}", refresh=False)
            bar.update()

        yield draw
