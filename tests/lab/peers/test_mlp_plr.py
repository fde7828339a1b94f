"""MLP-PLR: an MLP on periodic encodings of the numbers."""

import math

import torch
from tests.lab.peers.shapes import make_rows, onehot
from torch import nn

from modernnca.lab.peers.mlp_plr import EncodedInput, build

SIZES = {"n_frequencies": 5, "frequency_scale": 0.3, "d_encoding": 4}


def test_numbers_are_encoded_by_the_formula_and_the_other_columns_are_unchanged():
    torch.manual_seed(0)
    rows, shape = make_rows()
    encoded = EncodedInput(shape, **SIZES)
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
    assert encoded.d_out == expected.shape[1]


def test_a_table_without_numbers_has_no_encoding():
    rows, shape = make_rows(n_numbers=0)
    encoded = EncodedInput(shape, **SIZES)
    assert encoded(rows).shape == (6, 6)
    assert encoded.d_out == 6


def test_the_network_is_an_mlp_on_the_encoded_columns():
    torch.manual_seed(0)
    rows, shape = make_rows(d_out=3)
    net = build(shape, n_layers=2, d_layer=7, dropout=0.5, **SIZES).eval()
    x = net[0](rows)
    linears = [part for part in net[1] if isinstance(part, nn.Linear)]
    for layer in linears[:-1]:
        x = layer(x).clamp(min=0)
    assert torch.allclose(net(rows), linears[-1](x), atol=1e-6)
    assert [layer.out_features for layer in linears] == [7, 7, 3]


def test_frequencies_are_learned():
    rows, shape = make_rows()
    net = build(shape, n_layers=1, d_layer=7, dropout=0.0, **SIZES)
    net(rows).square().sum().backward()
    assert (net[0].encode.frequencies.grad != 0).all()
