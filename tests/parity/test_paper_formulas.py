"""Ours equals the paper's formulas, written out number by number in float64."""

import math

import numpy as np
import pytest
import torch
from tests.parity.make_reference import CASES
from tests.parity.public_model import D_NUM, ENCODING, LEVELS
from tests.parity.test_public_model import learner_of, stored

from modernnca.core.distances import euclidean, squared_euclidean
from modernnca.core.losses import log_loss, squared_error
from modernnca.core.softnn import Rule, soft_vote


def encode_by_hand(
    x: float, column: int, weights: dict[str, np.ndarray]
) -> list[float]:
    """PLR lite of one cell: ReLU(Linear([cos, sin](2 pi f x)))."""
    angles = [
        2 * math.pi * f * x for f in weights["num_embeddings.0.frequencies"][column]
    ]
    waves = [math.cos(a) for a in angles] + [math.sin(a) for a in angles]
    weight, bias = weights["num_embeddings.1.weight"], weights["num_embeddings.1.bias"]
    return [
        max(
            0.0,
            sum(w * wave for w, wave in zip(weight[o], waves, strict=True)) + bias[o],
        )
        for o in range(ENCODING["d_encoding"])
    ]


def block_by_hand(x: np.ndarray, weights: dict[str, np.ndarray], i: int) -> np.ndarray:
    """g(x) = Linear(Dropout(ReLU(Linear(BatchNorm(x))))), in evaluation."""
    p = f"post_encoder.{i}.block"
    x = norm_by_hand(x, weights, f"{p}.0")
    x = np.maximum(weights[f"{p}.1.weight"] @ x + weights[f"{p}.1.bias"], 0)
    return weights[f"{p}.4.weight"] @ x + weights[f"{p}.4.bias"]


def norm_by_hand(x: np.ndarray, weights: dict[str, np.ndarray], p: str) -> np.ndarray:
    scale = np.sqrt(weights[f"{p}.running_var"] + 1e-5)
    x = (x - weights[f"{p}.running_mean"]) / scale
    return x * weights[f"{p}.weight"] + weights[f"{p}.bias"]


def embed_by_hand(case: dict, row: int, *, n_blocks: int) -> np.ndarray:
    weights = {
        name.removeprefix("weight:"): value.double().numpy()
        for name, value in case.items()
        if name.startswith("weight:")
    }
    x = []
    for column in range(D_NUM):
        x += encode_by_hand(float(case["numbers"][row, column]), column, weights)
    for column, n_levels in enumerate(LEVELS):
        code = int(case["codes"][row, column])
        x += [1.0 if level == code else 0.0 for level in range(n_levels)]
    point = weights["encoder.weight"] @ np.array(x) + weights["encoder.bias"]
    for i in range(n_blocks):
        point = block_by_hand(point, weights, i)
    return (
        norm_by_hand(point, weights, f"post_encoder.{n_blocks}") if n_blocks else point
    )


def vote_by_hand(
    points: np.ndarray, values: np.ndarray, i: int, power: int
) -> np.ndarray:
    """The paper's equation for y-hat, for row i, which does not vote itself."""
    total, vote = 0.0, np.zeros(values.shape[1])
    for j in range(len(points)):
        if j != i:
            distance = math.sqrt(sum((points[i] - points[j]) ** 2))
            weight = math.exp(-(distance**power))
            total, vote = total + weight, vote + weight * values[j]
    return vote / total


@pytest.mark.parametrize("name", CASES)
def test_embedding_vote_and_loss_are_the_papers(name):
    case, shape = stored(name), CASES[name]
    network, table, _ = learner_of(case, **shape)
    network = network.double().eval()
    rows = table.rows._replace(numbers=table.rows.numbers.double())
    rows = rows._replace(plain=rows.plain.double())
    values = table.values.double()
    points = network(rows)
    expected = np.array(
        [embed_by_hand(case, i, n_blocks=shape["n_blocks"]) for i in range(24)]
    )
    np.testing.assert_allclose(points.detach().numpy(), expected, atol=1e-6, rtol=1e-6)

    mask = torch.eye(24, dtype=torch.bool)
    for distance, power in ((euclidean, 1), (squared_euclidean, 2)):
        rule = Rule(distance)
        votes = soft_vote(points, points, values, rule=rule, mask=mask)
        by_hand = [vote_by_hand(expected, values.numpy(), i, power) for i in range(24)]
        np.testing.assert_allclose(
            votes.mean.detach().numpy(), by_hand, atol=1e-6, rtol=1e-6
        )
        vote_loss = log_loss if shape["d_out"] > 1 else squared_error
        losses = vote_loss(votes.mean, values).detach().numpy()
        if shape["d_out"] > 1:
            right = [vote[int(y)] for vote, y in zip(by_hand, case["y"], strict=True)]
            expected_losses = [-math.log(p + 1e-7) for p in right]
        else:
            expected_losses = [
                float(vote[0] - y) ** 2
                for vote, y in zip(by_hand, case["y"].double(), strict=True)
            ]
        np.testing.assert_allclose(losses, expected_losses, atol=1e-6, rtol=1e-6)
