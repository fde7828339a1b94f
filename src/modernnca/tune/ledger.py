"""The trials of one search: handed out one at a time and recorded as they end.

Each trial has a number (`place`), 0 to n - 1. Its settings follow from the seed, its
place and the trials that ended before it. With a storage folder, the ledger outlives
its process and can be shared: each process holds a lock while it is alive, so the
trials of a dead process are found at once and handed out again.
"""

import uuid
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple
from urllib.parse import quote

import numpy as np

from modernnca._declared import finite, whole
from modernnca._named import named
from modernnca.errors import MissingExtraError, StoreError
from modernnca.tune.journal import Journal
from modernnca.tune.space import Space, draw

_MAX_DEATHS = 2  # after so many dead processes, a trial counts as failed
_WARM_UP_STEPS = 10  # no trial is pruned before this step

State = Literal["done", "pruned", "failed"]


class Trial(NamedTuple):
    """A trial that has ended: its settings and its result."""

    place: int
    settings: dict[str, Any]
    score: float | None  # of a "pruned" trial, the last score that it reported
    state: State
    error: str | None  # why it "failed"
    seconds: float


class TrialHandle(NamedTuple):
    """A trial that this process has claimed and is about to run."""

    settings: dict[str, Any]
    optuna_trial: Any


@dataclass(frozen=True)
class SearchSpec:
    """The definition of a search: all that a process needs to join it."""

    space: Space
    seed: int = 0
    direction: str = "maximize"
    start: dict[str, Any] | None = None  # settings of the first trial
    pruner: str = "median"
    fingerprint: str = ""  # identifies the data and the objective
    storage: Path | None = None
    name: str = "study"

    def __post_init__(self) -> None:
        named("direction", self.direction, dict.fromkeys(("maximize", "minimize")))
        named("pruner", self.pruner, PRUNERS)
        if not self.space:
            raise ValueError(
                "The search space is empty; give it at least one setting to search."
            )
        missing = [
            name for name in self.space if name not in (self.start or self.space)
        ]
        if missing:
            raise ValueError(
                f"The start settings lack {', '.join(missing)}; give a value for each "
                "name of the space, or omit start."
            )

    @property
    def signature(self) -> str:
        """A text that differs between searches whose trials must not be mixed."""
        parts = (self.space, self.seed, self.direction, self.start, self.fingerprint)
        return repr(parts)

    def file(self, ending: str) -> Path:
        """Return the path of a file of this search in the storage folder."""
        assert self.storage is not None
        return Path(self.storage) / f"{quote(self.name, safe=' ')}.{ending}"


def _median(optuna: Any) -> Any:
    """Prune trials below the median of all trials at the same step."""
    return optuna.pruners.MedianPruner(
        n_startup_trials=5, n_warmup_steps=_WARM_UP_STEPS
    )


def _halving(optuna: Any) -> Any:
    """Keep the best quarter of the trials at each rung."""
    return optuna.pruners.SuccessiveHalvingPruner(
        min_resource=_WARM_UP_STEPS, reduction_factor=4
    )


def _none(optuna: Any) -> Any:
    return optuna.pruners.NopPruner()


PRUNERS: dict[str, Callable[[Any], Any]] = {
    "median": _median,
    "halving": _halving,
    "none": _none,
}


