"""ExcelFormer: the order of columns, who hears whom, and what mixed rows weigh."""

import numpy as np
import pytest
import torch
from torch.nn.functional import cross_entropy, mse_loss

from modernnca.core.rows import Rows
from modernnca.lab.peers import peer
from modernnca.lab.peers.excelformer import (
    MIXES,
    ExcelFormer,
    Mixed,
    MixLearner,
    mix_feat,
    mix_hidden,
)
from modernnca.lab.peers.net_model import TableShape
from modernnca.lab.peers.supervised import Examples

N_ROWS, N_CLASSES = 600, 3
SHAPE = TableShape(n_numbers=2, n_plain=1, levels=(3,), d_out=N_CLASSES)


def made_examples():
    """The level tells the class, the second number almost, the others nothing."""
    generator = torch.Generator().manual_seed(0)
    y = torch.randint(N_CLASSES, (N_ROWS,), generator=generator)
    noise = torch.randn(N_ROWS, 3, generator=generator)
    numbers = torch.stack([noise[:, 0], y + 0.4 * noise[:, 1]], 1)
    return Examples(Rows(numbers, noise[:, 2:], y[:, None]), y)


def made_net(**settings):
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


def made_learner(net, examples=None, criterion=cross_entropy):
    examples = examples or made_examples()
    return MixLearner(
        net,
        examples,
        examples,
        criterion=criterion,
        judge=lambda answers: (0.0, 0.0),
        generator=torch.Generator().manual_seed(0),
    )


def test_columns_are_ordered_by_what_they_tell_of_the_target():
    net = made_net()
    made_learner(net)
    assert net.order.tolist()[:2] == [3, 1]
    assert net.share.sum().item() == pytest.approx(1)
    assert net.share[0] > net.share[1] > 10 * net.share[2]
    rows = made_examples().rows
    level = net.signal(rows)[:, 3] * net.gate(rows)[:, 3].tanh()
    torch.testing.assert_close(net.tokens(rows)[:, 0], level)


def test_a_column_hears_only_more_telling_ones():
    layers = made_net().layers
    torch.manual_seed(0)
    tokens = torch.randn(1, 4, 16, requires_grad=True)
    heard = tokens
    for layer in layers:
        heard = layer(heard, causal=True)
    for place in range(4):
        (moved,) = torch.autograd.grad(
            heard[0, place].square().sum(), tokens, retain_graph=True
        )
        reaches = moved.abs().sum(-1)[0] > 0
        assert reaches.tolist() == [other <= place for other in range(4)]


def test_less_telling_columns_never_reach_more_telling_ones_in_the_net():
    net = made_net().eval()
    made_learner(net)
    rows = made_examples().rows.take(slice(0, 5))
    last = rows.numbers.clone()
    column = int(net.order[2:].min())  # a number, or a plain one
    assert column in (0, 2)
    changed = (
        rows._replace(numbers=last + torch.tensor([1.0, 0.0]))
        if column == 0
        else rows._replace(plain=rows.plain + 1)
    )
    place = net.order.tolist().index(column)

    def heard(rows):
        tokens = net.tokens(rows)
        for layer in net.layers:
            tokens = layer(tokens, causal=True)
        return tokens

    before, after = heard(rows), heard(changed)
    torch.testing.assert_close(after[:, :place], before[:, :place])
    assert not torch.allclose(after[:, place], before[:, place])


def test_layers_begin_attenuated():
    small, plain = made_net(init_scale=0.01), made_net()
    for ours, theirs in zip(small.layers, plain.layers, strict=True):
        torch.testing.assert_close(
            ours.attention.tells.weight, 0.01 * theirs.attention.tells.weight
        )
        assert torch.equal(ours.attention.out.weight, theirs.attention.out.weight)


