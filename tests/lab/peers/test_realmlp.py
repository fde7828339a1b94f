"""RealMLP: schedules, parametrization, initialization and inputs, by the paper."""

import math

import numpy as np
import pytest
import torch
from tests.lab.peers.shapes import make_rows
from torch.nn.functional import cross_entropy, log_softmax, mse_loss, selu

from modernnca.core.rows import Rows
from modernnca.lab.peers.net_model import TableShape
from modernnca.lab.peers.realmlp import (
    PEER,
    InputLayer,
    NTKLinear,
    ParametricActivation,
    RealMLP,
    RealMLPLearner,
    coslog4,
    flat_cos,
)
from modernnca.lab.peers.supervised import LabeledRows
from modernnca.train.optimizers import OPTIMIZERS


def make_net(n_rows=50, *, d_out=3, **settings):
    torch.manual_seed(0)
    rows, shape = make_rows(n_rows, d_out=d_out)
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
    return RealMLP(shape, **{**chosen, **settings}), LabeledRows(rows, y)


def learner(net, train):
    def criterion(outputs, y):
        return mse_loss(outputs.squeeze(1), y)

    return RealMLPLearner(
        net,
        train,
        train,
        criterion=criterion,
        evaluate=lambda outputs: (0.0, 0.0),
        generator=torch.Generator().manual_seed(0),
    )


# ------------------------------------------------------------------- schedules


def test_coslog4_has_four_cycles_each_twice_as_long():
    ends = [0, 1 / 15, 3 / 15, 7 / 15, 1]
    assert [coslog4(end) for end in ends] == pytest.approx([0] * 5, abs=1e-12)
    tops = [(2 ** (k + 0.5) - 1) / 15 for k in range(4)]
    assert [coslog4(top) for top in tops] == pytest.approx([1] * 4)


def test_flat_cos_is_constant_and_then_a_cosine_decay():
    assert [flat_cos(t) for t in (0, 0.3, 0.5)] == [1, 1, 1]
    assert flat_cos(0.625) == pytest.approx(0.5 + 0.5 * math.cos(math.pi / 4))
    assert flat_cos(1) == 0


def test_the_pace_also_sets_the_dropout():
    net, train = make_net()
    pace = learner(net, train).pace(0.75)
    assert net.drop.p == pytest.approx(0.15 / 2)
    assert pace == (pytest.approx(coslog4(0.75)), pytest.approx(0.5))


def test_parameters_have_their_own_rates_and_decays():
    net, _ = make_net()
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


def test_a_linear_layer_is_divided_by_the_square_root_of_its_width():
    torch.manual_seed(0)
    layer, x = NTKLinear(9, 4), torch.randn(5, 9)
    with torch.no_grad():
        layer.bias.fill_(2)
    torch.testing.assert_close(layer(x), x @ layer.weight / 3 + 2)


def test_initially_units_have_unit_variance_and_a_zero_within_their_range():
    torch.manual_seed(0)
    layer, x = NTKLinear(6, 200), torch.randn(300, 6) * 7 + 3
    with torch.no_grad():
        layer.initialize(x)
        out = layer(x)
    assert out.std(0, correction=0).tolist() == pytest.approx([1] * 200, abs=1e-4)
    low, high = out.aminmax(dim=0)
    assert (low < 0).all()
    assert (high > 0).all()
    # A convex combination of five rows, with uniform weights on the simplex, has a
    # third of the variance of a row.
    zeros = -layer.bias - (out - layer.bias).mean(0)
    assert zeros.mean().item() == pytest.approx(0, abs=0.2)
    assert zeros.var().item() == pytest.approx(1 / 3, abs=0.12)


def test_a_constant_input_keeps_the_weights_finite():
    layer = NTKLinear(2, 3)
    with torch.no_grad():
        layer.initialize(torch.zeros(4, 2))
    assert layer.weight.isfinite().all()
    assert layer.bias.tolist() == [0, 0, 0]


