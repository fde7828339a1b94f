import pytest
from sklearn.datasets import load_iris

from modernnca.estimators.settings import PRESETS
from modernnca.lab.peers import peer


@pytest.mark.parametrize("version", ["v0", "v2", "v4"])
def test_each_version_learns_by_its_own_preset(version):
    X, y = load_iris(return_X_y=True)
    settings = {"version": version, "max_epochs": 2}
    model = peer("nca").build("multiclass", seed=0, settings=settings).fit(X, y)
    preset = PRESETS[f"nca-{version}"]
    assert model.settings_.learning_rate == preset.learning_rate
    assert model.settings_.optimizer == preset.optimizer
