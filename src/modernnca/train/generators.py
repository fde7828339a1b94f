"""The random generators of one training, all from one seed."""

from typing import NamedTuple

import torch


class Generators(NamedTuple):
    """Generators for separate purposes, so that one does not disturb another.

    torch's global generators are never read, so that fits in several threads do not
    depend on each other and leave no trace.
    """

    rows: torch.Generator  # draws of rows: the order of batches, samples
    module: torch.Generator  # initial weights, on the CPU
    device: torch.Generator  # dropout, and draws on the device; on a CPU, `module`

    @classmethod
    def from_seed(cls, seed: int, device: torch.device) -> "Generators":
        """All generators, seeded.

        >>> one, two = (Generators.from_seed(0, torch.device("cpu")) for _ in range(2))
        >>> torch.equal(*(torch.randn(3, generator=g.module) for g in (one, two)))
        True
        """
        module = torch.Generator().manual_seed(seed)
        rows = torch.Generator().manual_seed(seed + 1)
        if device.type == "cpu":
            return cls(rows, module, module)
        return cls(rows, module, torch.Generator(device).manual_seed(seed))

    def state(self) -> dict[str, torch.Tensor]:
        """Their states, for a checkpoint."""
        return {name: each.get_state() for name, each in self._asdict().items()}

    def load_state(self, state: dict[str, torch.Tensor]) -> None:
        """Continue from a checkpoint."""
        for name, each in self._asdict().items():
            each.set_state(state[name].cpu())
