"""Encodings: each cell equals its formula, written out slowly."""

import math

import numpy as np
import pytest
import torch

from modernnca.core.encodings import PBLD, PLE, PLR, EncodingConfig, Periodic, PLRLite

CONFIG = EncodingConfig(n_frequencies=4, frequency_scale=0.5, d_encoding=5, n_bins=4)


def build(kind, n_numbers=3, config=CONFIG):
    return kind(n_numbers, config, torch.Generator().manual_seed(0)).double()


def cells(encoding, numbers):
    """The outputs of each cell apart: (N, P, d)."""
    return encoding(numbers).unflatten(1, (numbers.shape[1], -1)).detach().numpy()


def numpy_of(*tensors):
    return [tensor.detach().numpy() for tensor in tensors]


def slow_waves(frequencies, x):
    angles = [2 * math.pi * frequency * x for frequency in frequencies]
    return np.array([math.cos(a) for a in angles] + [math.sin(a) for a in angles])


def each_cell(numbers, formula):
    """`formula(column, x)` for each cell, as (N, P, d)."""
    return np.array([[formula(p, float(x)) for p, x in enumerate(r)] for r in numbers])


def test_periodic_gives_cosines_and_sines_of_each_cell(draw):
    encoding, numbers = build(Periodic), draw(6, 3)
    (frequencies,) = numpy_of(encoding.frequencies)
    expected = each_cell(numbers, lambda p, x: slow_waves(frequencies[p], x))
    np.testing.assert_allclose(cells(encoding, numbers), expected, atol=1e-12)


def test_plr_lite_shares_one_linear_layer(draw):
    encoding, numbers = build(PLRLite), draw(6, 3)
    frequencies, weight, bias = numpy_of(
        encoding.frequencies, encoding.linear.weight, encoding.linear.bias
    )

    def formula(p, x):
        return np.maximum(weight @ slow_waves(frequencies[p], x) + bias, 0)

    expected = each_cell(numbers, formula)
    np.testing.assert_allclose(cells(encoding, numbers), expected, atol=1e-12)


def test_plr_has_a_linear_layer_for_each_column(draw):
    encoding, numbers = build(PLR), draw(6, 3)
    frequencies, weight, bias = numpy_of(
        encoding.frequencies, encoding.weight, encoding.bias
    )

    def formula(p, x):
        waves = slow_waves(frequencies[p], x)
        return np.maximum(weight[p].T @ waves + bias[p], 0)

    expected = each_cell(numbers, formula)
    np.testing.assert_allclose(cells(encoding, numbers), expected, atol=1e-12)


def test_plr_with_equal_weights_for_all_columns_is_plr_lite(draw):
    lite, full, numbers = build(PLRLite), build(PLR), draw(6, 3)
    with torch.no_grad():
        full.frequencies.copy_(lite.frequencies)
        full.weight.copy_(lite.linear.weight.T.expand(3, 8, 5))
        full.bias.copy_(lite.linear.bias.expand(3, 5))
    torch.testing.assert_close(full(numbers), lite(numbers))


def test_pbld_gives_the_number_and_linear_outputs_of_its_waves(draw):
    encoding, numbers = build(PBLD), draw(6, 3)
    frequencies, phases, weight, bias = numpy_of(
        encoding.frequencies, encoding.phases, encoding.weight, encoding.bias
    )

    def formula(p, x):
        waves = np.cos(2 * math.pi * frequencies[p] * x + phases[p])
        return [x, *(waves @ weight[p] + bias[p])]

    expected = each_cell(numbers, formula)
    np.testing.assert_allclose(cells(encoding, numbers), expected, atol=1e-12)


@pytest.mark.parametrize("kind", [Periodic, PLRLite, PLR, PBLD])
def test_initial_frequencies_have_the_scale_of_the_config(kind):
    config = CONFIG.updated({"n_frequencies": 100, "frequency_scale": 0.3})
    frequencies = build(kind, 50, config).frequencies
    assert frequencies.std().item() == pytest.approx(0.3, rel=0.05)
    assert frequencies.mean().item() == pytest.approx(0, abs=0.02)


def piecewise(edges, x):
    """Gorishniy et al. (2022), equation 1: bin t is [b(t-1), b(t))."""
    n_bins = len(edges) - 1
    code = []
    for t in range(1, n_bins + 1):
        below, above = edges[t - 1], edges[t]
        if x < below and t > 1:
            code.append(0.0)
        elif x >= above and t < n_bins:
            code.append(1.0)
        else:
            code.append((x - below) / (above - below))
    return code


def prepared(numbers, n_bins):
    encoding = PLE(numbers.shape[1], EncodingConfig(n_bins=n_bins)).double()
    encoding.prepare(numbers)
    return encoding


def test_ple_is_piecewise_linear_between_quantiles_and_beyond(draw):
    # 21 rows, 4 bins: the quantiles are the sorted rows 0, 5, 10, 15, 20.
    seen = draw(21, 2)
    edges = seen.sort(0).values[::5].numpy()
    queries = torch.cat([draw(30, 2), seen, torch.tensor([[-50.0, 70.0]]).double()])
    expected = each_cell(queries, lambda p, x: piecewise(edges[:, p], x))
    found = cells(prepared(seen, n_bins=4), queries)
    np.testing.assert_allclose(found, expected, atol=1e-12)
    assert found[-1, 0, 0] < -1  # far below: the first bin extends
    assert found[-1, 1, -1] > 1  # far above: the last bin extends


@pytest.mark.parametrize(
    ("column", "edges"),
    [
        ([0.0, 0, 0, 1, 1], [0, 1]),  # two values: one bin, without bounds
        ([2.0, 2, 3, 3, 7, 7], [2, 3, 7]),  # three values: two bins
    ],
)
def test_ple_gives_few_values_few_bins_and_zeros_for_the_rest(column, edges):
    found = prepared(torch.tensor(column).double()[:, None], n_bins=8)
    queries = torch.tensor([-3.0, 0.0, 0.4, 1.0, 2.5, 6.0, 9.0]).double()
    n_used = len(edges) - 1
    codes = found(queries[:, None]).numpy()
    expected = [piecewise(edges, x) for x in queries.tolist()]
    np.testing.assert_allclose(codes[:, :n_used], expected, atol=1e-12)
    assert (codes[:, n_used:] == 0).all()


def test_ple_encodes_a_constant_column_as_zeros():
    assert (prepared(torch.full((9, 1), 4.0), n_bins=3)(torch.randn(5, 1)) == 0).all()


def test_ple_is_strictly_increasing(draw):
    encoding = prepared(draw(40, 1), n_bins=6)
    queries = torch.linspace(-9, 9, 100).double()[:, None]
    assert (encoding(queries).sum(1).diff() > 0).all()
