"""Learners whose course is known, for the tests of the loop."""

import math

import pytest
import torch
from torch import nn
from torch.nn.functional import mse_loss


class LeastSquares:
    """Find w and b in y = w x + b; the score is minus the error, exactly solvable."""

    def __init__(self, dropout=0.0, n_rows=24):
        generator = torch.Generator().manual_seed(0)
        self.x = torch.randn(n_rows, 3, generator=generator, dtype=torch.float64)
        self.w = torch.tensor([[1.0], [-2.0], [0.5]]).double()
        self.y = self.x @ self.w + 3
        self.n_rows = n_rows
        torch.manual_seed(0)
        self.module = nn.Sequential(nn.Dropout(dropout), nn.Linear(3, 1)).double()
        self.n_validations = 0

    def loss(self, batch):
        return mse_loss(self.module(self.x[batch]), self.y[batch])

    def validate(self):
        self.n_validations += 1
        self.module.eval()
        with torch.no_grad():
            error = mse_loss(self.module(self.x), self.y).item()
        return -error, error


class Scripted:
    """One weight that counts the steps, and verdicts that are given in advance.

    After step t the weight is t; `verdicts` are (score, loss), one for each epoch.
    `during` is called in each step with the number of steps made before it.
    """

    n_rows = 2

    def __init__(self, verdicts=(), during=lambda n_steps: None):
        self.module = nn.Linear(1, 1, bias=False).double()
        nn.init.zeros_(self.module.weight)
        self.verdicts, self.during = iter(verdicts), during
        self.batches = []

    @property
    def weight(self):
        return self.module.weight.item()

    def loss(self, batch):
        answer = self.during(len(self.batches))
        self.batches.append(batch.tolist())
        factor = -1.0 if answer is None else answer
        return factor * self.module.weight.sum()  # with SGD of rate 1: one up a step

    def validate(self):
        score, loss = next(self.verdicts, (-math.inf, math.inf))
        return score, loss


@pytest.fixture
def least_squares():
    return LeastSquares


@pytest.fixture
def scripted():
    return Scripted
