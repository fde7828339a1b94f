"""Fixtures of the contracts."""

import pytest
import torch


@pytest.fixture
def draw():
    """Normal numbers in float64, the same in every run."""
    generator = torch.Generator().manual_seed(0)

    def normal(*size):
        return torch.randn(*size, generator=generator, dtype=torch.float64)

    return normal
