"""A training step, captured once as a CUDA graph and replayed.

On a GPU, the hundreds of small kernels of a step take longer to launch than to run;
captured, they launch together. A step that can be captured never waits for the device
and always does the same: same shapes, random numbers from a generator on the device.
"""

import gc
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from torch import Tensor

from modernnca.train.adamw import AdamW

Step = Callable[[Tensor], Tensor]
_CAPTURING = threading.Lock()


@contextmanager
def _without_gc() -> Iterator[None]:
    """No garbage collection meanwhile: freeing an old graph spoils a capture."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


class CapturedStep:
    """The step, called with batches: the first of a size warms up, the second is
    captured, and further ones are replayed.

    Batches of other sizes (the last one of an epoch) run uncaptured. Several steps may
    be captured in as many threads, one after the other; each has a stream of its own.
    """

    def __init__(
        self, step: Step, optimizer: AdamW, generator: torch.Generator
    ) -> None:
        self._step, self._optimizer, self._generator = step, optimizer, generator
        self._batch: Tensor | None = None  # where the graph reads its batch
        self._graph: torch.cuda.CUDAGraph | None = None
        self._stream = torch.cuda.Stream()
        # torch would warn that the warm-up ran on a stream of its own, as it should.
        quiet = getattr(
            torch.autograd.graph, "set_warn_on_accumulate_grad_stream_mismatch", None
        )
        if quiet is not None:
            quiet(False)

    def __call__(self, batch: Tensor) -> Tensor:
        """Step with row numbers `batch` (B,); the loss, valid until the next step."""
        if self._batch is None:
            self._batch = batch.clone()
            return self._warm_up(batch)
        if batch.shape != self._batch.shape:
            return self._step(batch)
        self._batch.copy_(batch)
        if self._graph is None:
            self._graph = torch.cuda.CUDAGraph()
            self._graph.register_generator_state(self._generator)
            self._capture(self._graph, self._batch)
        self._optimizer.push_rates()
        self._graph.replay()
        return self._loss

    def _capture(self, graph: torch.cuda.CUDAGraph, batch: Tensor) -> None:
        """Record a step. (torch.cuda.graph would empty the cache of all threads.)"""
        present = torch.cuda.current_stream()
        self._stream.wait_stream(present)
        with _CAPTURING, _without_gc(), torch.cuda.stream(self._stream):
            graph.capture_begin(capture_error_mode="thread_local")
            try:
                self._loss = self._step(batch)
            finally:
                graph.capture_end()
        present.wait_stream(self._stream)

    def _warm_up(self, batch: Tensor) -> Tensor:
        """A plain step, on the stream that will be captured."""
        present = torch.cuda.current_stream()
        self._stream.wait_stream(present)
        with _CAPTURING, torch.cuda.stream(self._stream):  # kernels may be compiled
            loss = self._step(batch)
        present.wait_stream(self._stream)
        return loss
