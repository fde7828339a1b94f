"""Networks evaluated together give what each gives alone."""

import pytest
import torch

from modernnca.core.network import InputShape, Network, NetworkConfig
from modernnca.core.network_stack import NetworkStack, can_stack
from modernnca.core.rows import Rows
from modernnca.kernels.knots import place_cells, place_knots

SIZES = {"dim": 16, "d_block": 8, "column_scales": "learned", "n_frequencies": 5}
MIXED = [
    {"n_blocks": 0},
    {"numeric_transform": "quantile"},
    {"numeric_transform": "squashed", "n_blocks": 2},
    {"n_blocks": 2},
    {"numeric_transform": "quantile", "n_blocks": 0, "frequency_scale": 1.0},
    {"clip_to_range": False, "n_blocks": 1},
    {"embedding": "linear"},
]


def make_rows(n_rows, shape, seed):
    generator = torch.Generator().manual_seed(seed)
    return Rows(
        torch.randn(n_rows, shape.n_numbers, generator=generator),
        torch.randn(n_rows, shape.n_plain, generator=generator),
        torch.randint(shape.n_levels + 1, (n_rows, 2), generator=generator)[
            :, : 2 * (shape.n_levels > 0)
        ],
    )


def make_network(shape, options, seed):
    """A network whose every parameter and statistic is random."""
    generator = torch.Generator().manual_seed(seed)
    config = NetworkConfig.defaults().updated({**SIZES, **options})
    network = Network(config, shape, generator)
    rows = make_rows(50, shape, 0)
    network.prepare(rows.numbers)
    network.train()(rows)  # for the running statistics
    with torch.no_grad():
        for parameter in network.parameters():
            noise = torch.rand(parameter.shape, generator=generator)
            parameter.add_(0.3 * noise)
    return network.eval().requires_grad_(False)


@pytest.mark.parametrize("n_rows", [0, 1, 7])
@pytest.mark.parametrize(
    "common", [{}, {"encoding": "none"}, {"column_scales": "none"}]
)
@pytest.mark.parametrize(
    "shape", [InputShape(4, 2, 6), InputShape(3, 0, 0), InputShape(0, 1, 4)], ids=str
)
def test_together_is_as_alone(shape, common, n_rows):
    networks = [
        make_network(shape, {**options, **common}, seed)
        for seed, options in enumerate(MIXED)
    ]
    assert can_stack(networks)
    rows = make_rows(n_rows, shape, 99)
    found = NetworkStack(networks)(rows)
    assert found.shape == (len(MIXED), n_rows, 16)
    for one, network in zip(found, networks, strict=True):
        torch.testing.assert_close(one, network(rows), rtol=1e-5, atol=1e-5)


def test_equal_transforms_are_applied_once():
    shape = InputShape(4, 0, 0)
    networks = [make_network(shape, options, i) for i, options in enumerate(MIXED)]
    assert len(NetworkStack(networks)._transforms) == 4  # clipped, two, standard
    # A transform that has learned from other rows is another one.
    networks[3].transform.high += 1.0
    assert len(NetworkStack(networks)._transforms) == 5


@pytest.mark.parametrize(
    "other",
    [
        {"dim": 8},
        {"d_block": 4},
        {"n_frequencies": 3},
        {"encoding": "plr"},
        {"encoding": "none"},
        {"embedding": "residual"},
        {"embedding": "layernorm"},
        {"column_scales": "none"},
    ],
    ids=str,
)
def test_networks_of_other_shapes_are_not_stacked(other):
    shape = InputShape(4, 2, 6)
    networks = [make_network(shape, options, 0) for options in ({}, other)]
    assert not can_stack(networks)


@pytest.mark.parametrize("by_knots", [False, True])
def test_in_training_each_network_has_its_own_gradient(by_knots):
    """The sum of the losses of a stack teaches each network as if it were alone."""
    shape = InputShape(4, 2, 6)
    networks = [
        make_network(shape, {**options, "dropout": 0.0}, seed)
        .train()
        .requires_grad_(True)
        for seed, options in enumerate(MIXED)
    ]
    stack, rows = NetworkStack(networks), make_rows(50, shape, 99)
    generator = torch.Generator().manual_seed(0)
    factor = torch.randn(50, 16, generator=generator)
    knots = place_knots(rows.numbers, 64)
    cells = place_cells(rows.numbers, knots)

    def embed(module):
        if not by_knots:
            return module(rows)
        return module.forward_cells(cells.look_up(module.knot_table(knots)), rows)

    (embed(stack) * factor).sum().backward()
    for network in networks:
        (embed(network) * factor).sum().backward()
    for stacked, parts in stack._copied:
        for place, part in enumerate(parts):
            if part.grad is not None:
                found = stacked.grad[place]
                torch.testing.assert_close(found, part.grad, rtol=2e-3, atol=2e-4)
    own = [n.blocks[0][0] for n in networks if len(list(n.blocks.children()))]
    means = [norm.running_mean.clone() for norm in own]
    stack.write_back()
    for norm, mean in zip(own, means, strict=True):
        torch.testing.assert_close(norm.running_mean, mean)


def test_what_a_stack_has_learned_is_written_back():
    shape = InputShape(4, 2, 6)
    networks = [make_network(shape, options, i) for i, options in enumerate(MIXED)]
    stack, rows = NetworkStack(networks), make_rows(9, shape, 1)
    with torch.no_grad():
        for parameter in stack.parameters():
            parameter.mul_(1.5)
    assert not torch.allclose(stack(rows)[0], networks[0](rows), atol=1e-3)
    stack.write_back()
    for one, network in zip(stack(rows), networks, strict=True):
        torch.testing.assert_close(one, network(rows), rtol=1e-4, atol=1e-5)
