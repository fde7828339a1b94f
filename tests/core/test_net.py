"""The net: its parts one after the other, on every kind of table."""

import pytest
import torch

from modernnca.core.net import Net, NetShape, embed_all
from modernnca.core.rows import Rows, join

SMALL = {"n_frequencies": 4, "d_encoding": 3, "n_bins": 4, "dim": 5, "d_block": 7}


def build(n_numbers=3, n_plain=2, n_levels=4, **settings):
    torch.manual_seed(0)
    return Net(NetShape(n_numbers, n_plain, n_levels, **(SMALL | settings)))


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


def test_a_net_encodes_then_joins_then_embeds(table):
    net, rows = build(n_blocks=1, dropout=0.0).eval(), table(6)
    encoded = net.encode(rows.numbers)
    assert encoded.shape == (6, 3 * 3)
    expected = net.blocks(net.linear(torch.cat([encoded, rows.plain], 1), rows.codes))
    torch.testing.assert_close(net(rows), expected)


@pytest.mark.parametrize(
    ("n_numbers", "n_plain", "n_codes", "n_levels"),
    [
        (3, 0, 0, 0),  # numbers only
        (0, 2, 0, 0),  # plain columns only
        (0, 0, 2, 4),  # categories only
        (0, 2, 2, 4),
        (3, 0, 2, 4),
        (3, 2, 0, 0),
        (0, 0, 0, 0),  # nothing at all: every row at one point
    ],
)
@pytest.mark.parametrize("encoding", ["plr-lite", "plr", "ple", "none"])
def test_any_kind_of_column_may_be_missing(
    table, encoding, n_numbers, n_plain, n_codes, n_levels
):
    net = build(n_numbers, n_plain, n_levels, encoding=encoding, n_blocks=1)
    rows = table(6, n_numbers, n_plain, n_codes, n_levels)
    net.encode.prepare(rows.numbers)
    points = net(rows)
    assert points.shape == (6, 5)
    points.sum().backward()
    assert all(p.grad.isfinite().all() for p in net.parameters() if p.grad is not None)


@pytest.mark.parametrize("encoding", ["plr-lite", "plr", "periodic", "pbld"])
@pytest.mark.parametrize("embedding", ["mlp", "layernorm", "residual"])
def test_the_gradient_reaches_every_parameter(table, encoding, embedding):
    net = build(encoding=encoding, embedding=embedding, n_blocks=2, dropout=0.0)
    # Not the plain sum: what a norm gives out sums to the same whatever goes in.
    (net(table(30)) * torch.arange(150).reshape(30, 5).cos()).sum().backward()
    still = [n for n, p in net.named_parameters() if not p.grad.abs().sum() > 0]
    assert still == []


@pytest.mark.parametrize("n_cells", [1, 7, 2**18])
def test_embedding_in_chunks_is_one_pass(table, n_cells):
    net, rows = build(n_blocks=1), table(11)
    torch.testing.assert_close(embed_all(net, rows, n_cells=n_cells), net.eval()(rows))


def test_chunks_hold_no_more_cells_than_asked(table):
    net, sizes = build(), []
    net.register_forward_hook(lambda _, inputs, __: sizes.append(len(inputs[0].codes)))
    embed_all(net, table(11), n_cells=13)  # three numbers a row: four rows at once
    assert sizes == [4, 4, 3]


def test_embedding_no_rows_gives_no_points(table):
    assert embed_all(build(), table(0)).shape == (0, 5)


@pytest.mark.parametrize("training", [True, False])
def test_embedding_leaves_the_net_in_its_mode_and_its_statistics_alone(table, training):
    net = build(n_blocks=1, dropout=0.5).train(training)
    before = {name: value.clone() for name, value in net.state_dict().items()}
    first, second = embed_all(net, table(6)), embed_all(net, table(6))
    assert not first.requires_grad
    assert first.shape == second.shape
    assert all(module.training is training for module in net.modules())
    for name, value in net.state_dict().items():
        assert torch.equal(value, before[name])


def test_dropout_is_off_while_embedding(table):
    net, rows = build(n_blocks=1, dropout=0.5).train(), table(6)
    assert torch.equal(embed_all(net, rows), embed_all(net, rows))
    assert not torch.equal(net(rows), net(rows))


@pytest.mark.parametrize("learned", [True, False])
def test_a_temperature_is_learned_only_when_asked(learned):
    net = build(temperature=0.3, learn_temperature=learned)
    assert net.temperature.item() == pytest.approx(0.3)
    assert ("log_temperature" in dict(net.named_parameters())) is learned
    assert "log_temperature" in net.state_dict()  # saved either way


def test_an_unknown_part_is_named_with_the_choices():
    with pytest.raises(ValueError) as error:
        build(encoding="fourier")
    assert str(error.value) == (
        "Unknown encoding 'fourier'; choose one of: "
        "none, pbld, periodic, ple, plr, plr-lite."
    )


def test_rows_are_taken_and_joined_in_order(table):
    rows = table(6)
    first, second = rows.take(torch.tensor([5, 0])), rows.take(slice(1, 3))
    for whole, part in zip(rows, join(first, second), strict=True):
        assert torch.equal(part, whole[[5, 0, 1, 2]])
