"""Learners whose course is known, for the tests of the loop."""

import math

import pytest
import torch
from torch import nn
from torch.nn.functional import mse_loss

from modernnca.train.generators import Generators


class LeastSquares:
    """Find w and b in y = w x + b; the score is minus the error, exactly solvable.

    Initial weights and dropout are drawn from `generators`.
    """

    def __init__(self, generators, dropout=0.0, n_rows=24):
        generator = torch.Generator().manual_seed(0)
        self.x = torch.randn(n_rows, 3, generator=generator, dtype=torch.float64)
        self.w = torch.tensor([[1.0], [-2.0], [0.5]]).double()
        self.y = self.x @ self.w + 3
        self.n_rows, self.dropout, self.generators = n_rows, dropout, generators
        self.module = nn.utils.skip_init(nn.Linear, 3, 1).double()
        for parameter in self.module.parameters():
            nn.init.uniform_(parameter, -0.5, 0.5, generator=generators.module)

    def loss(self, batch):
        x = self.x[batch]
        draws = torch.rand(x.shape, generator=self.generators.device)
        kept = x * (draws >= self.dropout) / (1 - self.dropout)
        return mse_loss(self.module(kept), self.y[batch])

    def validate(self):
        with torch.no_grad():
            error = mse_loss(self.module(self.x), self.y).item()
        return -error, error


class Scripted:
    """One weight that counts the steps, and results that are given in advance.

    After step t the weight is t; `results` are (score, loss), one for each epoch.
    `during` is called in each step with the number of steps made before it; unless it
    returns None, it returns the slope of the loss.
    """

    n_rows = 2

    def __init__(self, results=(), during=lambda n_steps: None):
        self.module = nn.utils.skip_init(nn.Linear, 1, 1, bias=False).double()
        nn.init.zeros_(self.module.weight)
        self.results, self.during = iter(results), during
        self.batches = []

    @property
    def weight(self):
        return self.module.weight.item()

    def loss(self, batch):
        slope = self.during(len(self.batches))
        self.batches.append(batch.tolist())
        slope = -1.0 if slope is None else slope
        return slope * self.module.weight.sum()  # with SGD of rate 1: one up a step

    def validate(self):
        return next(self.results, (-math.inf, math.inf))


@pytest.fixture
def generators():
    """Build generators from a seed."""
    return lambda seed=0: Generators.from_seed(seed, torch.device("cpu"))


@pytest.fixture
def least_squares():
    return LeastSquares


@pytest.fixture
def scripted():
    return Scripted


class Clock:
    """A clock that stands still until somebody moves it."""

    now = 100.0

    def monotonic(self):
        return self.now

    def tick(self, n_steps=0):
        """One second passes."""
        self.now += 1


@pytest.fixture
def clock(monkeypatch):
    """The clock of training and of budgets."""
    clock = Clock()
    for module in ("loop", "budget"):
        monkeypatch.setattr(f"modernnca.train.{module}.time", clock)
    return clock
