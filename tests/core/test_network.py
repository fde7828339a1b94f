"""The network: its parts in sequence, for every kind of table."""

import pytest
import torch

from modernnca.core.network import InputShape, Network, NetworkConfig, embed_rows
from modernnca.core.rows import Examples, Rows, concatenate

SMALL = {"n_frequencies": 4, "d_encoding": 3, "n_bins": 4, "dim": 5, "d_block": 7}
PLAIN = {
    "n_blocks": 0,
    "clip_to_range": False,
    "column_scales": "none",
    "temperature": 1.0,
}
CONFIG = NetworkConfig.defaults().updated(SMALL | PLAIN)


def build(n_numbers=3, n_plain=2, n_levels=4, *, encode_numbers=True, **options):
    shape = InputShape(n_numbers, n_plain, n_levels, encode_numbers)
    generator = torch.Generator().manual_seed(0)
    network = Network(CONFIG.updated(options), shape, generator)
    network.draw_dropout_from(generator)
    return network


@pytest.fixture
def table(draw):
    def rows(n_rows, n_numbers=3, n_plain=2, n_codes=2, n_levels=4):
        codes = torch.arange(n_rows * n_codes).reshape(n_rows, n_codes)
        return Rows(
            draw(n_rows, n_numbers).float(),
            draw(n_rows, n_plain).float(),
            codes % (n_levels + 1),
        )

    return rows


def test_a_row_is_encoded_then_concatenated_then_embedded(table):
    network, rows = build(n_blocks=1, dropout=0.0).eval(), table(6)
    encoded = network.encode(rows.numbers)
    assert encoded.shape == (6, 3 * 3)
    joined = torch.cat([encoded, rows.plain], 1)
    expected = network.blocks(network.linear(joined, rows.codes))
    torch.testing.assert_close(network(rows), expected)


@pytest.mark.parametrize(
    ("n_numbers", "n_plain", "n_codes", "n_levels"),
    [
        (3, 0, 0, 0),  # numbers only
        (0, 2, 0, 0),  # plain columns only
        (0, 0, 2, 4),  # categories only
        (0, 2, 2, 4),
        (3, 0, 2, 4),
        (3, 2, 0, 0),
        (0, 0, 0, 0),  # nothing at all: all rows have one embedding
    ],
)
@pytest.mark.parametrize("encoding", ["plr-lite", "plr", "ple", "none"])
def test_any_kind_of_column_may_be_missing(
    table, encoding, n_numbers, n_plain, n_codes, n_levels
):
    network = build(n_numbers, n_plain, n_levels, encoding=encoding, n_blocks=1)
    rows = table(6, n_numbers, n_plain, n_codes, n_levels)
    network.encode.prepare(rows.numbers)
    points = network(rows)
    assert points.shape == (6, 5)
    points.sum().backward()
    assert all(
        p.grad.isfinite().all() for p in network.parameters() if p.grad is not None
    )


@pytest.mark.parametrize("encoding", ["plr-lite", "plr", "periodic", "pbld"])
@pytest.mark.parametrize("embedding", ["mlp", "layernorm", "residual"])
def test_every_parameter_has_a_gradient(table, encoding, embedding):
    network = build(encoding=encoding, embedding=embedding, n_blocks=2, dropout=0.0)
    # Not the plain sum: the outputs of a norm always have the same sum.
    (network(table(30)) * torch.arange(150).reshape(30, 5).cos()).sum().backward()
    without = [n for n, p in network.named_parameters() if not p.grad.abs().sum() > 0]
    assert without == []


