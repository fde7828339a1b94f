"""RealMLP: schedules, parametrization, first weights and columns, by the paper."""

import math

import numpy as np
import pytest
import torch
from tests.lab.peers.shapes import some_rows
from torch.nn.functional import cross_entropy, log_softmax, mse_loss, selu

from modernnca.core.rows import Rows
from modernnca.lab.peers.net_model import TableShape
from modernnca.lab.peers.realmlp import (
    PEER,
    Activation,
    Columns,
    Linear,
    RealMLP,
    Scheduled,
    coslog4,
    flat_cos,
)
from modernnca.lab.peers.supervised import Examples
from modernnca.train.optimizers import OPTIMIZERS


def made_net(n_rows=50, *, d_out=3, **settings):
    torch.manual_seed(0)
    rows, shape = some_rows(n_rows, d_out=d_out)
    chosen = {
        "d_layers": (16, 16),
        "activation": "selu",
        "encoding": "pbld",
        "frequency_scale": 0.1,
        "front_scale": True,
        "dropout": 0.15,
        "label_smoothing": 0.1,
    }
    y = torch.randn(n_rows) if d_out == 1 else torch.arange(n_rows) % d_out
    return RealMLP(shape, **{**chosen, **settings}), Examples(rows, y)


def learner(net, fit):
    def criterion(answers, y):
        return mse_loss(answers.squeeze(1), y)

    return Scheduled(
        net,
        fit,
        fit,
        criterion=criterion,
        judge=lambda answers: (0.0, 0.0),
        generator=torch.Generator().manual_seed(0),
    )


# ------------------------------------------------------------------- schedules


def test_the_rate_makes_four_waves_each_twice_as_long():
    ends = [0, 1 / 15, 3 / 15, 7 / 15, 1]
    assert [coslog4(end) for end in ends] == pytest.approx([0] * 5, abs=1e-12)
    tops = [(2 ** (k + 0.5) - 1) / 15 for k in range(4)]
    assert [coslog4(top) for top in tops] == pytest.approx([1] * 4)


def test_the_others_stay_and_then_go_down_as_a_cosine():
    assert [flat_cos(t) for t in (0, 0.3, 0.5)] == [1, 1, 1]
    assert flat_cos(0.625) == pytest.approx(0.5 + 0.5 * math.cos(math.pi / 4))
    assert flat_cos(1) == 0


def test_the_pace_sets_the_dropout_too():
    net, fit = made_net()
    pace = learner(net, fit).pace(0.75)
    assert net.drop.p == pytest.approx(0.15 / 2)
    assert pace == (pytest.approx(coslog4(0.75)), pytest.approx(0.5))


def test_parts_have_their_rates_and_decays():
    net, _ = made_net()
    optimizer = OPTIMIZERS[PEER.defaults["optimizer"]](net, 1.0, 1.0)
    assert optimizer.defaults["betas"] == (0.9, 0.95)
    rates = {
        id(parameter): (group["lr"], group["weight_decay"])
        for group in optimizer.param_groups
        for parameter in group["params"]
    }
    linear, activation = net.layers[0], net.layers[1]
    assert rates[id(net.front)] == (6, 6)
    assert rates[id(linear.weight)] == (1, 1)
    assert rates[id(linear.bias)] == (pytest.approx(0.1), 0)
    assert rates[id(activation.weight)] == pytest.approx((0.1, 0.1))
    assert all(rates[id(p)] == (0.1, 0.1) for p in net.columns.encode.parameters())


# ------------------------------------------------------------------------ parts


def test_a_linear_layer_divides_by_the_root_of_its_width():
    torch.manual_seed(0)
    layer, x = Linear(9, 4), torch.randn(5, 9)
    with torch.no_grad():
        layer.bias.fill_(2)
    torch.testing.assert_close(layer(x), x @ layer.weight / 3 + 2)


def test_first_weights_give_each_unit_a_deviation_of_one_and_a_zero_among_its_rows():
    torch.manual_seed(0)
    layer, x = Linear(6, 200), torch.randn(300, 6) * 7 + 3
    with torch.no_grad():
        layer.prepare(x)
        out = layer(x)
    assert out.std(0, correction=0).tolist() == pytest.approx([1] * 200, abs=1e-4)
    low, high = out.aminmax(dim=0)
    assert (low < 0).all()
    assert (high > 0).all()
    # A mean of five rows with uniform shares has a third of the variance of a row.
    zeros = -layer.bias - (out - layer.bias).mean(0)
    assert zeros.mean().item() == pytest.approx(0, abs=0.2)
    assert zeros.var().item() == pytest.approx(1 / 3, abs=0.12)


