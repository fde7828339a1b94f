"""All randomness from one seed, and no trace of it outside."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def seeded(seed: int, device: torch.device | None = None) -> Iterator[torch.Generator]:
    """Seed torch within the block, and give a generator of its own for draws.

    Weights and dropout read torch's global generators; on leaving the block these are
    as they were found. Draws of rows read the generator given, so that the one does not
    disturb the other.

    >>> before = torch.get_rng_state()
    >>> with seeded(0) as generator:
    ...     _ = torch.randn(3), torch.randperm(3, generator=generator)
    >>> torch.equal(before, torch.get_rng_state())
    True
    """
    on_cuda = device is not None and device.type == "cuda"
    with torch.random.fork_rng(devices=[device] if on_cuda else []):
        torch.default_generator.manual_seed(seed)
        if on_cuda:
            torch.cuda.manual_seed(seed)
        yield torch.Generator().manual_seed(seed + 1)