@pytest.mark.parametrize("width", [2**30, 2**18 // 2, 2**18 // 7, None])
def test_embedding_in_chunks_equals_one_pass(table, width):
    network, rows = build(n_blocks=1), table(11)
    torch.testing.assert_close(
        embed_rows(network, rows, width=width), network.eval()(rows)
    )


@pytest.mark.parametrize(
    ("n_numbers", "width", "expected"),
    [
        (3, 2**18 // 4, [4, 4, 3]),  # as many rows as cost 2^18 numbers
        (3, 2**30, [1] * 11),  # one row at least
        (2**16, None, [4, 4, 3]),  # by default a row costs its numbers
        (2**16, 1, [11]),
        (0, None, [11]),
    ],
)
def test_chunks_are_bounded_by_the_width_of_a_row(table, n_numbers, width, expected):
    network, sizes = build(n_numbers, encoding="none"), []
    network.register_forward_hook(lambda _, inputs, __: sizes.append(inputs[0].n_rows))
    embed_rows(network, table(11, n_numbers), width=width)
    assert sizes == expected


def test_embedding_no_rows_gives_no_embeddings(table):
    assert embed_rows(build(), table(0)).shape == (0, 5)


@pytest.mark.parametrize("training", [True, False])
def test_embedding_keeps_the_mode_and_the_state_of_the_network(table, training):
    network = build(n_blocks=1, dropout=0.5).train(training)
    before = {name: value.clone() for name, value in network.state_dict().items()}
    first, second = embed_rows(network, table(6)), embed_rows(network, table(6))
    assert not first.requires_grad
    assert first.shape == second.shape
    assert all(module.training is training for module in network.modules())
    for name, value in network.state_dict().items():
        assert torch.equal(value, before[name])


def test_dropout_is_off_while_embedding(table):
    network, rows = build(n_blocks=1, dropout=0.5).train(), table(6)
    assert torch.equal(embed_rows(network, rows), embed_rows(network, rows))
    assert not torch.equal(network(rows), network(rows))


@pytest.mark.parametrize("learned", [True, False])
def test_a_temperature_is_a_parameter_only_if_it_is_learned(learned):
    network = build(temperature="learned" if learned else 0.3)
    assert network.temperature.item() == pytest.approx(1.0 if learned else 0.3)
    assert ("log_temperature" in dict(network.named_parameters())) is learned
    assert "log_temperature" in network.state_dict()  # saved either way


def test_a_learned_temperature_of_cosines_starts_lower():
    network = build(temperature="learned", distance="cosine")
    assert network.temperature.item() == pytest.approx(0.1)
    assert network.log_temperature.rate_factor == 3.0
    fixed = build(temperature=0.3, distance="cosine")
    assert fixed.temperature.item() == pytest.approx(0.3)


def test_an_unknown_part_is_named_with_the_choices():
    with pytest.raises(ValueError) as error:
        CONFIG.updated({"encoding": "fourier"}).check()
    assert str(error.value) == (
        "encoding must be one of: none, pbld, periodic, ple, plr, plr-lite; "
        "got 'fourier'."
    )


def test_numbers_can_be_too_many_to_encode(table):
    network, rows = build(encode_numbers=False).eval(), table(6)
    joined = torch.cat([rows.numbers, rows.plain], 1)
    torch.testing.assert_close(network(rows), network.linear(joined, rows.codes))


@pytest.mark.parametrize(("dim", "expected"), [(5, 5), (9, 9), (20, 9)])
def test_capped_dimensions_are_at_most_the_columns(table, dim, expected):
    # 3 numbers, 2 plain columns and 4 levels are 9 columns.
    assert build(dim=dim, cap_dim=True)(table(6)).shape == (6, expected)
    assert build(dim=dim)(table(6)).shape == (6, dim)


def test_the_global_generator_is_not_touched(table):
    before = torch.get_rng_state()
    network = build(n_blocks=2, dropout=0.5, column_scales="learned").train()
    network(table(6))
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("time", [None, torch.arange(6)])
def test_rows_and_examples_are_taken_and_concatenated_in_order(table, time):
    rows = table(6)._replace(time=time)
    examples = Examples(rows, rows.numbers, rows.plain, time)
    first, second = examples.take(torch.tensor([5, 0])), examples.take(slice(1, 3))
    joined = concatenate(first, second)
    assert joined.n_rows == joined.rows.n_rows == 4
    pairs = zip((*rows, *examples[1:]), (*joined.rows, *joined[1:]), strict=True)
    for whole, part in pairs:
        if whole is None:
            assert part is None
        else:
            assert torch.equal(part, whole[[5, 0, 1, 2]])


@pytest.mark.parametrize(
    ("n_numbers", "n_plain", "n_codes"), [(3, 2, 2), (3, 0, 0), (0, 2, 2), (1, 1, 1)]
)
@pytest.mark.parametrize("scales", ["none", "learned"])
def test_what_the_cells_add_sums_to_the_first_layer(
    table, draw, scales, n_numbers, n_plain, n_codes
):
    levels = 4 * (n_codes > 0)
    network = build(n_numbers, n_plain, levels, column_scales=scales)
    rows, direction = table(6, n_numbers, n_plain, n_codes), draw(6, 5).float()
    products = network.cell_products(direction, rows)
    assert products.shape == (6, n_numbers + n_plain + n_codes)
    of_bias = direction @ network.linear.bias
    whole = (network.first_layer(rows) * direction).sum(1)
    torch.testing.assert_close(products.sum(1) + of_bias, whole)


def test_a_cell_changes_its_own_product_alone(table, draw):
    network, rows, direction = build(), table(6), draw(6, 5).float()
    cells = [("numbers", 0), ("numbers", 1), ("numbers", 2), ("plain", 0), ("plain", 1)]
    before = network.cell_products(direction, rows)
    for place, (part, column) in enumerate([*cells, ("codes", 0), ("codes", 1)]):
        other = getattr(rows, part).clone()
        other[:, column] = (other[:, column] + 1) % 4
        after = network.cell_products(direction, rows._replace(**{part: other}))
        changed = (after != before).any(0).nonzero().flatten()
        assert changed.tolist() == [place]