@dataclass
class Ledger:
    """The trials of one search; use it as a context manager.

    >>> from modernnca.tune.space import Float
    >>> with Ledger(SearchSpec({"x": Float(0, 1)}, start={"x": 0.5})) as ledger:
    ...     handle = ledger.claim(n_trials=1)
    ...     ledger.end(handle, score=handle.settings["x"])
    ...     ledger.claim(n_trials=1), ledger.trials()[0][:4]
    (None, (0, {'x': 0.5}, 0.5, 'done'))
    """

    spec: SearchSpec
    _worker: str = field(default_factory=lambda: uuid.uuid4().hex)

    def __enter__(self) -> "Ledger":
        self._optuna = _import_optuna()
        self._verbosity = self._optuna.logging.get_verbosity()
        self._optuna.logging.set_verbosity(self._optuna.logging.ERROR)
        self._lock: AbstractContextManager[Any] = nullcontext()
        self._worker_lock: Any = None  # held while this process is alive
        try:
            self._open()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        if self._worker_lock is not None:
            self._worker_lock.release()
            Path(self._worker_lock.lock_file).unlink(missing_ok=True)
        self._optuna.logging.set_verbosity(self._verbosity)

    def claim(self, n_trials: int) -> TrialHandle | None:
        """Claim the first of `n_trials` places that is free; None if all are taken."""
        spec, states = self.spec, self._optuna.trial.TrialState
        with self._reading():
            with self._lock:
                self._fail_dead_trials()
                taken = {*self._final_trials()}
                running = self._trials(states.RUNNING)
                taken |= {trial.user_attrs.get("place") for trial in running}
                place = next((p for p in range(n_trials) if p not in taken), None)
                if place is None:
                    return None
                starts = place == 0 and spec.start is not None
                if starts and not self._trials(states.WAITING):
                    self._study.enqueue_trial(self._start_params())
                self._study.sampler = self._sampler(place)
                trial = self._study.ask()
                trial.set_user_attr("worker", self._worker)
                trial.set_user_attr("place", place)
            if not starts:
                return TrialHandle(draw(spec.space, trial), trial)
            assert spec.start is not None
            # The sampler does not see start settings outside the space; they are run.
            draw(self._start_space(), trial)
            return TrialHandle(dict(spec.start), trial)

    def report(self, handle: TrialHandle, step: int, score: float) -> bool:
        """Record an intermediate score; return whether to prune the trial."""
        handle.optuna_trial.report(float(score), step)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # numpy, if all are NaN
            return bool(handle.optuna_trial.should_prune())

    def end(
        self, handle: TrialHandle, score: float | None = None, error: str = ""
    ) -> None:
        """Record the end of a trial: with a score, with an error, or pruned."""
        states = self._optuna.trial.TrialState
        if score is not None:
            self._study.tell(handle.optuna_trial, score)
        elif error:
            handle.optuna_trial.set_user_attr("error", error)
            self._study.tell(handle.optuna_trial, state=states.FAIL)
        else:
            self._study.tell(handle.optuna_trial, state=states.PRUNED)

    def release(self, handle: TrialHandle) -> None:
        """Give back a trial that did not run to its end, to be claimed again."""
        handle.optuna_trial.set_user_attr("left", True)
        self._study.tell(handle.optuna_trial, state=self._optuna.trial.TrialState.FAIL)

    def trials(self) -> list[Trial]:
        """Return the trials that have ended, by place."""
        with self._reading():
            with self._lock:
                self._fail_dead_trials()
            final = self._final_trials()
            return [self._to_trial(place, final[place]) for place in sorted(final)]

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """Say which file is damaged if what Optuna reads from it is nonsense."""
        try:
            yield
        except (StoreError, OSError):
            raise
        except Exception as error:  # a damaged journal may raise anything
            if self.spec.storage is None:
                raise
            raise ValueError(
                f"The search in {str(self.spec.file('journal'))!r} cannot be read "
                f"({error}); move that file away to start over."
            ) from error

    def _open(self) -> None:
        optuna, spec = self._optuna, self.spec
        with self._reading():
            storage = (
                optuna.storages.InMemoryStorage()
                if spec.storage is None
                else self._open_folder()
            )
            with self._lock:
                self._study = optuna.create_study(
                    storage=storage,
                    study_name=spec.name,
                    direction=spec.direction,
                    pruner=PRUNERS[spec.pruner](optuna),
                    load_if_exists=True,
                )
                signature = self._study.user_attrs.get("signature")
                if signature is None:
                    self._study.set_user_attr("signature", spec.signature)
        if signature not in (None, spec.signature):
            raise ValueError(
                f"The folder {str(spec.storage)!r} holds another search (different "
                "data, settings, space or seed); empty it or choose another folder."
            )

    def _open_folder(self) -> Any:
        """Open the journal of the search and take this process's lock."""
        from filelock import FileLock

        spec = self.spec
        folder, path = Path(spec.storage or ""), spec.file("journal")
        if folder.exists() and not folder.is_dir():
            raise NotADirectoryError(f"{str(folder)!r} is a file; name a folder.")
        folder.mkdir(parents=True, exist_ok=True)
        lock = FileLock(spec.file("lock"))
        self._worker_lock = FileLock(spec.file(self._worker))
        self._worker_lock.acquire()
        # The lock is reentrant, so claims and the journal can share it.
        self._lock = lock
        return self._optuna.storages.JournalStorage(Journal(path, lock))

    def _sampler(self, place: int) -> Any:
        """Return a TPE sampler that models the settings jointly.

        PAPER: TALENT models each setting by itself (Optuna's default at the time).
        """
        seed = np.random.SeedSequence([self.spec.seed, place]).generate_state(1)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Optuna 4 calls these two experimental
            return self._optuna.samplers.TPESampler(
                seed=int(seed[0]), multivariate=True, constant_liar=True
            )

    def _start_space(self) -> Space:
        """Return the domains that contain their start value."""
        start = self.spec.start or {}
        space = self.spec.space.items()
        return {n: d for n, d in space if n in start and d.holds(start[n])}

    def _start_params(self) -> dict[str, Any]:
        """Return the start settings as parameters of an Optuna trial."""
        start = self.spec.start or {}
        params: dict[str, Any] = {}
        for name, domain in self._start_space().items():
            params |= domain.to_params(name, start[name])
        return params

    def _trials(self, *states: Any) -> list[Any]:
        return self._study.get_trials(deepcopy=False, states=states)

    def _fail_dead_trials(self) -> None:
        """Mark the trials of dead processes as failed; requires the lock."""
        states = self._optuna.trial.TrialState
        for trial in self._trials(states.RUNNING):
            if not self._is_alive(trial.user_attrs.get("worker")):
                with suppress(ValueError, RuntimeError):  # it has ended meanwhile
                    self._study.tell(trial.number, state=states.FAIL)

    def _is_alive(self, worker: str | None) -> bool:
        """Return whether a process still holds its lock."""
        if worker == self._worker:
            return True
        if worker is None or self.spec.storage is None:
            return False  # it died inside `claim`
        from filelock import FileLock, Timeout

        path = self.spec.file(worker)
        try:
            with FileLock(path, timeout=0):
                path.unlink(missing_ok=True)
        except Timeout:
            return True
        return False

    def _final_trials(self) -> dict[int, Any]:
        """Return, by place, each trial that will not be run again."""
        states = self._optuna.trial.TrialState
        final: dict[int, Any] = {}
        lost: dict[int, list[Any]] = {}
        for trial in self._trials(states.COMPLETE, states.PRUNED, states.FAIL):
            place = trial.user_attrs.get("place")
            if place is None and trial.state == states.FAIL:
                continue  # it died inside `claim`
            whole(place, "the place of a trial")
            if trial.state != states.FAIL or "error" in trial.user_attrs:
                final.setdefault(place, trial)
            elif "left" not in trial.user_attrs:
                lost.setdefault(place, []).append(trial)
        dead = {p: died[-1] for p, died in lost.items() if len(died) >= _MAX_DEATHS}
        return {**dead, **final}

    def _to_trial(self, place: int, trial: Any) -> Trial:
        states = self._optuna.trial.TrialState
        names: dict[Any, State] = {states.COMPLETE: "done", states.PRUNED: "pruned"}
        state, error = names.get(trial.state, "failed"), trial.user_attrs.get("error")
        if state == "failed" and error is None:
            error = f"The process running this trial died {_MAX_DEATHS} times."
        seconds = trial.duration.total_seconds() if trial.duration else 0.0
        score = None if trial.value is None else finite(trial.value, "the score")
        if state == "done" and score is None:
            raise ValueError(f"trial {place} has no score")
        settings = self._settings_of(place, trial, ended=state != "failed")
        return Trial(place, settings, score, state, error, seconds)

    def _settings_of(self, place: int, trial: Any, *, ended: bool) -> dict[str, Any]:
        """The settings of a trial; none if it died before all of them were drawn."""
        if place == 0 and self.spec.start is not None:
            return dict(self.spec.start)
        fixed = self._optuna.trial.FixedTrial(trial.params)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")  # a value beyond its domain
                settings = draw(self.spec.space, fixed)
        except Exception as error:
            if ended:
                raise ValueError(
                    f"trial {place} has other settings: {error}"
                ) from error
            return {}
        return settings


def _import_optuna() -> Any:
    try:
        import optuna
        import optuna.storages.journal
    except ImportError as error:
        raise MissingExtraError(
            'Tuning needs Optuna: pip install "modernnca[tune]"'
        ) from error
    return optuna
