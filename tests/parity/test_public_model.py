"""Ours equals the public model: the same weights and rows give the same outputs."""

import numpy as np
import pytest
import torch
from tests.parity.make_reference import CASES, PATH, make_case
from tests.parity.public_model import (
    LEVELS,
    load_public_model,
    our_config,
    our_network,
)
from torch import Tensor
from torch.nn.functional import one_hot

from modernnca.core.rows import Examples, Rows
from modernnca.core.softnn import soft_vote
from modernnca.ensemble.learner import NeighborLearner
from modernnca.train.generators import Generators


def stored(case: str) -> dict[str, Tensor]:
    with np.load(PATH) as arrays:
        return {
            name.removeprefix(f"{case}/"): torch.from_numpy(arrays[name])
            for name in arrays.files
            if name.startswith(f"{case}/")
        }


def live(case: str) -> dict[str, Tensor]:
    if load_public_model() is None:
        pytest.skip("the tabarena wheel is not installed: make test installs it")
    return {name: torch.from_numpy(v) for name, v in make_case(**CASES[case]).items()}


def examples(case: dict[str, Tensor], *, d_out: int) -> Examples:
    offsets = torch.tensor([0, LEVELS[0]])
    rows = Rows(case["numbers"], torch.zeros(24, 0), case["codes"] + offsets)
    y = case["y"]
    values = one_hot(y, d_out).float() if d_out > 1 else y[:, None]
    return Examples(rows, values, values)


def learner_of(case: dict[str, Tensor], *, d_out: int, n_blocks: int):
    weights = {
        name.removeprefix("weight:"): value
        for name, value in case.items()
        if name.startswith("weight:")
    }
    network = our_network(weights, n_blocks=n_blocks)
    table = examples(case, d_out=d_out)
    learner = NeighborLearner(
        network,
        table,
        None,
        config=our_config(n_blocks=n_blocks),
        evaluate=None,
        generators=Generators.from_seed(0, torch.device("cpu")),
    )
    return network, table, learner


@pytest.mark.parametrize("source", [stored, live])
@pytest.mark.parametrize("name", CASES)
def test_the_vote_equals_the_public_models(name, source):
    case, d_out = source(name), CASES[name]["d_out"]
    network, table, _ = learner_of(case, **CASES[name])
    rule = our_config(n_blocks=CASES[name]["n_blocks"]).prediction_rule(network)
    network.eval()
    with torch.no_grad():
        points = network(table.rows)
        votes = soft_vote(points[:8], points[8:], table.values[8:], rule=rule)
    expected = case["votes"].exp() if d_out > 1 else case["votes"][:, None]
    torch.testing.assert_close(votes.mean, expected, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("source", [stored, live])
@pytest.mark.parametrize("name", ["classes-linear", "numbers-linear"])
def test_the_loss_of_a_batch_and_its_gradient_equal_the_public_models(name, source):
    case = source(name)
    network, _, learner = learner_of(case, **CASES[name])
    loss = learner.loss(torch.arange(8))
    loss.backward()
    torch.testing.assert_close(loss, case["loss"], atol=1e-5, rtol=1e-5)
    # Shifting all embeddings moves no distance: the public gradient is rounding noise.
    torch.testing.assert_close(
        network.linear.bias.grad, case["gradient"], atol=1e-5, rtol=0
    )
    torch.testing.assert_close(
        network.encode.frequencies.grad,
        case["gradient:frequencies"],
        atol=1e-5,
        rtol=1e-4,
    )
