"""One fit under way: device, seeds, budget, progress, checkpoints, interruption."""

import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch
from sklearn.utils import check_random_state

from modernnca.core.network import InputShape
from modernnca.ensemble.costs import Costs
from modernnca.ensemble.ensemble_config import EnsembleConfig
from modernnca.ensemble.learner import Evaluate
from modernnca.table.targets import Task
from modernnca.train.budget import Budget
from modernnca.train.generators import Generators
from modernnca.train.loop import Callback

Made = TypeVar("Made")
_N_SEEDS = 1000


@dataclass(frozen=True)
class Run:
    """What a member may know about the fit that it takes part in."""

    device: torch.device
    budget: Budget
    task: Task
    config: EnsembleConfig
    shape: InputShape  # of an encoded row
    seeds: Sequence[int]  # one for each member
    evaluate: Evaluate | None = None  # None: nothing is validated
    drawn: bool = False  # the validation rows were drawn at random from all
    number: int = 0  # of the member
    n_members: int = 1
    stage: str = "fit"  # or "refit"
    n_steps: int | None = None  # train for so many steps, without validation
    callbacks: Sequence[Callback] = ()
    checkpoint_dir: Path | None = None
    verbose: bool | Callable[[], bool] = False  # whether to show progress, or when
    shared: dict[str, Any] = field(default_factory=dict)
    n_threads: int = field(default_factory=torch.get_num_threads)  # for all members
    lock: Any = field(default_factory=threading.RLock)  # of what is shared
    costs: Costs = Costs()  # of a member, as measured if there is a time limit
    n_planned: int = _N_SEEDS  # members there is time for, at least
    left_out: list[str] = field(default_factory=list)  # what there was no time for

    @property
    def seed(self) -> int:
        """The seed of this member."""
        return int(self.seeds[self.number])

    def generators(self) -> Generators:
        """Fresh random generators of this member."""
        return Generators.from_seed(self.seed, self.device)

    def but(self, **changes: Any) -> "Run":
        """The same run with other values."""
        return replace(self, **changes)

    def for_member(self, number: int, n_members: int, n_at_once: int = 1) -> "Run":
        """The run as one member sees it: its seed, and its part of the time.

        The members that are still to come have equal parts of what is left.
        """
        n_rounds = -(-(n_members - number) // n_at_once)
        budget = self.budget.rest().part(0, max(1, n_rounds))
        return self.but(number=number, n_members=n_members, budget=budget)

    def leave_out(self, part: str) -> None:
        """Note what there is no time for."""
        with self.lock:
            if part not in self.left_out:
                self.left_out.append(part)

    def once(self, name: str, make: Callable[[], Made]) -> Made:
        """Make something that several members of this run share, the first time."""
        with self.lock:
            if name not in self.shared:
                self.shared[name] = make()
            return self.shared[name]


def random_state(seed: Any) -> np.random.RandomState:
    """A generator from scikit-learn's `random_state`; None leaves numpy's own alone."""
    return np.random.RandomState() if seed is None else check_random_state(seed)


def draw_seeds(rng: np.random.RandomState) -> list[int]:
    """Seeds for as many members as there may be."""
    return rng.randint(2**31 - 1, size=_N_SEEDS).tolist()


@contextmanager
def interruptible(budget: Budget) -> Iterator[None]:
    """Within, Ctrl-C interrupts the budget instead of raising; the second one raises.

    An exception could be raised between any two lines and leave things half done; the
    budget is checked where it is safe to stop. Only the main thread gets signals.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGINT)

    def handle(number: int, frame: Any) -> None:
        if budget.interrupted:
            signal.signal(signal.SIGINT, before)
            raise KeyboardInterrupt
        budget.interrupt()

    signal.signal(signal.SIGINT, handle)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
