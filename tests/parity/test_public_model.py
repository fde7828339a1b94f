"""Ours beside the public model: the same weights and rows give the same answers."""

import numpy as np
import pytest
import torch
from tests.parity.make_reference import CASES, PATH, make_case
from tests.parity.public_model import LEVELS, load_public_model, our_net
from torch import Tensor
from torch.nn.functional import one_hot

from modernnca.core.distances import DISTANCES
from modernnca.core.learner import Labeled, Method, NeighborLearner
from modernnca.core.losses import LOSSES
from modernnca.core.rows import Rows
from modernnca.core.samplers import SAMPLERS
from modernnca.core.softnn import exponential, soft_vote


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


def labeled(case: dict[str, Tensor], *, d_out: int) -> Labeled:
    offsets = torch.tensor([0, LEVELS[0]])
    rows = Rows(case["numbers"], torch.zeros(24, 0), case["codes"] + offsets)
    y = case["y"]
    values = one_hot(y, d_out).float() if d_out > 1 else y[:, None]
    return Labeled(rows, values, values, None)


def learner_of(case: dict[str, Tensor], *, d_out: int, n_blocks: int):
    weights = {
        name.removeprefix("weight:"): value
        for name, value in case.items()
        if name.startswith("weight:")
    }
    net, table = our_net(weights, n_blocks=n_blocks), labeled(case, d_out=d_out)
    loss = LOSSES["log"]
    method = Method(
        distance=DISTANCES["euclidean"],
        kernel=exponential,
        objective=loss.classes if d_out > 1 else loss.numbers,
        sampler=SAMPLERS["all"],
    )
    learner = NeighborLearner(
        net,
        table,
        None,
        method=method,
        judge=lambda votes: (0.0, 0.0),
        generator=torch.Generator(),
    )
    return net, table, method, learner


@pytest.mark.parametrize("source", [stored, live])
@pytest.mark.parametrize("name", CASES)
def test_the_vote_is_the_public_models(name, source):
    case, d_out = source(name), CASES[name]["d_out"]
    net, table, method, _ = learner_of(case, **CASES[name])
    net.eval()
    with torch.no_grad():
        points = net(table.rows)
        votes = soft_vote(
            points[:8], points[8:], table.values[8:], rule=method.learning_rule(net)
        )
    expected = case["votes"].exp() if d_out > 1 else case["votes"][:, None]
    torch.testing.assert_close(votes.mean, expected, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("source", [stored, live])
@pytest.mark.parametrize("name", ["classes-linear", "numbers-linear"])
def test_the_loss_of_a_batch_and_its_gradient_are_the_public_models(name, source):
    case = source(name)
    net, _, _, learner = learner_of(case, **CASES[name])
    loss = learner.loss(torch.arange(8))
    loss.backward()
    torch.testing.assert_close(loss, case["loss"], atol=1e-5, rtol=1e-5)
    # Shifting all embeddings moves no distance: the public gradient is rounding noise.
    torch.testing.assert_close(
        net.linear.bias.grad, case["gradient"], atol=1e-5, rtol=0
    )
    torch.testing.assert_close(
        net.encode.frequencies.grad, case["gradient:frequencies"], atol=1e-5, rtol=1e-4
    )
