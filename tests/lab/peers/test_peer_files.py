"""One function loads the file of any method."""

import numpy as np
import pytest

from modernnca._tree_file import read_tree, write_tree
from modernnca.errors import ModelFileError
from modernnca.lab.peers import peer
from modernnca.lab.peers.peer_files import load

X = np.arange(40.0).reshape(20, 2) % 7
LABELS = np.array(["a", "b"])[np.arange(20) % 2]


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "model"
    settings = {"max_epochs": 1, "d_layer": 4}
    peer("mlp").build("binclass", seed=5, settings=settings).fit(X, LABELS).save(path)
    return path


def test_a_loaded_model_has_its_settings(path):
    model = load(path, device="cpu")
    assert (model.name, model.task, model.seed) == ("mlp", "binclass", 5)
    assert model.training.max_epochs == 1
    assert model.device == "cpu"
    assert model.settings["d_layer"] == 4
    assert model.classes_.tolist() == ["a", "b"]


def test_it_loads_models_of_this_package(tmp_path):
    model = peer("l-nca").build("binclass", seed=0, settings={"max_epochs": 1})
    model.fit(X, LABELS).save(tmp_path / "own")
    again = load(tmp_path / "own")
    assert type(again) is type(model)
    assert np.array_equal(again.predict_proba(X), model.predict_proba(X))


def changed(path, change):
    tree = read_tree(path)
    change(tree)
    write_tree(path, tree)


def test_a_file_of_an_unknown_method_is_rejected(path):
    changed(path, lambda tree: tree.update(peer="../mlp"))
    with pytest.raises(ModelFileError, match=r"Unknown method '\.\./mlp'"):
        load(path)


def test_a_file_without_weights_is_rejected(path):
    changed(path, lambda tree: tree.pop("weights"))
    with pytest.raises(ModelFileError, match="does not describe a model"):
        load(path)


def test_a_truncated_file_is_rejected(path):
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(ModelFileError, match="or it is cut short"):
        load(path)
