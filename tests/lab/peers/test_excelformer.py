"""ExcelFormer: the order of columns, semi-permeable attention, and mixing."""

import numpy as np
import pytest
import torch
from torch.nn.functional import cross_entropy, mse_loss

from modernnca.core.rows import Rows
from modernnca.lab.peers import peer
from modernnca.lab.peers.excelformer import (
    MIXES,
    ExcelFormer,
    ExcelFormerLearner,
    Mixed,
    mix_feat,
    mix_hidden,
)
from modernnca.lab.peers.net_model import TableShape
from modernnca.lab.peers.supervised import LabeledRows

N_ROWS, N_CLASSES = 600, 3
SHAPE = TableShape(n_numbers=2, n_plain=1, levels=(3,), d_out=N_CLASSES)


def labeled_rows():
    """The level determines the class, the second number almost; others are noise."""
    generator = torch.Generator().manual_seed(0)
    y = torch.randint(N_CLASSES, (N_ROWS,), generator=generator)
    noise = torch.randn(N_ROWS, 3, generator=generator)
    numbers = torch.stack([noise[:, 0], y + 0.4 * noise[:, 1]], 1)
    return LabeledRows(Rows(numbers, noise[:, 2:], y[:, None]), y)


def make_net(**settings):
    torch.manual_seed(0)
    chosen = {
        "n_layers": 2,
        "d_token": 16,
        "n_heads": 4,
        "attention_dropout": 0.0,
        "ffn_dropout": 0.0,
        "residual_dropout": 0.0,
        "mix": "none",
        "init_scale": 1.0,
    }
    return ExcelFormer(SHAPE, **{**chosen, **settings})


def make_learner(net, train=None, criterion=cross_entropy):
    train = train or labeled_rows()
    return ExcelFormerLearner(
        net,
        train,
        train,
        criterion=criterion,
        evaluate=lambda outputs: (0.0, 0.0),
        generator=torch.Generator().manual_seed(0),
    )


def test_columns_are_ordered_by_mutual_information():
    net = make_net()
    make_learner(net)
    assert net.order.tolist()[:2] == [3, 1]
    assert net.share.sum().item() == pytest.approx(1)
    assert net.share[0] > net.share[1] > 10 * net.share[2]
    rows = labeled_rows().rows
    level = net.signal(rows)[:, 3] * net.gate(rows)[:, 3].tanh()
    torch.testing.assert_close(net.tokens(rows)[:, 0], level)


def test_a_column_attends_only_to_more_informative_ones():
    net, found = make_net(), []
    net.layers[-1].register_forward_hook(lambda *args: found.append(args[-1]))
    torch.manual_seed(0)
    tokens = torch.randn(1, 4, 16, requires_grad=True)
    net.forward_tokens(tokens)
    [outputs] = found
    for place in range(4):
        (gradient,) = torch.autograd.grad(
            outputs[0, place].square().sum(), tokens, retain_graph=True
        )
        attended = gradient.abs().sum(-1)[0] > 0
        assert attended.tolist() == [other <= place for other in range(4)]


def test_less_informative_columns_do_not_change_the_tokens_of_others():
    net = make_net().eval()
    make_learner(net)
    rows = labeled_rows().rows.take(slice(0, 5))
    numbers = rows.numbers.clone()
    column = int(net.order[2:].min())  # a number, or a plain column
    assert column in (0, 2)
    changed = (
        rows._replace(numbers=numbers + torch.tensor([1.0, 0.0]))
        if column == 0
        else rows._replace(plain=rows.plain + 1)
    )
    place = net.order.tolist().index(column)

    def outputs(rows):
        found = []
        hook = net.layers[-1].register_forward_hook(
            lambda *args: found.append(args[-1])
        )
        net(rows)
        hook.remove()
        return found[0]

    before, after = outputs(rows), outputs(changed)
    torch.testing.assert_close(after[:, :place], before[:, :place])
    assert not torch.allclose(after[:, place], before[:, place])


def test_initial_weights_are_attenuated():
    small, plain = make_net(init_scale=0.01), make_net()
    for scaled, unscaled in zip(small.layers, plain.layers, strict=True):
        torch.testing.assert_close(
            scaled.attention.key_value.weight,
            0.01 * unscaled.attention.key_value.weight,
        )
        assert torch.equal(scaled.attention.out.weight, unscaled.attention.out.weight)


