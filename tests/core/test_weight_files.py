"""Weights from files: what a file does not hold is not built."""

import pytest
import torch
from torch import nn

from modernnca.core.weight_files import build_within, check_weights

WEIGHTS = {"weight": torch.zeros(3)}


@pytest.mark.parametrize(
    "build",
    [
        lambda: nn.Linear(10**6, 10**6),
        lambda: nn.ModuleList(nn.Linear(1, 1) for _ in range(10**6)),
        lambda: torch.eye(10**5),  # has the square of its argument
        lambda: torch.zeros(10**4, 10**4),
        lambda: torch.empty(size=(10**4, 10**4)),
    ],
    ids=["wide", "many layers", "identity", "sizes", "one size"],
)
def test_a_network_that_is_larger_than_the_file_is_not_built(build):
    with pytest.raises(ValueError, match="the network is larger than the file"):
        build_within(build, WEIGHTS)


def test_a_network_of_the_size_of_the_file_is_built():
    size = (600, 600)
    assert build_within(lambda: nn.Linear(*size), WEIGHTS).weight.shape == size
    large = {"weight": torch.zeros(1000, 2000)}
    assert build_within(lambda: nn.Linear(2000, 1000), large).out_features == 1000
    assert build_within(lambda: torch.eye(900), WEIGHTS).shape == (900, 900)


def test_weights_have_the_shapes_of_the_module_and_are_finite():
    module = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))
    good = module.state_dict()
    check_weights(module, good)
    for name, bad, words in (
        ("0.weight", torch.zeros(3, 3), "has the shape"),
        ("0.bias", torch.full((3,), torch.inf), "0.bias"),
        ("1.running_var", torch.tensor([1.0, -1.0, 1.0]), "a negative variance"),
    ):
        with pytest.raises(ValueError, match=words):
            check_weights(module, {**good, name: bad})
    check_weights(module, {**good, "1.running_var": torch.zeros(3)})
    check_weights(module, {**good, "1.running_mean": torch.full((3,), -torch.inf)})
