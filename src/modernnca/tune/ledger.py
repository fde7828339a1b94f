"""The trials of one search: given out one by one, written down as they end.

Each trial has a place, 0 to n - 1, and what is drawn for it follows from the seed, the
place and the trials that ended before. In a folder, the ledger outlives its process and
is shared: a process holds a lock while it lives, so that the places of the dead are
known at once, and given out again.
"""

import os
import uuid
import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple
from urllib.parse import quote

import numpy as np

from modernnca._named import named
from modernnca.errors import MissingExtraError
from modernnca.tune.space import Space, draw

_DEATHS = 2  # a place at which so many processes died is not given out again
_WARM_UP = 10  # no trial is pruned before this step

State = Literal["done", "pruned", "failed"]


class Trial(NamedTuple):
    """One try: what was tried, and what came of it."""

    place: int
    settings: dict[str, Any]
    score: float | None  # of a "pruned" trial the last that it reported
    state: State
    error: str | None  # why it "failed"
    seconds: float


class Claim(NamedTuple):
    """A trial to be run, by whoever claimed it."""

    settings: dict[str, Any]
    running: Any  # Optuna's trial


@dataclass(frozen=True)
class Question:
    """What is searched for; all that a process needs to take part."""

    space: Space
    seed: int = 0
    direction: str = "maximize"
    start: dict[str, Any] | None = None  # the settings of place 0
    pruner: str = "median"
    belongs_to: str = ""  # tells this search from others, if the rest does not
    storage: Path | None = None
    name: str = "study"

    def __post_init__(self) -> None:
        named("direction", self.direction, dict.fromkeys(("maximize", "minimize")))
        named("pruner", self.pruner, PRUNERS)
        if not self.space:
            raise ValueError("The search space is empty; name something to search.")
        lacking = [
            name for name in self.space if name not in (self.start or self.space)
        ]
        if lacking:
            raise ValueError(
                f"The settings to start with lack {', '.join(lacking)}; "
                "say a value for each name of the space, or give no start."
            )

    @property
    def signature(self) -> str:
        """A text that differs where answers may not be mixed."""
        same = (self.space, self.seed, self.direction, self.start, self.belongs_to)
        return repr(same)

    def file(self, ending: str) -> Path:
        """A file of this search in the folder."""
        assert self.storage is not None
        return Path(self.storage) / f"{quote(self.name, safe=' ')}.{ending}"


def _median(optuna: Any) -> Any:
    """Give up on who is below the median of the others at the same step."""
    return optuna.pruners.MedianPruner(n_startup_trials=5, n_warmup_steps=_WARM_UP)


