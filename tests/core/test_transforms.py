"""Transforms of numbers: equal to their formulas, monotone, part of the weights."""

import numpy as np
import pytest
import torch
from sklearn.preprocessing import QuantileTransformer

from modernnca.core.network import InputShape, Network, NetworkConfig
from modernnca.core.rows import Rows
from modernnca.core.transforms import TRANSFORMS, Clipped, Quantile, Squashed

RNG = np.random.RandomState(0)
CELLS = np.stack(
    [RNG.lognormal(size=9000), RNG.randint(0, 3, 9000), RNG.randn(9000).round(1)], 1
)
NUMBERS = torch.tensor(CELLS, dtype=torch.float32)
CONFIG = NetworkConfig.defaults().updated({"dim": 8, "column_scales": "learned"})


def transformed(transform):
    transform.prepare(NUMBERS)
    return transform(NUMBERS).numpy()


def test_squashed_equals_its_formula():
    lower, median, upper = np.percentile(CELLS, [25, 50, 75], axis=0)
    scaled = (CELLS - median) / (upper - lower)
    expected = scaled / np.sqrt(1 + (scaled / 3) ** 2)
    np.testing.assert_allclose(transformed(Squashed(3)), expected, atol=1e-5)


def test_squashed_scales_by_half_the_range_if_the_quartiles_are_equal():
    transform = Squashed(2)
    transform.prepare(torch.tensor([[0.0, 5.0]] * 9 + [[4.0, 5.0]]))
    assert transform.scale.tolist() == [0.5, 0.0]  # and a constant column by 0
    assert transform(torch.tensor([[0.0, 7.0]])).tolist() == [[0.0, 0.0]]


def test_quantile_equals_scikit_learns_where_the_quantiles_are_the_same():
    theirs = QuantileTransformer(
        output_distribution="normal", n_quantiles=300, subsample=10**9
    )
    error = np.abs(transformed(Quantile(3)) - theirs.fit_transform(CELLS))
    assert error.mean() < 0.005
    assert error[:, 1].max() < 2e-3  # ties get the middle of their ranks


def test_clipped_limits_numbers_to_the_range_seen_in_training():
    transform = Clipped(3)
    transform.prepare(NUMBERS[:100])
    found, low, high = transform(NUMBERS), CELLS[:100].min(0), CELLS[:100].max(0)
    np.testing.assert_allclose(found, CELLS.clip(low, high), atol=1e-6)
    assert (found != NUMBERS).any()


@pytest.mark.parametrize("transform", [*TRANSFORMS.values(), Clipped])
def test_a_transform_is_monotone_and_finite(transform):
    transform = transform(1)
    transform.prepare(NUMBERS[:, :1])
    far = torch.tensor([[-1e15], [-1.0], [0.0], [0.5], [2.0], [1e15]])
    out = transform(far)
    assert out.isfinite().all()
    assert (out.diff(dim=0) >= 0).all()
    assert out[-1] > out[0]


@pytest.mark.parametrize("transform", [*TRANSFORMS.values(), Clipped])
@pytest.mark.parametrize("n_numbers", [0, 1])
def test_a_constant_column_and_no_column_are_transformed(transform, n_numbers):
    numbers, transform = torch.ones(20, n_numbers), transform(n_numbers)
    transform.prepare(numbers)
    assert transform(numbers).shape == numbers.shape
    assert transform(numbers).isfinite().all()


@pytest.mark.parametrize("clip", [True, False])
@pytest.mark.parametrize("name", TRANSFORMS)
def test_a_transform_is_part_of_the_weights(name, clip):
    config = CONFIG.updated({"numeric_transform": name, "clip_to_range": clip})
    shape = InputShape(3, 0, 0)
    network, other = Network(config, shape).eval(), Network(config, shape).eval()
    network.prepare(NUMBERS[:4000])
    other.load_state_dict(network.state_dict())
    nothing = torch.zeros(len(NUMBERS), 0)
    rows = Rows(NUMBERS, nothing, nothing.long())
    assert torch.equal(network(rows), other(rows))
    assert len(network(rows).unique(dim=0)) > 1000


@pytest.mark.parametrize("name", TRANSFORMS)
def test_only_standard_numbers_are_clipped_and_only_on_request(name):
    for clip in (True, False):
        config = CONFIG.updated({"numeric_transform": name, "clip_to_range": clip})
        kind = type(Network(config, InputShape(3, 0, 0)).transform)
        assert kind is (Clipped if clip and name == "standard" else TRANSFORMS[name])


def test_a_column_scale_learns_at_a_higher_rate():
    network = Network(CONFIG, InputShape(3, 2, 4))
    assert network.scale.tolist() == [1, 1, 1]
    for scale in (network.scale, network.linear.scale, network.linear.level_scale):
        assert scale.rate_factor == 6.0  # which also turns weight decay off


def test_column_scales_are_set_before_training():
    network = Network(CONFIG, InputShape(3, 2, 5))
    codes = torch.tensor([[0, 2], [1, 3], [0, 4], [1, 5]])  # 5 is unknown
    network.init_scales(torch.tensor([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]), codes)
    assert network.scale.tolist() == [1, 2, 3]
    assert network.linear.scale.tolist() == [4, 5]
    assert network.linear.level_scale[:5].tolist() == [6, 6, 7, 7, 7]
    scales = (network.scale, network.linear.scale, network.linear.level_scale)
    assert all(scale.requires_grad for scale in scales)
