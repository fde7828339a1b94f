"""Hyperparameter search: run trials in a space until one of the limits is reached."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from modernnca.errors import StoreError
from modernnca.execute.executor import Executor
from modernnca.tune.ledger import Ledger, SearchSpec, Trial, TrialHandle
from modernnca.tune.space import Space

Report = Callable[[int, float], None]
Objective = Callable[[dict[str, Any], Report], float]


class SearchResult(NamedTuple):
    """The best settings, their score and all trials."""

    settings: dict[str, Any]
    score: float
    trials: list[Trial]
    ended: str  # "trials", "time_limit", "on_trial" or "interrupted"


class _Pruned(Exception):  # noqa: N818 - not an error
    """Raised by `report` to end a trial that is not worth completing."""


class _TimeUp(Exception):  # noqa: N818
    """Raised by `report` when the time limit is reached."""


@dataclass(frozen=True)
class _Search:
    """All that a process needs to run the next trial."""

    spec: SearchSpec
    objective: Objective
    n_trials: int
    deadline: float  # in wall-clock time (`time.time`): other machines read it too
    refit: bool

    def time_is_up(self, trials: list[Trial]) -> bool:
        return time.time() >= self.last_moment(trials)

    def last_moment(self, trials: list[Trial]) -> float:
        """Return the deadline, less the time to run the best trial once more."""
        found = best(trials, self.spec.direction)
        return self.deadline - (found.seconds if self.refit and found else 0.0)


def search(
    objective: Objective,
    space: Space,
    *,
    trials: int,
    seed: int = 0,
    direction: str = "maximize",
    time_limit: float | None = None,
    storage: str | Path | None = None,
    name: str = "study",
    start: dict[str, Any] | None = None,
    pruner: str = "median",
    refit: bool = False,
    belongs_to: str = "",
    on_trial: Callable[[Trial], bool | None] | None = None,
    executor: Executor | None = None,
) -> SearchResult:
    """Find the settings with the best score, with Optuna's TPE.

    The same seed finds the same settings, unless a time limit or other processes
    interfere. A trial that raises counts as failed, and the search goes on. Ctrl-C ends
    the search and returns the best result so far.

    Args:
        objective: a function of (settings, report) that returns a score. It may call
            `report(step, score)` as it goes, which ends the trial if it is hopeless or
            the time is up.
        space: a domain for each name.
        trials: total number of trials, including earlier runs on the same storage.
        direction: "maximize" or "minimize".
        time_limit: seconds after which no trial starts, and trials that report stop.
            Stopped trials do not count: a later run tries them again.
        storage: a folder for the trials, from which an interrupted search resumes.
            Several processes, and machines that share it, may work on one search.
        name: name of the search in the storage folder.
        start: settings of the first trial, which may lie outside the space.
        pruner: "median", "halving" or "none".
        refit: leave enough time to run the best trial once more.
        belongs_to: fingerprint of the data and the objective; a stored search with
            another fingerprint is not resumed.
        on_trial: called with each trial that has ended, starting with those of earlier
            runs; returning True ends the search.
        executor: runs several trials at once; needs a storage that every process can
            reach and an objective that can be pickled.

    >>> from modernnca.tune.space import Float
    >>> def objective(settings, report):
    ...     return -((settings["x"] - 3) ** 2)
    >>> result = search(objective, {"x": Float(0, 9)}, trials=40)
    >>> round(result.settings["x"]), len(result.trials), result.ended
    (3, 40, 'trials')
    """
    if not isinstance(trials, int) or trials < 1:
        raise ValueError(
            f"trials must be a whole number of at least 1; got {trials!r}."
        )
    if time_limit is not None and not time_limit > 0:
        raise ValueError(
            f"time_limit must be above 0 seconds, or None; got {time_limit!r}."
        )
    if executor is not None and storage is None:
        raise ValueError(
            "An executor needs a storage: give a folder that every process of the "
            "search can reach."
        )
    folder = None if storage is None else Path(storage)
    spec = SearchSpec(
        space, seed, direction, start, pruner, belongs_to, storage=folder, name=name
    )
    deadline = time.time() + (math.inf if time_limit is None else time_limit)
    task = _Search(spec, objective, trials, deadline, refit)
    with Ledger(spec) as ledger:
        notify = _Notifier(ledger, on_trial)
        lost: list[str] = []
        try:
            if executor is None:
                ended = _run_here(task, ledger, notify)
            else:
                ended = _run_with_executor(task, notify, executor, lost)
        except KeyboardInterrupt:
            ended = "interrupted"
        return _result(task, ledger.trials(), ended, lost)


def best(trials: list[Trial], direction: str) -> Trial | None:
    """Return the completed trial with the best score; of equal ones, the first.

    >>> best([Trial(0, {}, 0.5, "done", None, 1.0)], "maximize").score
    0.5
    """
    sign = 1 if direction == "maximize" else -1
    done = [trial for trial in trials if trial.state == "done"]
    return max(done, key=lambda trial: sign * (trial.score or 0.0), default=None)


class _Notifier:
    """Calls `on_trial` once for each trial."""

    def __init__(
        self, ledger: Ledger, on_trial: Callable[[Trial], bool | None] | None
    ) -> None:
        self.ledger, self.on_trial = ledger, on_trial
        self.notified: set[int] = set()

    def __call__(self) -> tuple[list[Trial], bool]:
        """Return all trials so far, and whether a callback asked to stop."""
        trials = self.ledger.trials()
        new = [trial for trial in trials if trial.place not in self.notified]
        self.notified |= {trial.place for trial in new}
        answers = [self.on_trial(trial) for trial in new] if self.on_trial else []
        return trials, any(answers)


def _run_here(task: _Search, ledger: Ledger, notify: _Notifier) -> str:
    """Run one trial after another; return why the search ended."""
    while True:
        trials, stop = notify()
        if stop:
            return "on_trial"
        if task.time_is_up(trials):
            return "time_limit"
        handle = ledger.claim(task.n_trials)
        if handle is None:
            return "trials"
        _run_trial(task, ledger, handle, task.last_moment(trials))


def _run_with_executor(
    task: _Search, notify: _Notifier, executor: Executor, lost: list[str]
) -> str:
    """Run one job per trial, twice if its process died; return why the search ended."""
    for _ in range(2):
        trials, stop = notify()
        n_missing = task.n_trials - len(trials)
        if stop or n_missing <= 0 or task.time_is_up(trials):
            break
        outcomes = executor.map(_run_next_trial, [task] * n_missing)
        for outcome in outcomes:
            if outcome.error is not None:
                lost.append(outcome.error)
            trials, stop = notify()
            if stop:
                getattr(outcomes, "close", lambda: None)()  # stops running jobs
                return "on_trial"
    if stop:
        return "on_trial"
    return "time_limit" if task.time_is_up(trials) else "trials"


def _run_next_trial(task: _Search) -> None:
    """Run the next trial, if one is left and time allows; a job of an executor."""
    with Ledger(task.spec) as ledger:
        trials = ledger.trials()
        if task.time_is_up(trials):
            return
        handle = ledger.claim(task.n_trials)
        if handle is not None:
            _run_trial(task, ledger, handle, task.last_moment(trials))


def _run_trial(
    task: _Search, ledger: Ledger, handle: TrialHandle, deadline: float
) -> None:
    """Run one trial and record its result."""

    def report(step: int, score: float) -> None:
        if time.time() >= deadline:
            raise _TimeUp
        if ledger.report(handle, step, score):
            raise _Pruned

    try:
        score = float(task.objective(dict(handle.settings), report))
        if not math.isfinite(score):
            raise ValueError(f"the score is {score}")
    except _Pruned:
        ledger.end(handle)
    except _TimeUp:
        ledger.release(handle)
    except StoreError:  # nothing can be recorded: the trial is that of a dead process
        raise
    except Exception as error:
        ledger.end(handle, error=f"{type(error).__name__}: {error}")
    except BaseException:
        ledger.release(handle)
        raise
    else:
        ledger.end(handle, score=score)


def _result(
    task: _Search, trials: list[Trial], ended: str, lost: list[str]
) -> SearchResult:
    """Return the best trial; raise an error that says why there is none."""
    found = best(trials, task.spec.direction)
    if found is not None:
        assert found.score is not None
        return SearchResult(found.settings, found.score, trials, ended)
    if ended == "interrupted":
        raise KeyboardInterrupt
    errors = [trial.error for trial in trials if trial.error is not None] + lost
    if errors:
        raise ValueError(
            f"None of the {len(trials)} trials returned a score; "
            f"the first error was: {errors[0]}"
        )
    raise ValueError(
        "The time limit was reached before the first trial ended; "
        "give a longer time_limit."
    )
