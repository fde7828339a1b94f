"""Jobs on this machine: in this process, or in a pool of processes."""

import pickle
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from modernnca.execute.child import Child, wait_for
from modernnca.execute.executor import (
    NO_LIMITS,
    ONE_CPU,
    Limits,
    Needs,
    Outcome,
    attempt,
)


class Here:
    """One job after the other, in this process.

    Nothing can stop a job here: limits are not held, and a crash ends all. Exceptions
    are outcomes, as everywhere.

    >>> [outcome.value for outcome in Here().map(len, ["a", "bc"])]
    [1, 2]
    """

    def map(
        self,
        function: Callable[[Any], Any],
        jobs: Sequence[Any],
        *,
        needs: Needs = ONE_CPU,
        limits: Limits = NO_LIMITS,
    ) -> Iterator[Outcome]:
        """Call the function on each job; yield the outcomes in turn."""
        for index, job in enumerate(jobs):
            yield attempt(function, job)._replace(index=index)


class Pool:
    """Several jobs at once, each in a fresh process of its own.

    Limits are held while somebody waits for the next outcome. A job that needs several
    CPUs takes as many places of the pool; the GPUs of this machine are shared by all
    jobs. A function that stands in the main script needs the usual guard,
    `if __name__ == "__main__":`, around what starts the pool.

    Args:
        n_workers: how many places there are; by default, as many as cores allow.
        threads_each: threads that libraries may compute with, for each CPU needed.
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
        needs: Needs = ONE_CPU,
        limits: Limits = NO_LIMITS,
    ) -> Iterator[Outcome]:
        """Call the function on each job; yield the outcomes as they come."""
        _check_travels(function)
        at_once = max(1, int(self.n_workers / needs.cpus))
        threads = self.threads_each * needs.threads
        preload = (*self.preload, getattr(function, "__module__", None) or __name__)
        waiting = enumerate(jobs)
        running: dict[int, Child] = {}
        outcomes: list[Outcome] = []
        try:
            while True:
                # Room is filled first: the caller may take long with an outcome.
                while len(running) < at_once and (next_job := next(waiting, None)):
                    index, job = next_job
                    packed = attempt(pickle.dumps, (function, job))
                    if packed.kind == "done":
                        running[index] = Child(
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


def _check_travels(function: Callable[[Any], Any]) -> None:
    try:
        pickle.dumps(function)
    except Exception as error:
        raise TypeError(
            f"{function!r} cannot be sent to another process ({error}); "
            "define it at the top of a module."
        ) from error


def _n_cores() -> int:
    from joblib import cpu_count  # type: ignore[import-untyped]

    return cpu_count()  # what this process may use, also in a container
