"""Jobs on this machine: in this process, or in a pool of processes."""

import pickle
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from modernnca.execute.child_process import ChildProcess, wait_for
from modernnca.execute.executor import (
    NO_LIMITS,
    ONE_CPU,
    Limits,
    Outcome,
    Resources,
    attempt,
)


class Here:
    """Runs jobs one after another in this process.

    Limits are not enforced, and a crash ends the program. Exceptions become outcomes,
    as in every executor.

    >>> [outcome.value for outcome in Here().map(len, ["a", "bc"])]
    [1, 2]
    """

    def map(
        self,
        function: Callable[[Any], Any],
        jobs: Sequence[Any],
        *,
        resources: Resources = ONE_CPU,
        limits: Limits = NO_LIMITS,
    ) -> Iterator[Outcome]:
        """Call the function on each job; yield outcomes in order."""
        for index, job in enumerate(jobs):
            with _noticing_interrupts() as noticed:
                outcome = attempt(function, job)
            # Compiled code may turn Ctrl-C into an error of its own.
            if noticed and outcome.kind != "done":
                raise KeyboardInterrupt
            yield outcome._replace(index=index)


@contextmanager
def _noticing_interrupts() -> Iterator[list[int]]:
    """Give a list that is not empty once Ctrl-C was pressed within the block."""
    noticed: list[int] = []
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(
        before
    ):
        yield noticed
        return

    def notice(number: int, frame: Any) -> None:
        noticed.append(number)
        before(number, frame)

    signal.signal(signal.SIGINT, notice)
    try:
        yield noticed
    finally:
        signal.signal(signal.SIGINT, before)


class Pool:
    """Runs several jobs at once on this machine, each in a fresh process.

    Limits are enforced while the caller waits for the next outcome. A job that needs
    several CPUs occupies as many workers; all jobs share the machine's GPUs. If the
    function is defined in the main script, start the pool under
    `if __name__ == "__main__":`.

    Args:
        n_workers: number of workers; by default, as many as the cores allow.
        threads_each: threads that numerical libraries may use per CPU of a job.
        preload: modules to import once, before the first job of this process.

    >>> sorted(outcome.value for outcome in Pool(2).map(len, ["a", "bc", "def"]))
    [1, 2, 3]
    """

    def __init__(
        self,
        n_workers: int | None = None,
        threads_each: int = 1,
        preload: Sequence[str] = (),
    ) -> None:
        if threads_each < 1:
            raise ValueError(f"{threads_each=} must be at least 1.")
        if n_workers is None:
            n_workers = max(1, _n_cores() // threads_each)
        if n_workers < 1:
            raise ValueError(f"{n_workers=} must be at least 1.")
        self.n_workers = n_workers
        self.threads_each = threads_each
        self.preload = tuple(preload)

    def map(
        self,
        function: Callable[[Any], Any],
        jobs: Sequence[Any],
        *,
        resources: Resources = ONE_CPU,
        limits: Limits = NO_LIMITS,
    ) -> Iterator[Outcome]:
        """Call the function on each job; yield outcomes as jobs finish."""
        _check_picklable(function)
        n_parallel = max(1, int(self.n_workers / resources.cpus))
        threads = self.threads_each * resources.threads
        preload = (*self.preload, getattr(function, "__module__", None) or __name__)
        waiting = enumerate(jobs)
        running: dict[int, ChildProcess] = {}
        outcomes: list[Outcome] = []
        try:
            while True:
                # Start jobs before yielding: the caller may take long with an outcome.
                while len(running) < n_parallel and (next_job := next(waiting, None)):
                    index, job = next_job
                    packed = attempt(pickle.dumps, (function, job))
                    if packed.kind == "done":
                        running[index] = ChildProcess(
                            packed.value,
                            limits=limits,
                            threads=threads,
                            preload=preload,
                        )
                    else:
                        outcomes.append(packed._replace(index=index))
                yield from outcomes
                if not running:
                    return
                wait_for(running.values())
                outcomes = []
                for index, child in list(running.items()):
                    if (outcome := child.outcome()) is not None:
                        child.stop()
                        del running[index]
                        outcomes.append(outcome._replace(index=index))
        finally:
            for child in running.values():
                child.stop()


def _check_picklable(function: Callable[[Any], Any]) -> None:
    try:
        pickle.dumps(function)
    except Exception as error:
        raise TypeError(
            f"{function!r} cannot be sent to another process ({error}); "
            "define it at the top level of a module."
        ) from error


def _n_cores() -> int:
    from joblib import cpu_count  # type: ignore[import-untyped]

    return cpu_count()  # respects CPU affinity and container limits
