"""Seed torch's global generators within a block; weights and dropout draw from them."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import torch

# The generators are global, so only one model at a time may seed them.
_LOCK = threading.RLock()


@contextmanager
def seeded(seed: int, device: torch.device | None = None) -> Iterator[torch.Generator]:
    """Seed torch within the block, and yield a generator for sampling rows.

    Weights and dropout use torch's global generators; their state is restored
    afterwards.

    >>> before = torch.get_rng_state()
    >>> with seeded(0) as generator:
    ...     _ = torch.randn(3), torch.randperm(3, generator=generator)
    >>> torch.equal(before, torch.get_rng_state())
    True
    """
    on_cuda = device is not None and device.type == "cuda"
    with _LOCK, torch.random.fork_rng(devices=[device] if on_cuda else []):
        torch.default_generator.manual_seed(seed)
        if on_cuda:
            torch.cuda.manual_seed(seed)
        yield torch.Generator().manual_seed(seed + 1)
