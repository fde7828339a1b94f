"""A training step, recorded once as a CUDA graph and replayed.

On a GPU, the hundreds of small kernels of a step take longer to start than to run;
recorded, they start together. A step that can be recorded never waits for the device
and always does the same: same shapes, random numbers of the device's own generator.
"""

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from torch import Tensor
from torch.optim import Optimizer

Step = Callable[[Tensor], Tensor]


@contextmanager
def _uncollected() -> Iterator[None]:
    """No garbage is collected meanwhile: an old graph among it, freed while a new one
    is recorded, would spoil that.
    """
    gc.collect()  # other streams' memory, too, is given back before
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


class Recorded:
    """The step, called with batches: the first of a size is a rehearsal, the second
    is recorded, and further ones are replayed.

    Batches of other sizes (the last one of an epoch) are stepped as ever. The optimizer
    is one whose state lives on the device, as torch's fused ones do.
    """

    def __init__(self, step: Step, optimizer: Optimizer) -> None:
        self._step, self._optimizer = step, optimizer
        self._batch: Tensor | None = None  # where the graph reads its batch
        self._graph: torch.cuda.CUDAGraph | None = None
        self._stream = torch.cuda.Stream()
        # torch would warn that the rehearsal ran on a stream of its own, as it should.
        quiet = getattr(
            torch.autograd.graph, "set_warn_on_accumulate_grad_stream_mismatch", None
        )
        if quiet is not None:
            quiet(False)

    def __call__(self, batch: Tensor) -> Tensor:
        """Step with row numbers `batch` (B,); the loss, good until the next step."""
        if self._batch is None:
            self._batch = batch.clone()
            return self._rehearse(batch)
        if batch.shape != self._batch.shape:
            return self._step(batch)
        self._batch.copy_(batch)
        if self._graph is None:
            self._graph = torch.cuda.CUDAGraph()
            self._allow(True)
            with _uncollected(), torch.cuda.graph(self._graph, stream=self._stream):
                self._loss = self._step(self._batch)
            self._allow(False)
        self._graph.replay()
        return self._loss

    def _allow(self, capturable: bool) -> None:
        """Torch wants to be told, but warns where steps are then not recorded."""
        for group in self._optimizer.param_groups:
            group["capturable"] = capturable

    def _rehearse(self, batch: Tensor) -> Tensor:
        """A step like any other, on the stream that will be recorded."""
        present = torch.cuda.current_stream()
        self._stream.wait_stream(present)
        with torch.cuda.stream(self._stream):
            loss = self._step(batch)
        present.wait_stream(self._stream)
        return loss