def test_feat_mix_keeps_the_share_of_what_its_columns_tell():
    torch.manual_seed(0)
    tokens = torch.arange(500.0)[:, None, None].expand(500, 4, 3)
    share = torch.tensor([0.7, 0.2, 0.1, 0.0])
    mixed = mix_feat(tokens, share)
    own = mixed.tokens == tokens
    foreign = mixed.tokens == mixed.other[:, None, None]
    assert (own | foreign).all()
    changed = mixed.other != torch.arange(500)
    kept = own[changed]
    assert (kept == kept[:, :, :1]).all()  # whole columns
    torch.testing.assert_close(mixed.own[changed], kept[:, :, 0].float() @ share)
    assert mixed.other.sort().values.tolist() == list(range(500))


def test_hidden_mix_takes_the_same_numbers_of_every_token():
    torch.manual_seed(0)
    tokens = torch.arange(2000.0)[:, None, None].expand(2000, 2, 64)
    mixed = mix_hidden(tokens, torch.ones(2) / 2)
    changed = mixed.other != torch.arange(2000)
    kept = (mixed.tokens == tokens)[changed]
    assert torch.equal(kept[:, 0], kept[:, 1])
    kept_share = kept[:, 0].float().mean(1)
    assert (kept_share - mixed.own[changed]).abs().mean() < 0.06
    assert mixed.own.mean().item() == pytest.approx(0.5, abs=0.03)
    assert mixed.own.var().item() == pytest.approx(1 / 8, abs=0.01)  # Beta(1/2, 1/2)


def half_mixed(tokens, share):
    own = torch.linspace(0, 1, len(tokens))
    return Mixed(tokens, own, torch.arange(len(tokens)).roll(1))


def test_each_row_weighs_its_two_classes_by_its_own_share():
    net, batch = made_net(), torch.arange(8)
    learner = made_learner(net)
    net.mix = half_mixed
    rows, y = learner.examples(batch)
    logs = net(rows).log_softmax(1)
    own, other = torch.linspace(0, 1, 8), y.roll(1)
    each = [
        -own[i] * logs[i, y[i]] - (1 - own[i]) * logs[i, other[i]] for i in range(8)
    ]
    torch.testing.assert_close(learner.loss(batch), torch.stack(each).mean())


def test_numbers_are_mixed_by_each_row_s_own_share():
    shape_one = TableShape(n_numbers=2, n_plain=1, levels=(3,), d_out=1)
    torch.manual_seed(0)
    net = ExcelFormer(
        shape_one,
        n_layers=1,
        d_token=8,
        n_heads=2,
        attention_dropout=0.0,
        ffn_dropout=0.0,
        residual_dropout=0.0,
        mix="none",
    )
    rows, y = made_examples()

    def criterion(answers, goal):
        return mse_loss(answers.squeeze(1), goal)

    learner = made_learner(net, Examples(rows, y.float()), criterion)
    net.mix = half_mixed
    own = torch.linspace(0, 1, 8)
    goal = own * y[:8] + (1 - own) * y[:8].float().roll(1)
    expected = (net(rows.take(slice(0, 8))).squeeze(1) - goal).square().mean()
    torch.testing.assert_close(learner.loss(torch.arange(8)), expected)


def test_without_a_mix_the_loss_is_the_plain_one():
    net = made_net()
    learner, batch = made_learner(net), torch.arange(20)
    rows, y = learner.examples(batch)
    torch.testing.assert_close(learner.loss(batch), cross_entropy(net(rows), y))


def test_unknown_mixes_are_refused():
    with pytest.raises(ValueError, match=r"'naive'.*feat, hidden, none"):
        made_net(mix="naive")


def test_the_space_offers_only_what_the_heads_can_share():
    space = peer("excelformer").space
    heads, sizes = space["n_heads"].options, space["d_token"].options
    assert all(d % n == 0 for d in sizes for n in heads)
    assert set(space["mix"].options) == set(MIXES)


def test_the_order_is_kept_in_the_file(tmp_path):
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
