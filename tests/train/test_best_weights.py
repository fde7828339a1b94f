"""The best weights: what is better, and what is kept of the best."""

import math

import pytest
import torch
from torch import nn

from modernnca.train.best_weights import BestWeights, better, gained


@pytest.mark.parametrize(
    ("new", "old", "expected"),
    [
        ((0.9, 5.0), (0.8, 1.0), True),  # the score decides
        ((0.8, 1.0), (0.9, 5.0), False),
        ((0.9, 1.0), (0.9, 2.0), True),  # then the loss
        ((0.9, 2.0), (0.9, 2.0), False),
        ((math.nan, 0.0), (0.1, 1.0), False),
        ((0.9, math.nan), (0.9, 1.0), False),
        ((-5.0, 1.0), (-math.inf, math.inf), True),
    ],
)
def test_what_is_better(new, old, expected):
    assert better(new, old) is expected


@pytest.mark.parametrize(
    ("new", "old", "expected"),
    [
        ((0.9, 5.0), (0.9, 1.0), True),  # the loss does not matter
        ((0.9, math.nan), (0.9, 1.0), True),
        ((0.8, 1.0), (0.9, 5.0), False),
        ((math.nan, 0.0), (0.1, 1.0), False),
    ],
)
def test_what_is_better_if_later_ones_win_ties(new, old, expected):
    assert better(new, old, tie_break="later") is expected


def test_the_best_is_a_copy_with_the_buffers():
    module = nn.BatchNorm1d(2)
    best = BestWeights(module)
    module(torch.randn(5, 2))
    best.update(1, (0.5, 1.0))
    kept = {name: value.clone() for name, value in module.state_dict().items()}
    module(torch.randn(5, 2))  # the statistics move on
    with torch.no_grad():
        module.weight.fill_(7)
    best.restore()
    assert all(torch.equal(v, kept[k]) for k, v in module.state_dict().items())


def test_before_any_update_the_first_weights_are_kept():
    module = nn.Linear(1, 1)
    first = module.weight.item()
    best = BestWeights(module)
    nn.init.zeros_(module.weight)
    best.restore()
    assert (best.epoch, module.weight.item()) == (0, first)


@pytest.mark.parametrize(("tie_break", "epoch"), [("loss", 1), ("later", 2)])
def test_the_weights_of_a_tie(tie_break, epoch):
    module = nn.Linear(1, 1)
    best = BestWeights(module, tie_break=tie_break)
    for number in (1, 2):
        nn.init.constant_(module.weight, number)
        best.update(number, (0.5, 1.0))
    best.restore()
    assert (best.epoch, module.weight.item()) == (epoch, epoch)


def test_the_state_is_complete():
    module = nn.Linear(1, 1)
    best = BestWeights(module)
    best.update(1, (0.5, 1.0))
    best.update(2, (0.4, 1.0))
    other = BestWeights(nn.Linear(1, 1))
    other.load_state(best.state())
    assert (other.epoch, other.result, other.n_since) == (1, (0.5, 1.0), 1)
    other.restore()
    assert torch.equal(other.module.weight, module.weight)
    assert not other.update(3, (0.5, 1.0))
    assert other.n_since == 2


@pytest.mark.parametrize(
    ("new", "old", "expected"),
    [
        ((0.91, 1.0), (0.90, 1.0), True),  # a tenth of what is left
        ((0.9002, 1.0), (0.90, 1.0), False),  # 0.2 %
        ((0.90, 0.99), (0.90, 1.0), True),  # the loss gains 1 %
        ((0.90, 0.999), (0.90, 1.0), False),
        ((-9.9, 1.0), (-10.0, 1.0), True),  # an RMSE
        ((-9.99, 1.0), (-10.0, 1.0), False),
        ((math.nan, math.nan), (0.9, 1.0), False),
    ],
)
def test_a_clear_gain_is_a_share_of_what_is_left(new, old, expected):
    assert gained(new, old, 0.003) is expected


def test_small_gains_do_not_reset_the_patience():
    best = BestWeights(nn.Linear(1, 1), min_gain=0.1)
    for epoch, score in enumerate([0.5, 0.51, 0.52, 0.53], 1):
        assert best.update(epoch, (score, 1.0))  # each is the best so far
    assert (best.epoch, best.n_since) == (4, 3)
    best.update(5, (0.56, 1.0))  # together with those before, a clear gain
    assert best.n_since == 0
    again = BestWeights(nn.Linear(1, 1), min_gain=0.1)
    again.load_state(best.state())
    assert again.mark == best.mark
