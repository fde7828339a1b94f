"""How long something took, and how much memory at most."""

import threading
import time
from typing import Any, Self

_EVERY = 0.02  # seconds between two looks


class Meter:
    """Measure a block: its seconds, and the most memory beyond what was held before.

    Memory is this process's resident memory, looked at every 20 ms, plus what torch
    holds on a GPU.

    >>> with Meter() as meter:
    ...     held = bytearray(50_000_000)
    ...     time.sleep(0.1)
    >>> meter.seconds > 0.09, meter.peak_bytes > 40_000_000
    (True, True)
    """

    seconds: float = 0.0
    peak_bytes: int = 0

    def __enter__(self) -> Self:
        import psutil

        self._process = psutil.Process()
        self._before = self._most = self._process.memory_info().rss
        self._cuda = _cuda()
        if self._cuda:
            self._cuda.reset_peak_memory_stats()
        self._done = threading.Event()
        self._watcher = threading.Thread(target=self._watch, daemon=True)
        self._watcher.start()
        self._began = time.perf_counter()
        return self

    def __exit__(self, *failure: object) -> None:
        if self._cuda:
            self._cuda.synchronize()
        self.seconds = time.perf_counter() - self._began
        self._done.set()
        self._watcher.join()
        self._look()
        self.peak_bytes = self._most - self._before
        if self._cuda:
            self.peak_bytes += self._cuda.max_memory_allocated()

    def _look(self) -> None:
        self._most = max(self._most, self._process.memory_info().rss)

    def _watch(self) -> None:
        while not self._done.wait(_EVERY):
            self._look()


def _cuda() -> Any:
    import torch

    # Asking whether there is a GPU would start a context in a process without need.
    return torch.cuda if torch.cuda.is_available() else None