def _halving(optuna: Any) -> Any:
    """Let the best quarter go on, again and again."""
    return optuna.pruners.SuccessiveHalvingPruner(
        min_resource=_WARM_UP, reduction_factor=4
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
    """The trials of one search, open while the block runs.

    >>> from modernnca.tune.space import Float
    >>> with Ledger(Question({"x": Float(0, 1)}, start={"x": 0.5})) as ledger:
    ...     claim = ledger.claim(n_trials=1)
    ...     ledger.end(claim, score=claim.settings["x"])
    ...     ledger.claim(n_trials=1), ledger.trials()[0][:4]
    (None, (0, {'x': 0.5}, 0.5, 'done'))
    """

    question: Question
    _worker: str = field(default_factory=lambda: uuid.uuid4().hex)

    def __enter__(self) -> "Ledger":
        self._optuna = _import_optuna()
        self._verbosity = self._optuna.logging.get_verbosity()
        self._optuna.logging.set_verbosity(self._optuna.logging.ERROR)
        self._lock: AbstractContextManager[Any] = nullcontext()
        self._alive: Any = None
        try:
            self._open()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        if self._alive is not None:
            self._alive.release()
            Path(self._alive.lock_file).unlink(missing_ok=True)
        self._optuna.logging.set_verbosity(self._verbosity)

    def claim(self, n_trials: int) -> Claim | None:
        """Take the first of `n_trials` places that is free; None if there is none."""
        asked = self.question
        with self._lock:
            self._bury()
            taken = {place for place, _ in self._counted(running=True)}
            place = next((p for p in range(n_trials) if p not in taken), None)
            if place is None:
                return None
            starts = place == 0 and asked.start is not None
            if starts and not self._read(self._optuna.trial.TrialState.WAITING):
                self._study.enqueue_trial(self._drawn_at_start())
            self._study.sampler = self._sampler(place)
            running = self._study.ask()
            running.set_user_attr("worker", self._worker)
            running.set_user_attr("place", place)
        if not starts:
            return Claim(draw(asked.space, running), running)
        assert asked.start is not None
        # What lies outside of the space is tried, but nothing is learned from it.
        draw(self._known_at_start(), running)
        return Claim(dict(asked.start), running)

    def report(self, claim: Claim, step: int, score: float) -> bool:
        """Write down how a trial is doing; True if it had better end."""
        claim.running.report(float(score), step)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # numpy, of NaN alone
            return bool(claim.running.should_prune())

    def end(self, claim: Claim, score: float | None = None, error: str = "") -> None:
        """Write down how a trial ended: with a score, an error, or pruned."""
        states = self._optuna.trial.TrialState
        if score is not None:
            self._study.tell(claim.running, score)
        elif error:
            claim.running.set_user_attr("error", error)
            self._study.tell(claim.running, state=states.FAIL)
        else:
            self._study.tell(claim.running, state=states.PRUNED)

    def leave(self, claim: Claim) -> None:
        """Give a place back: its trial was not run to an end."""
        claim.running.set_user_attr("left", True)
        self._study.tell(claim.running, state=self._optuna.trial.TrialState.FAIL)

    def trials(self) -> list[Trial]:
        """All that ended so far, by place."""
        with self._lock:
            self._bury()
        ended = sorted(self._counted(), key=lambda counted: counted[0])
        return [self._plain(place, trial) for place, trial in ended]

    def _open(self) -> None:
        optuna, asked = self._optuna, self.question
        try:
            storage = (
                optuna.storages.InMemoryStorage()
                if asked.storage is None
                else self._open_folder()
            )
            with self._lock:
                self._study = optuna.create_study(
                    storage=storage,
                    study_name=asked.name,
                    direction=asked.direction,
                    pruner=PRUNERS[asked.pruner](optuna),
                    load_if_exists=True,
                )
                signature = self._study.user_attrs.get("signature")
                if signature is None:
                    self._study.set_user_attr("signature", asked.signature)
        except (ValueError, KeyError) as error:
            raise ValueError(
                f"The search in {str(asked.file('journal'))!r} cannot be read "
                f"({error}); move that file away to begin anew."
            ) from error
        if signature not in (None, asked.signature):
            raise ValueError(
                f"The folder {str(asked.storage)!r} holds another search (other data, "
                "settings, space or seed); empty it or name another."
            )

    def _open_folder(self) -> Any:
        """Open the journal of the search, and show that this process lives."""
        from filelock import FileLock

        asked, journal = self.question, self._optuna.storages.journal
        folder, path = Path(asked.storage or ""), asked.file("journal")
        if folder.exists() and not folder.is_dir():
            raise NotADirectoryError(f"{str(folder)!r} is a file; name a folder.")
        folder.mkdir(parents=True, exist_ok=True)
        lock = FileLock(asked.file("lock"))
        with lock:
            _mend(path)
        self._alive = FileLock(asked.file(self._worker))
        self._alive.acquire()
        # The lock may be taken again by who has it, so claims and the journal share it.
        self._lock = lock
        return self._optuna.storages.JournalStorage(
            journal.JournalFileBackend(str(path), lock_obj=lock)
        )

    def _sampler(self, place: int) -> Any:
        """TPE, which learns which settings go well together.

        PAPER: TALENT models each setting by itself (Optuna's default at the time).
        """
        seed = np.random.SeedSequence([self.question.seed, place]).generate_state(1)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # in Optuna 4 these are called experimental
            return self._optuna.samplers.TPESampler(
                seed=int(seed[0]), multivariate=True, constant_liar=True
            )

    def _known_at_start(self) -> Space:
        """The part of the space in which the first settings lie."""
        start = self.question.start or {}
        space = self.question.space.items()
        return {n: d for n, d in space if n in start and d.holds(start[n])}

    def _drawn_at_start(self) -> dict[str, Any]:
        start = self.question.start or {}
        drawn: dict[str, Any] = {}
        for name, domain in self._known_at_start().items():
            drawn |= domain.drawn(name, start[name])
        return drawn

    def _read(self, *states: Any) -> list[Any]:
        return self._study.get_trials(deepcopy=False, states=states)

    def _bury(self) -> None:
        """Let the trials of dead processes be over; call it with the lock."""
        states = self._optuna.trial.TrialState
        for trial in self._read(states.RUNNING):
            if not self._lives(trial.user_attrs.get("worker")):
                with suppress(ValueError, RuntimeError):  # it ended meanwhile
                    self._study.tell(trial.number, state=states.FAIL)

    def _lives(self, worker: str | None) -> bool:
        """Whether a process still holds its lock."""
        if worker == self._worker:
            return True
        if worker is None or self.question.storage is None:
            return False  # it died between two lines of `claim`
        from filelock import FileLock, Timeout

        path = self.question.file(worker)
        try:
            with FileLock(path, timeout=0):
                path.unlink(missing_ok=True)
        except Timeout:
            return True
        return False

    def _counted(self, *, running: bool = False) -> list[tuple[int, Any]]:
        """Places and trials that need not be run; of the lost, those lost for good."""
        states, counted = self._optuna.trial.TrialState, []
        lost: dict[int, list[Any]] = {}
        for trial in self._read(states.COMPLETE, states.PRUNED, states.FAIL):
            place = trial.user_attrs.get("place")
            if trial.state != states.FAIL or "error" in trial.user_attrs:
                counted.append((place, trial))
            elif place is not None and "left" not in trial.user_attrs:
                lost[place] = [*lost.get(place, ()), trial]
        counted += [(p, died[-1]) for p, died in lost.items() if len(died) >= _DEATHS]
        if running:
            now = self._read(states.RUNNING)
            counted += [(trial.user_attrs.get("place"), trial) for trial in now]
        return counted

    def _plain(self, place: int, trial: Any) -> Trial:
        states = self._optuna.trial.TrialState
        names: dict[Any, State] = {states.COMPLETE: "done", states.PRUNED: "pruned"}
        state, error = names.get(trial.state, "failed"), trial.user_attrs.get("error")
        if state == "failed" and error is None:
            error = f"The process that ran it died, {_DEATHS} times."
        settings = dict(self.question.start or {}) if place == 0 else {}
        with suppress(ValueError):  # it died before all was drawn
            drawn = self._optuna.trial.FixedTrial(trial.params)
            settings = settings or draw(self.question.space, drawn)
        seconds = trial.duration.total_seconds() if trial.duration else 0.0
        return Trial(place, settings, trial.value, state, error, seconds)


def _mend(path: Path) -> None:
    """Cut off a line that was left unfinished; call it with the lock."""
    if not path.exists():
        return
    content = path.read_bytes()
    whole = content.rfind(b"\n") + 1
    if whole < len(content):
        os.truncate(path, whole)


def _import_optuna() -> Any:
    try:
        import optuna
        import optuna.storages.journal
    except ImportError as error:
        raise MissingExtraError(
            'To search for settings Optuna is needed: pip install "modernnca[tune]"'
        ) from error
    return optuna
