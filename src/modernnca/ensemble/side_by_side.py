"""Members side by side: several are trained at once, each as if it were alone.

A network for a table is small: its steps leave most of a GPU idle, and on a CPU several
threads for one small product gain little. So each member has a thread, and of its own a
stream on a GPU or an equal part of the cores. What a member learns does not depend on
the others.
"""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from typing import Any, TypeVar

import torch

Result = TypeVar("Result")


def n_at_once(n_members: int, device: torch.device) -> int:
    """How many members are trained at once: on a CPU, as many as threads."""
    if device.type == "cpu":
        return max(1, min(n_members, torch.get_num_threads()))
    return max(1, n_members) if device.type == "cuda" else 1


def side_by_side(
    tasks: Sequence[Callable[[], Result]], device: torch.device, *, stop: Callable
) -> list[Result]:
    """The results of the tasks, in order; if one raises, the others are stopped.

    >>> side_by_side([lambda: 1, lambda: 2], torch.device("cpu"), stop=print)
    [1, 2]
    """
    n_threads = torch.get_num_threads()
    n_workers = n_at_once(len(tasks), device)
    if n_workers == 1:
        return [task() for task in tasks]

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
                stop()
                raise
        if stream is not None:
            stream.synchronize()
        return result

    try:
        with ThreadPoolExecutor(n_workers, "modernnca-member") as pool:
            return [done.result() for done in [pool.submit(run, t) for t in tasks]]
    finally:
        torch.set_num_threads(n_threads)  # MKL has one number for all threads


def one_at_a_time(callbacks: Sequence[Callable]) -> tuple[Callable, ...]:
    """The same callbacks, of which only one is called at a time."""
    lock = threading.Lock()

    def alone(callback: Callable) -> Callable:
        def call(*arguments: Any) -> Any:
            with lock:
                return callback(*arguments)

        return call

    return tuple(alone(callback) for callback in callbacks)
