"""Files keep the names of weights whose attributes were renamed."""

import numpy as np
import pytest

from modernnca._tree_file import read_tree
from modernnca.lab.peers import peer
from modernnca.lab.peers.peer_files import load

X = np.random.RandomState(0).randn(40, 2)
LABELS = np.array(["a", "b"])[np.arange(40) % 2]


@pytest.mark.parametrize(
    ("name", "settings", "attribute", "in_file"),
    [
        ("tabr", {"d_main": 8}, "diff_in.weight", "bend_in.weight"),
        ("saint", {}, "context.numbers", "mates.numbers"),
        (
            "ft-t",
            {"d_token": 8},
            "layers.0.attention.query.bias",
            "layers.0.attention.asks.bias",
        ),
    ],
)
def test_a_file_has_the_earlier_name_and_loads(
    name, settings, attribute, in_file, tmp_path
):
    settings = {"max_epochs": 1, "device": "cpu", **settings}
    model = peer(name).build("binclass", seed=0, settings=settings).fit(X, LABELS)
    model.save(tmp_path / "model")
    saved = read_tree(tmp_path / "model")["weights"]
    weights = model.module_.state_dict()
    assert attribute in weights
    assert attribute not in saved
    assert saved[in_file].equal(weights[attribute])
    loaded = load(tmp_path / "model", device="cpu").module_.state_dict()
    assert loaded.keys() == weights.keys()
    assert all(loaded[key].equal(weights[key]) for key in weights)