def test_an_activation_goes_from_the_identity_to_f():
    x = torch.tensor([[-1.0, 2.0]])
    activation = ParametricActivation(selu, 2)
    torch.testing.assert_close(activation(x), selu(x))
    with torch.no_grad():
        activation.weight.copy_(torch.tensor([0.0, 0.5]))
    expected = [[-1.0, (2 + selu(x)[0, 1].item()) / 2]]
    assert activation(x).tolist() == [pytest.approx(row) for row in expected]


def test_few_levels_are_scaled_one_hots_and_many_are_embedded():
    # Columns of 2, 3 and 9 levels: 1 and 3 one-hots, 8 embedded; 14 is unknown.
    shape = TableShape(n_numbers=0, n_plain=0, levels=(2, 3, 9), d_out=2)
    codes = torch.tensor([[0, 2, 5], [1, 3, 6], [0, 4, 7], [0, 2, 13]])
    rows = Rows(torch.zeros(4, 0), torch.zeros(4, 0), codes)
    columns = InputLayer(shape, encoding="pbld", frequency_scale=0.1)
    columns.initialize(rows)
    found = columns(rows)
    assert found.shape == (4, 1 + 3 + 8)
    raw = np.array([[1, 1, 0, 0], [-1, 0, 1, 0], [1, 0, 0, 1], [1, 1, 0, 0]], float)
    low, middle, high = np.percentile(raw, [25, 50, 75], axis=0)
    scale = np.where(high > low, high - low, np.ptp(raw, axis=0) / 2)
    scaled = (raw - middle) / scale
    expected = scaled / np.sqrt(1 + (scaled / 3) ** 2)
    assert np.allclose(found[:, :4].detach(), expected, atol=1e-6)
    assert torch.equal(found[:, 4:], columns.levels.weight[codes[:, 2]])
    unknown = columns(Rows(rows.numbers, rows.plain, torch.full((4, 3), 14)))
    assert not unknown[:, 4:].any()


def test_the_front_scales_each_input():
    net, train = make_net()
    with torch.no_grad():
        net.front[0] = 0.0
    net.eval()
    # The first output of an encoding is the number itself.
    assert net.columns(train.rows)[:, 0].equal(train.rows.numbers[:, 0])
    assert not net._front(train.rows)[:, 0].any()


# ---------------------------------------------------------------------- learning


def test_labels_are_smoothed_by_hand():
    net, train = make_net(dropout=0.0)
    trained = learner(net, train)
    batch = torch.arange(7)
    logs = log_softmax(net(train.rows.take(batch)), 1)
    own = logs.gather(1, train.y[batch, None]).squeeze(1)
    expected = -(0.9 * own + 0.1 * logs.mean(1)).mean()
    torch.testing.assert_close(trained.loss(batch), expected)
    assert not torch.isclose(expected, cross_entropy(logs, train.y[batch]))


def test_predicted_numbers_are_clipped_in_inference_only():
    net, train = make_net(d_out=1)
    learner(net, train)
    with torch.no_grad():
        net.layers[-1].bias.fill_(100.0)
    assert net(train.rows).min() > 50
    found = net.eval()(train.rows)
    assert found.unique().tolist() == [train.y.max().item()]


@pytest.mark.parametrize(
    ("task", "rate", "activation"),
    [
        ("binclass", 0.04, "selu"),
        ("multiclass", 0.04, "selu"),
        ("regression", 0.2, "mish"),
    ],
)
def test_the_defaults_of_rate_and_activation_depend_on_the_task(task, rate, activation):
    model = PEER.build(task, seed=0)
    assert model.training.learning_rate == rate
    assert model.settings["activation"] == activation
    given = {"learning_rate": 0.1, "activation": "relu"}
    model = PEER.build(task, seed=0, settings=given)
    assert model.training.learning_rate == 0.1
    assert model.settings["activation"] == "relu"


def test_an_unknown_activation_is_an_error_with_the_choices():
    with pytest.raises(ValueError, match="Unknown activation 'gelu'; choose one of"):
        make_net(activation="gelu")