def test_feat_mix_weights_a_row_by_the_importance_of_the_columns_it_keeps():
    torch.manual_seed(0)
    tokens = torch.arange(500.0)[:, None, None].expand(500, 4, 3)
    importance = torch.tensor([0.7, 0.2, 0.1, 0.0])
    mixed = mix_feat(tokens, importance)
    own = mixed.tokens == tokens
    swapped = mixed.tokens == mixed.partner[:, None, None]
    assert (own | swapped).all()
    changed = mixed.partner != torch.arange(500)
    kept = own[changed]
    assert (kept == kept[:, :, :1]).all()  # whole columns
    expected = kept[:, :, 0].float() @ importance
    torch.testing.assert_close(mixed.weight[changed], expected)
    assert mixed.partner.sort().values.tolist() == list(range(500))


def test_hidden_mix_takes_the_same_dimensions_of_every_token():
    torch.manual_seed(0)
    tokens = torch.arange(2000.0)[:, None, None].expand(2000, 2, 64)
    mixed = mix_hidden(tokens, torch.ones(2) / 2)
    changed = mixed.partner != torch.arange(2000)
    kept = (mixed.tokens == tokens)[changed]
    assert torch.equal(kept[:, 0], kept[:, 1])
    kept_share = kept[:, 0].float().mean(1)
    assert (kept_share - mixed.weight[changed]).abs().mean() < 0.06
    assert mixed.weight.mean().item() == pytest.approx(0.5, abs=0.03)
    assert mixed.weight.var().item() == pytest.approx(1 / 8, abs=0.01)  # Beta(1/2, 1/2)


def mix_by_position(tokens, importance):
    weight = torch.linspace(0, 1, len(tokens))
    return Mixed(tokens, weight, torch.arange(len(tokens)).roll(1))


def test_the_classes_of_both_rows_are_weighted():
    net, batch = make_net(), torch.arange(8)
    learner = make_learner(net)
    net.mix = mix_by_position
    rows, y = learner.take(batch)
    logs = net(rows).log_softmax(1)
    weight, other = torch.linspace(0, 1, 8), y.roll(1)
    losses = [
        -weight[i] * logs[i, y[i]] - (1 - weight[i]) * logs[i, other[i]]
        for i in range(8)
    ]
    torch.testing.assert_close(learner.loss(batch), torch.stack(losses).mean())


def test_the_numbers_of_both_rows_are_weighted():
    shape = TableShape(n_numbers=2, n_plain=1, levels=(3,), d_out=1)
    torch.manual_seed(0)
    net = ExcelFormer(
        shape,
        n_layers=1,
        d_token=8,
        n_heads=2,
        attention_dropout=0.0,
        ffn_dropout=0.0,
        residual_dropout=0.0,
        mix="none",
    )
    rows, y = labeled_rows()

    def criterion(outputs, target):
        return mse_loss(outputs.squeeze(1), target)

    learner = make_learner(net, LabeledRows(rows, y.float()), criterion)
    net.mix = mix_by_position
    weight = torch.linspace(0, 1, 8)
    target = weight * y[:8] + (1 - weight) * y[:8].float().roll(1)
    expected = (net(rows.take(slice(0, 8))).squeeze(1) - target).square().mean()
    torch.testing.assert_close(learner.loss(torch.arange(8)), expected)


def test_without_mixing_the_loss_is_cross_entropy():
    net = make_net()
    learner, batch = make_learner(net), torch.arange(20)
    rows, y = learner.take(batch)
    torch.testing.assert_close(learner.loss(batch), cross_entropy(net(rows), y))


def test_an_unknown_mix_is_an_error():
    with pytest.raises(ValueError, match=r"'naive'.*feat, hidden, none"):
        make_net(mix="naive")


def test_in_the_search_space_n_heads_divides_d_token():
    space = peer("excelformer").space
    heads, sizes = space["n_heads"].options, space["d_token"].options
    assert all(d % n == 0 for d in sizes for n in heads)
    assert set(space["mix"].options) == set(MIXES)


def test_the_file_holds_the_order(tmp_path):
    rng = np.random.RandomState(0)
    X = rng.randn(80, 4)
    model = peer("excelformer").build(
        "regression",
        seed=0,
        settings={"max_epochs": 1, "d_token": 32, "mix": "feat"},
    )
    model.fit(X, X[:, 2])
    assert model.module_.order[0] == 2
    model.save(tmp_path / "model")
    again = peer("excelformer").build(
        "regression", seed=1, settings={"d_token": 32, "mix": "feat"}
    )
    again.load(tmp_path / "model")
    assert torch.equal(again.module_.order, model.module_.order)
    assert torch.equal(again.module_.share, model.module_.share)
    assert np.array_equal(again.predict(X), model.predict(X))
