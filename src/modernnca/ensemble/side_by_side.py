"""Members side by side: several are trained at once, each as if it were alone.

A network for a table is small: its steps leave most of a GPU idle, and on a CPU several
threads for one small product gain little. So each member has a stream of its own on a
GPU, and a process or a thread with an equal part of the cores on a CPU. What a member
learns does not depend on the others.
"""

import threading
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from typing import Any, TypeVar

import torch

from modernnca.ensemble.forked import ForkedTasks, can_fork
from modernnca.train.budget import Budget

Result = TypeVar("Result")


def n_at_once(n_members: int, device: torch.device) -> int:
    """How many members are trained at once: on a CPU, as many as threads."""
    if device.type == "cpu":
        return max(1, min(n_members, torch.get_num_threads()))
    return max(1, n_members) if device.type == "cuda" else 1


def side_by_side(
    tasks: Sequence[Callable[[], Result]],
    device: torch.device,
    budget: Budget,
    *,
    forkable: Collection[int] = (),
) -> list[Result]:
    """The results of the tasks, in order; if one raises, the others are stopped.

    Args:
        budget: what the tasks stop by.
        forkable: the numbers of the tasks that may run in a process of their own, since
            all that they leave behind is their result.

    >>> side_by_side([lambda: 1, lambda: 2], torch.device("cpu"), Budget())
    [1, 2]
    """
    n_workers = n_at_once(len(tasks), device)
    if n_workers == 1:
        return [task() for task in tasks]
    if len(forkable) > 1 and device.type == "cpu" and can_fork():
        return _in_processes(tasks, budget, sorted(forkable), n_workers)
    return _in_threads(tasks, device, budget, n_workers)


def _in_processes(
    tasks: Sequence[Callable[[], Result]],
    budget: Budget,
    forkable: list[int],
    n_workers: int,
) -> list[Result]:
    """The first process is this one; it does what the others did not."""
    shares = [forkable[first::n_workers] for first in range(1, n_workers)]
    children: list[ForkedTasks] = []
    found: dict[int, Result] = {}
    try:
        with _threads_each(1):
            children += [
                ForkedTasks({number: tasks[number] for number in share}, budget)
                for share in shares
                if share
            ]
            forked = {number for share in shares for number in share}
            for number in sorted(set(range(len(tasks))) - forked):
                found[number] = tasks[number]()
            for child in children:
                found.update(child.collect())
            for number in sorted(forked - set(found)):
                found[number] = tasks[number]()
    finally:
        for child in children:
            child.stop()
    return [found[number] for number in range(len(tasks))]


def _in_threads(
    tasks: Sequence[Callable[[], Result]],
    device: torch.device,
    budget: Budget,
    n_workers: int,
) -> list[Result]:
    n_threads = torch.get_num_threads()

    def run(task: Callable[[], Result]) -> Result:
        if device.type == "cpu":  # of this thread
            torch.set_num_threads(max(1, n_threads // n_workers))
        stream = torch.cuda.Stream(device) if device.type == "cuda" else None
        if stream is not None:
            stream.wait_stream(torch.cuda.default_stream(device))
        with nullcontext() if stream is None else torch.cuda.stream(stream):
            try:
                result = task()
            except BaseException:
                budget.interrupt()
                raise
        if stream is not None:
            stream.synchronize()
        return result

    try:
        with ThreadPoolExecutor(n_workers, "modernnca-member") as pool:
            return [done.result() for done in [pool.submit(run, t) for t in tasks]]
    finally:
        torch.set_num_threads(n_threads)  # MKL has one number for all threads


@contextmanager
def _threads_each(n_threads: int) -> Any:
    """Within, torch computes with so many threads."""
    before = torch.get_num_threads()
    torch.set_num_threads(n_threads)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def one_at_a_time(callbacks: Sequence[Callable]) -> tuple[Callable, ...]:
    """The same callbacks, of which only one is called at a time."""
    lock = threading.Lock()

    def alone(callback: Callable) -> Callable:
        def call(*arguments: Any) -> Any:
            with lock:
                return callback(*arguments)

        return call

    return tuple(alone(callback) for callback in callbacks)
