"""SwitchTab: the losses of the paper, corruption, and attention over rows."""

import pytest
import torch
from tests.lab.peers.shapes import make_rows
from torch.nn.functional import cross_entropy

from modernnca.core.rows import Rows
from modernnca.lab.peers import switchtab
from modernnca.lab.peers.net_model import TableShape
from modernnca.lab.peers.supervised import LabeledRows
from modernnca.lab.peers.switchtab import SwitchTab, SwitchTabLearner, corrupt

SHAPE = make_rows(levels=(3,))[1]  # 7 wide: odd


def labeled_rows(n_rows=20, seed=0):
    rows, _ = make_rows(n_rows, levels=(3,), seed=seed)
    return LabeledRows(rows, (rows.numbers[:, 0] > 0).long())


def make_net(shape=SHAPE, **settings):
    torch.manual_seed(0)
    chosen = {
        "n_layers": 2,
        "n_heads": 2,
        "dropout": 0.0,
        "alpha": 0.5,
        "corruption": 0.3,
        "n_mates": 6,
    }
    return SwitchTab(shape, **{**chosen, **settings})


def make_learner(net, criterion=cross_entropy):
    train = labeled_rows()
    return SwitchTabLearner(
        net,
        train,
        train,
        criterion=criterion,
        evaluate=lambda outputs: (0.0, 0.0),
        generator=torch.Generator().manual_seed(0),
    )


def test_an_odd_number_of_columns_is_padded():
    net = make_net()
    assert net.head.in_features == 8
    assert net.input_layer(torch.ones(2, 7))[:, 7].tolist() == [0, 0]
    even = make_net(TableShape(n_numbers=4, n_plain=0, levels=(), d_out=1))
    assert even.head.in_features == 4


def test_wide_rows_are_projected():
    wide = TableShape(n_numbers=3000, n_plain=0, levels=(), d_out=1)
    net = make_net(wide, n_layers=1)
    assert net.head.in_features == 1024
    assert net.decoder.out_features == 3000


def test_a_row_is_reconstructed_from_its_salient_and_either_mutual_part():
    """x1 is decoded from (m1, s1) and, switched, from (m2, s1)."""
    net = make_net()
    learner = make_learner(net)
    torch.manual_seed(1)
    x, encoded = torch.randn(2, 5, 7), torch.randn(2, 5, 8)
    m1, s1 = net.to_mutual(encoded[0]), net.to_salient(encoded[0])
    m2, s2 = net.to_mutual(encoded[1]), net.to_salient(encoded[1])

    def error(mutual, salient, row):
        decoded = net.decoder(torch.cat([mutual, salient], 1))
        return (decoded - row).square().sum() / row.numel()

    recovered = error(m1, s1, x[0]) + error(m2, s2, x[1])
    switched = error(m2, s1, x[0]) + error(m1, s2, x[1])
    torch.testing.assert_close(
        learner.reconstruction_loss(list(x), list(encoded)), recovered + switched
    )


def test_rows_with_equal_mutual_parts_can_switch_without_error():
    net = make_net()
    learner = make_learner(net)
    with torch.no_grad():
        for parameter in net.to_mutual.parameters():
            parameter.zero_()
    encoded = list(torch.randn(2, 5, 8))
    decoded = [net.decode(*net.parts(z)) for z in encoded]
    assert learner.reconstruction_loss(decoded, encoded).item() == pytest.approx(
        0, abs=1e-10
    )


def test_the_loss_is_four_errors_and_two_weighted_supervised_losses(monkeypatch):
    monkeypatch.setattr(switchtab, "corrupt", lambda rows, rate: rows)
    net = make_net()
    learner = make_learner(net)
    batch = torch.tensor([3, 1, 4, 1])
    state = learner.generator.get_state()
    found = learner.loss(batch)
    learner.generator.set_state(state)
    drawn = torch.randint(20, (4,), generator=learner.generator)
    first, second = learner.take(batch), learner.take(drawn)
    encoded = [net.encode(first.rows), net.encode(second.rows)]
    reconstruction = learner.reconstruction_loss(
        [net.flat(first.rows), net.flat(second.rows)], encoded
    )
    supervised = cross_entropy(net(first.rows), first.y)
    supervised = supervised + cross_entropy(net(second.rows), second.y)
    torch.testing.assert_close(found, reconstruction + 0.5 * supervised)


def test_the_network_gets_corrupted_rows_and_reconstructs_the_true_ones(monkeypatch):
    rates = []

    def all_zero(rows, rate):
        rates.append(rate)
        return Rows(rows.numbers * 0, rows.plain * 0, rows.codes * 0)

    monkeypatch.setattr(switchtab, "corrupt", all_zero)
    net = make_net(alpha=0.0)
    with torch.no_grad():
        net.decoder.weight.zero_()
        net.decoder.bias.zero_()
    learner = make_learner(net)
    batch = torch.arange(4)
    state = learner.generator.get_state()
    found = learner.loss(batch)
    learner.generator.set_state(state)
    drawn = torch.randint(20, (4,), generator=learner.generator)
    true = [net.flat(learner.take(index).rows) for index in (batch, drawn)]
    expected = sum(2 * x.square().mean() for x in true)
    torch.testing.assert_close(found, expected)
    assert rates == [0.3, 0.3]


def test_cells_are_corrupted_at_the_rate_by_cells_of_their_column():
    torch.manual_seed(0)
    cells = torch.arange(4000.0)[:, None] + torch.tensor([0.0, 10_000.0])
    rows = Rows(cells, torch.zeros(4000, 0), torch.arange(4000)[:, None])
    changed = corrupt(rows, 0.3)
    assert changed.time is None
    for before, after in zip(rows[:3], changed[:3], strict=True):
        if before.numel():
            rate = (before != after).float().mean().item()
            assert rate == pytest.approx(0.3, abs=0.02)
    assert (changed.numbers // 10_000 == torch.tensor([0.0, 1.0])).all()
    both = (changed.numbers != cells).float()
    assert (both[:, 0] * both[:, 1]).mean().item() == pytest.approx(0.09, abs=0.015)


def test_the_prediction_of_a_row_does_not_depend_on_the_other_queries():
    net, rows = make_net().eval(), labeled_rows(9, seed=1).rows
    net.context.sample(labeled_rows().rows, torch.Generator())
    found = net(rows)
    torch.testing.assert_close(net(rows.take(slice(4, 5))), found[4:5])
    order = torch.randperm(9)
    torch.testing.assert_close(net(rows.take(order)), found[order])


def test_in_training_rows_attend_to_each_other():
    net, rows = make_net(), labeled_rows(6).rows
    found = net(rows)
    numbers = rows.numbers.clone()
    numbers[0] += 1
    assert not torch.allclose(
        net(rows._replace(numbers=numbers))[1:], found[1:], atol=1e-6
    )
