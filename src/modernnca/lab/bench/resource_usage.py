"""Measure the seconds and the peak memory of a block of code."""

import threading
import time
from typing import Any, Self

_POLL_SECONDS = 0.02


class ResourceUsage:
    """The seconds of a block, and its peak memory above the level at its start.

    Memory is the resident memory of this process, sampled every 20 ms, plus the memory
    that torch has allocated on a GPU.

    >>> with ResourceUsage() as usage:
    ...     held = bytearray(200_000_000)
    ...     time.sleep(0.1)
    >>> usage.seconds > 0.09, usage.peak_bytes > 100_000_000
    (True, True)
    """

    seconds: float = 0.0
    peak_bytes: int = 0

    def __enter__(self) -> Self:
        import psutil

        self._process = psutil.Process()
        self._start_bytes = self._max_bytes = self._process.memory_info().rss
        self._cuda = _cuda()
        if self._cuda:
            self._cuda.reset_peak_memory_stats()
        self._done = threading.Event()
        self._poller = threading.Thread(target=self._poll, daemon=True)
        self._poller.start()
        self._started = time.perf_counter()
        return self

    def __exit__(self, *exception: object) -> None:
        if self._cuda:
            self._cuda.synchronize()
        self.seconds = time.perf_counter() - self._started
        self._done.set()
        self._poller.join()
        self._sample()
        self.peak_bytes = self._max_bytes - self._start_bytes
        if self._cuda:
            self.peak_bytes += self._cuda.max_memory_allocated()

    def _sample(self) -> None:
        self._max_bytes = max(self._max_bytes, self._process.memory_info().rss)

    def _poll(self) -> None:
        while not self._done.wait(_POLL_SECONDS):
            self._sample()


def _cuda() -> Any:
    import torch

    return torch.cuda if torch.cuda.is_available() else None