def test_a_unit_that_hears_nothing_stays_finite():
    layer = Linear(2, 3)
    with torch.no_grad():
        layer.prepare(torch.zeros(4, 2))
    assert layer.weight.isfinite().all()
    assert layer.bias.tolist() == [0, 0, 0]


def test_an_activation_goes_from_none_to_all():
    x = torch.tensor([[-1.0, 2.0]])
    bend = Activation(selu, 2)
    torch.testing.assert_close(bend(x), selu(x))
    with torch.no_grad():
        bend.weight.copy_(torch.tensor([0.0, 0.5]))
    expected = [[-1.0, (2 + selu(x)[0, 1].item()) / 2]]
    assert bend(x).tolist() == [pytest.approx(row) for row in expected]


def test_few_levels_are_scaled_one_hots_and_many_are_embedded():
    # Columns of 2, 3 and 9 levels: 1 and 3 one-hots, 8 embedded; 14 is not known.
    shape = TableShape(n_numbers=0, n_plain=0, levels=(2, 3, 9), d_out=2)
    codes = torch.tensor([[0, 2, 5], [1, 3, 6], [0, 4, 7], [0, 2, 13]])
    rows = Rows(torch.zeros(4, 0), torch.zeros(4, 0), codes)
    columns = Columns(shape, encoding="pbld", frequency_scale=0.1)
    columns.prepare(rows)
    found = columns(rows)
    assert found.shape == (4, 1 + 3 + 8)
    raw = np.array([[1, 1, 0, 0], [-1, 0, 1, 0], [1, 0, 0, 1], [1, 1, 0, 0]], float)
    low, middle, high = np.percentile(raw, [25, 50, 75], axis=0)
    wide = np.where(high > low, high - low, np.ptp(raw, axis=0) / 2)
    scaled = (raw - middle) / wide
    expected = scaled / np.sqrt(1 + (scaled / 3) ** 2)
    assert np.allclose(found[:, :4].detach(), expected, atol=1e-6)
    assert torch.equal(found[:, 4:], columns.levels.weight[codes[:, 2]])
    unknown = columns(Rows(rows.numbers, rows.plain, torch.full((4, 3), 14)))
    assert not unknown[:, 4:].any()


def test_the_front_scales_each_input():
    net, fit = made_net()
    with torch.no_grad():
        net.front[0] = 0.0
    changed = fit.rows.numbers.clone()
    net.eval()
    assert net.columns(fit.rows)[:, 0].equal(changed[:, 0])  # a number leads its code
    assert not net._front(fit.rows)[:, 0].any()


# ---------------------------------------------------------------------- learning


def test_labels_are_smoothed_by_hand():
    net, fit = made_net(dropout=0.0)
    trained = learner(net, fit)
    batch = torch.arange(7)
    logs = log_softmax(net(fit.rows.take(batch)), 1)
    own = logs.gather(1, fit.y[batch, None]).squeeze(1)
    expected = -(0.9 * own + 0.1 * logs.mean(1)).mean()
    torch.testing.assert_close(trained.loss(batch), expected)
    assert not torch.isclose(expected, cross_entropy(logs, fit.y[batch]))


def test_numbers_stay_within_those_of_training_but_not_in_training():
    net, fit = made_net(d_out=1)
    learner(net, fit)
    with torch.no_grad():
        net.layers[-1].bias.fill_(100.0)
    assert net(fit.rows).min() > 50
    found = net.eval()(fit.rows)
    assert found.unique().tolist() == [fit.y.max().item()]


@pytest.mark.parametrize(
    ("task", "rate", "activation"),
    [
        ("binclass", 0.04, "selu"),
        ("multiclass", 0.04, "selu"),
        ("regression", 0.2, "mish"),
    ],
)
def test_rate_and_activation_follow_the_task_unless_given(task, rate, activation):
    model = PEER.build(task, seed=0)
    assert model.training.learning_rate == rate
    assert model.settings["activation"] == activation
    given = {"learning_rate": 0.1, "activation": "relu"}
    model = PEER.build(task, seed=0, settings=given)
    assert model.training.learning_rate == 0.1
    assert model.settings["activation"] == "relu"


def test_an_unknown_activation_is_named_with_the_choices():
    with pytest.raises(ValueError, match="Unknown activation 'gelu'; choose one of"):
        made_net(activation="gelu")
