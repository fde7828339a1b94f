"""NCA: each step from NCA to L-NCA is a preset."""

import pytest
from sklearn.datasets import load_iris

from modernnca.estimators.presets import PRESETS
from modernnca.lab.peers import peer


@pytest.mark.parametrize("name", ["nca-v0", "nca-v2", "nca-v4"])
def test_each_preset_has_its_own_optimizer_and_learning_rate(name):
    X, y = load_iris(return_X_y=True)
    settings = {"preset": name, "max_epochs": 2}
    model = peer("nca").build("multiclass", seed=0, settings=settings).fit(X, y)
    assert model.preset_ == name
    assert model.config_.learning_rate == PRESETS[name].learning_rate
    assert model.config_.optimizer == PRESETS[name].optimizer


def test_the_default_is_the_nca_of_2004():
    X, y = load_iris(return_X_y=True)
    model = peer("nca").build("multiclass", seed=0, settings={"max_epochs": 1})
    assert model.fit(X, y).preset_ == "nca-v0"
