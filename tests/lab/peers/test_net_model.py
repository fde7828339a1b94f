"""Networks as estimators: their inputs and their training."""

import numpy as np
import pytest
import torch
from scipy.special import ndtri

from modernnca.core.transforms import TRANSFORMS
from modernnca.lab.peers import net_model, peer
from modernnca.lab.peers.net_model import TRAINING
from modernnca.lab.peers.peer_files import load
from modernnca.train.loop import History

RNG = np.random.RandomState(0)
X = np.c_[RNG.lognormal(size=200), RNG.randn(200)]
LABELS = np.array(["a", "b"])[(X[:, 0] > 1).astype(int)]


def build(task="binclass", **settings):
    chosen = {"max_epochs": 1, "d_layer": 4, "device": "cpu", **settings}
    return peer("mlp").build(task, seed=0, settings=chosen)


def network_inputs(model, X):
    """The numbers that the network of a fitted model gets."""
    inputs = []
    handle = model.module_.register_forward_pre_hook(
        lambda module, args: inputs.append(args[0].numbers)
    )
    model.predict(X)
    handle.remove()
    return torch.cat(inputs).numpy()


def standardized(x, train):
    return (x - train.mean(0)) / train.std(0)


def test_numbers_are_standardized_by_the_training_rows():
    train, valid = slice(0, 150), slice(150, 200)
    model = build().fit(X[train], LABELS[train], eval_set=(X[valid], LABELS[valid]))
    expected = standardized(X, X[train])
    np.testing.assert_allclose(network_inputs(model, X), expected, rtol=1e-4, atol=1e-5)


def test_squashed_numbers_by_hand():
    train, valid = slice(0, 150), slice(150, 200)
    model = build(numeric_transform="squashed")
    model.fit(X[train], LABELS[train], eval_set=(X[valid], LABELS[valid]))
    low, middle, high = np.percentile(X[train], [25, 50, 75], axis=0)
    scaled = (X - middle) / (high - low)
    expected = scaled / np.sqrt(1 + (scaled / 3) ** 2)
    np.testing.assert_allclose(network_inputs(model, X), expected, rtol=1e-4, atol=1e-5)


def test_quantiles_by_hand():
    # The deciles of 11 rows are equal steps in both columns: a number is a rank.
    train = np.c_[np.arange(11.0), -np.arange(11.0)]
    labels = LABELS[:11]
    model = build(numeric_transform="quantile")
    model.fit(train, labels, eval_set=(train, labels))
    new = np.array([[5.0, -5.0], [2.5, -2.5], [99.0, 99.0]])
    share = np.array([[0.5, 0.5], [0.25, 0.75], [1 - 1e-7, 1 - 1e-7]])
    found = network_inputs(model, new)
    np.testing.assert_allclose(found, ndtri(share), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", TRANSFORMS)
def test_a_transform_survives_saving(name, tmp_path):
    model = build(numeric_transform=name).fit(X, LABELS)
    model.save(tmp_path / "model")
    again = load(tmp_path / "model", device="cpu")
    assert again.numeric_transform == name
    new = X * 2 - 1
    assert np.array_equal(again.predict_proba(new), model.predict_proba(new))


def test_transforms_differ():
    found = [
        build(numeric_transform=name).fit(X, LABELS).predict_proba(X)
        for name in TRANSFORMS
    ]
    assert not np.allclose(found[0], found[1], atol=1e-4)
    assert not np.allclose(found[0], found[2], atol=1e-4)


def test_an_unknown_transform_is_an_error_with_the_choices():
    with pytest.raises(ValueError) as error:
        build(numeric_transform="minmax").fit(X, LABELS)
    assert str(error.value) == (
        "Unknown numeric_transform 'minmax'; "
        "choose one of: quantile, squashed, standard."
    )


def test_training_options_are_checked_and_override_the_defaults():
    given = {"learning_rate": 0.5, "patience": 3, "batch_size": 7, "max_epochs": 2}
    assert build(**given).training == TRAINING.updated(given)
    with pytest.raises(ValueError, match="learning_rate must be a number above 0"):
        build(learning_rate=-1)


def test_the_phases_share_the_time_limit_equally(monkeypatch):
    ends = []

    def train(learner, config, generators, *, budget, callbacks):
        ends.append((budget.begin, budget.end))
        return History([], 0, "time_limit")

    monkeypatch.setattr(net_model, "train", train)
    model = build(time_limit=60.0)
    model.phases = model.phases * 3
    model.fit(X, LABELS)
    begin = ends[0][0]
    assert [end - begin for _, end in ends] == pytest.approx([20, 40, 60])


def test_the_rmse_decides_when_to_stop():
    y = RNG.standard_t(2, size=200)  # of which the mean absolute error is another
    model = build("regression").fit(X[:150], y[:150], eval_set=(X[150:], y[150:]))
    errors = model.predict(X[150:]) - y[150:]
    rmse = np.sqrt(np.square(errors).mean()) / model.target_.scale_
    assert model.history_[0].score == pytest.approx(-rmse, rel=1e-4)
