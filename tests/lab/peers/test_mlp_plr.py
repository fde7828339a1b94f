"""MLP-PLR: an MLP behind waves of the numbers."""

import math

import pytest
import torch
from tests.lab.peers.shapes import onehot, some_rows
from torch import nn

from modernnca.lab.peers.mlp_plr import Encoded, build

WAVES = {"n_frequencies": 5, "frequency_scale": 0.3, "d_encoding": 4}


def test_the_encoding_equals_its_formula_and_the_rest_stays_as_it_is():
    torch.manual_seed(0)
    rows, shape = some_rows()
    encoded = Encoded(shape, **WAVES)
    columns = []
    for column, frequencies in zip(
        rows.numbers.T, encoded.encode.frequencies, strict=True
    ):
        angles = 2 * math.pi * column[:, None] * frequencies
        waves = torch.cat([angles.cos(), angles.sin()], 1)
        linear = encoded.encode.linear  # one for all columns: "lite"
        columns.append((waves @ linear.weight.T + linear.bias).clamp(min=0))
    expected = torch.cat([*columns, rows.plain, onehot(rows, shape.levels)], 1)
    assert torch.allclose(encoded(rows), expected, atol=1e-6)
    assert encoded.widths == [4, 4, 4, 1, 2, 3]
    assert encoded.d_out == expected.shape[1]


def test_without_an_encoding_it_is_flat():
    rows, shape = some_rows()
    plain = Encoded(shape, encoding="none", **WAVES)
    assert plain.widths == [1, 1, 1, 1, 2, 3]
    assert torch.equal(plain(rows)[:, :3], rows.numbers)


def test_an_unknown_encoding_is_said():
    _, shape = some_rows()
    with pytest.raises(ValueError, match="Unknown encoding 'wavelets'; choose one of"):
        Encoded(shape, encoding="wavelets", **WAVES)


def test_no_numbers_no_waves():
    rows, shape = some_rows(n_numbers=0)
    encoded = Encoded(shape, **WAVES)
    assert encoded(rows).shape == (6, 6)
    assert encoded.d_out == 6


def test_the_whole_is_an_mlp_on_them():
    torch.manual_seed(0)
    rows, shape = some_rows(d_out=3)
    net = build(shape, n_layers=2, d_layer=7, dropout=0.5, **WAVES).eval()
    x = net[0](rows)
    linears = [part for part in net[1] if isinstance(part, nn.Linear)]
    for layer in linears[:-1]:
        x = layer(x).clamp(min=0)
    assert torch.allclose(net(rows), linears[-1](x), atol=1e-6)
    assert [layer.out_features for layer in linears] == [7, 7, 3]


def test_frequencies_are_learned():
    rows, shape = some_rows()
    net = build(shape, n_layers=1, d_layer=7, dropout=0.0, **WAVES)
    net(rows).square().sum().backward()
    assert (net[0].encode.frequencies.grad != 0).all()
