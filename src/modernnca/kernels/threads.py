"""Calls in several threads, each with one thread of torch.

Where torch splits every small operation among threads, they wait for each other at its
end. On a machine that does other things as well, each of these waits can take as long
as a turn of the scheduler, and two threads take five times as long as one. So work that
can be split once is split here, and each part is computed by one thread.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TypeVar

import torch

Item = TypeVar("Item")
Result = TypeVar("Result")


def map_in_threads(
    call: Callable[[Item], Result], items: Sequence[Item]
) -> list[Result]:
    """The results of the calls, in order; on a CPU.

    >>> map_in_threads(abs, [-1, 2, -3])
    [1, 2, 3]
    """
    n_threads = torch.get_num_threads()
    n_workers = min(n_threads, len(items))
    if n_workers < 2:
        return [call(item) for item in items]
    alone = partial(torch.set_num_threads, 1)
    try:
        with ThreadPoolExecutor(n_workers, initializer=alone) as pool:
            return list(pool.map(call, items))
    finally:
        torch.set_num_threads(n_threads)  # MKL has one number for all threads
