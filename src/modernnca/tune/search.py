"""One search: a space, a score to be had in it, and as many trials as it takes."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from modernnca.execute.executor import Executor
from modernnca.tune.ledger import Claim, Ledger, Question, Trial
from modernnca.tune.space import Space

Report = Callable[[int, float], None]
Score = Callable[[dict[str, Any], Report], float]


class Found(NamedTuple):
    """The best settings, and all that was tried."""

    settings: dict[str, Any]
    score: float
    trials: list[Trial]
    ended: str  # "trials", "time_limit", "on_trial" or "interrupted"


class _Pruned(Exception):  # noqa: N818 - an end, not an error
    """Raised by `report` where a trial had better end."""


class _TimeUp(Exception):  # noqa: N818
    """Raised by `report` where the time is up."""


@dataclass(frozen=True)
class _Task:
    """What a process needs to run the next trial."""

    question: Question
    score: Score
    n_trials: int
    deadline: float  # a time of `time.time`, since it is told to other machines
    refit: bool

    def time_is_up(self, trials: list[Trial]) -> bool:
        return time.time() >= self.deadline_now(trials)

    def deadline_now(self, trials: list[Trial]) -> float:
        """When to end, so that the best trial could be run once more."""
        found = best(trials, self.question.direction)
        return self.deadline - (found.seconds if self.refit and found else 0.0)


def search(
    score: Score,
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
) -> Found:
    """Find the settings with the best score, by Optuna's TPE.

    The same seed finds the same settings, unless time or other processes interfere. A
    trial that raises is a failed one, and the search goes on. Ctrl-C ends the search,
    not the program: the best so far is returned.

    Args:
        score: a function of (settings, report). It may call `report(step, score)` as it
            goes, so that a hopeless trial ends there, and all end when time is up.
        space: a domain for each name.
        trials: how many in all, with those of an earlier run on the same storage.
        direction: "maximize" or "minimize".
        time_limit: seconds after which no trial begins, and none goes on that reports.
            What is cut off does not count: a later run tries it again.
        storage: a folder that keeps the trials, from which an interrupted search goes
            on; several processes (and machines that share it) may work on one search.
        name: of the search, among others in the folder.
        start: the settings of the first trial; they may lie outside of the space, and
            need not name all of it.
        pruner: "median", "halving" or "none".
        refit: end in time to run the best trial once more.
        belongs_to: a text; a search with another one is not gone on with.
        on_trial: called with each trial that ended, those of earlier runs first; True
            ends the search.
        executor: runs trials elsewhere, several at once; it needs a storage that all
            can see, and a score that can be pickled.

    >>> from modernnca.tune.space import Float
    >>> def score(settings, report):
    ...     return -((settings["x"] - 3) ** 2)
    >>> found = search(score, {"x": Float(0, 9)}, trials=40)
    >>> round(found.settings["x"]), len(found.trials), found.ended
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
            "To search with an executor, name a storage: a folder that all who work on "
            "the search can see."
        )
    where = None if storage is None else Path(storage)
    question = Question(
        space, seed, direction, start, pruner, belongs_to, storage=where, name=name
    )
    deadline = time.time() + (math.inf if time_limit is None else time_limit)
    task = _Task(question, score, trials, deadline, refit)
    with Ledger(question) as ledger:
        told = _Teller(ledger, on_trial)
        lost: list[str] = []
        try:
            if executor is None:
                ended = _run_here(task, ledger, told)
            else:
                ended = _run_there(task, ledger, told, executor, lost)
        except KeyboardInterrupt:
            ended = "interrupted"
        return _verdict(task, ledger.trials(), ended, lost)


def best(trials: list[Trial], direction: str) -> Trial | None:
    """The trial with the best score among those that came to their end; the first one.

    >>> best([Trial(0, {}, 0.5, "done", None, 1.0)], "maximize").score
    0.5
    """
    sign = 1 if direction == "maximize" else -1
    done = [trial for trial in trials if trial.state == "done"]
    return max(done, key=lambda trial: sign * (trial.score or 0.0), default=None)


class _Teller:
    """Tells of each trial once; remembers whether to stop."""

    def __init__(
        self, ledger: Ledger, on_trial: Callable[[Trial], bool | None] | None
    ) -> None:
        self.ledger, self.on_trial = ledger, on_trial
        self.known: set[int] = set()

    def __call__(self) -> tuple[list[Trial], bool]:
        """All trials so far, and whether somebody who was told wants to stop."""
        trials = self.ledger.trials()
        new = [trial for trial in trials if trial.place not in self.known]
        self.known |= {trial.place for trial in new}
        asked = [self.on_trial(trial) for trial in new] if self.on_trial else []
        return trials, any(asked)  # every one is told


def _run_here(task: _Task, ledger: Ledger, told: _Teller) -> str:
    """One trial after the other; the reason to end."""
    while True:
        trials, stop = told()
        if stop:
            return "on_trial"
        if task.time_is_up(trials):
            return "time_limit"
        claim = ledger.claim(task.n_trials)
        if claim is None:
            return "trials"
        _run(task, ledger, claim, task.deadline_now(trials))


def _run_there(
    task: _Task, ledger: Ledger, told: _Teller, executor: Executor, lost: list[str]
) -> str:
    """One job for each trial; where one died, its place is tried once more."""
    for _ in range(2):
        trials, stop = told()
        n_missing = task.n_trials - len(trials)
        if stop or n_missing <= 0 or task.time_is_up(trials):
            break
        outcomes = executor.map(_take_part, [task] * n_missing)
        for outcome in outcomes:
            if outcome.error is not None:
                lost.append(outcome.error)
            trials, stop = told()
            if stop:
                getattr(outcomes, "close", lambda: None)()  # ends what still runs
                return "on_trial"
    if stop:
        return "on_trial"
    return "time_limit" if task.time_is_up(trials) else "trials"


def _take_part(task: _Task) -> None:
    """Run the next trial, if there is one and time for it; a job of an executor."""
    with Ledger(task.question) as ledger:
        trials = ledger.trials()
        if task.time_is_up(trials):
            return
        claim = ledger.claim(task.n_trials)
        if claim is not None:
            _run(task, ledger, claim, task.deadline_now(trials))


def _run(task: _Task, ledger: Ledger, claim: Claim, deadline: float) -> None:
    """Run one trial and write down what came of it."""

    def report(step: int, score: float) -> None:
        if time.time() >= deadline:
            raise _TimeUp
        if ledger.report(claim, step, score):
            raise _Pruned

    try:
        score = float(task.score(dict(claim.settings), report))
        if not math.isfinite(score):
            raise ValueError(f"the score is {score}")
    except _Pruned:
        ledger.end(claim)
    except _TimeUp:
        ledger.leave(claim)
    except Exception as error:
        ledger.end(claim, error=f"{type(error).__name__}: {error}")
    except BaseException:
        ledger.leave(claim)
        raise
    else:
        ledger.end(claim, score=score)


def _verdict(task: _Task, trials: list[Trial], ended: str, lost: list[str]) -> Found:
    """The best trial; or a sentence that says why there is none."""
    found = best(trials, task.question.direction)
    if found is not None:
        assert found.score is not None
        return Found(found.settings, found.score, trials, ended)
    if ended == "interrupted":
        raise KeyboardInterrupt
    errors = [trial.error for trial in trials if trial.error is not None] + lost
    if errors:
        raise ValueError(
            f"None of the {len(trials)} trials gave a score; "
            f"the first error was: {errors[0]}"
        )
    raise ValueError(
        "The time was up before the first trial ended; give a longer time_limit."
    )
