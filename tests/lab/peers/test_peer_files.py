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


@pytest.mark.parametrize("name", ["lightgbm", "xgboost", "catboost"])
def test_a_native_format_is_loaded_only_if_trusted(name, tmp_path):
    X = np.random.RandomState(0).randn(60, 3)
    rounds = "iterations" if name == "catboost" else "n_estimators"
    model = peer(name).build("binclass", seed=0, settings={rounds: 3})
    model.fit(X, X[:, 0] > 0).save(tmp_path / "m")
    with pytest.raises(ModelFileError, match=rf"own format of {name}.* trusted=True"):
        load(tmp_path / "m")
    again = load(tmp_path / "m", trusted=True)
    assert np.array_equal(again.predict_proba(X), model.predict_proba(X))


def test_a_forest_of_other_columns_is_rejected(tmp_path):
    """scikit-learn would read beyond the row, and crash."""
    X, path = np.random.RandomState(0).randn(60, 3), tmp_path / "m"
    settings = {"n_estimators": 3}
    model = peer("random-forest").build("binclass", seed=0, settings=settings)
    model.fit(X, X[:, 0] > 0).save(path)

    def widen(tree):
        tree["model"]["n_columns"] = 10**6
        tree["model"]["nodes"]["feature"].fill_(10**6 - 1)

    changed(path, widen)
    with pytest.raises(ModelFileError, match="the columns of the forest is 1000000"):
        load(path)


@pytest.mark.parametrize("column", [-1, 3])
def test_a_tree_that_tests_a_column_beyond_the_row_is_rejected(column, tmp_path):
    X, path = np.random.RandomState(0).randn(60, 3), tmp_path / "m"
    settings = {"n_estimators": 3}
    model = peer("random-forest").build("binclass", seed=0, settings=settings)
    model.fit(X, X[:, 0] > 0).save(path)
    changed(path, lambda tree: tree["model"]["nodes"]["feature"].fill_(column))
    with pytest.raises(ModelFileError, match="feature index is out of range"):
        load(path)


def test_a_network_larger_than_its_file_is_not_built(path):
    for change in ({"n_layers": 10**6}, {"d_layer": 10**6}):
        changed(path, lambda tree, change=change: tree["settings"].update(change))
        with pytest.raises(ModelFileError, match=r"larger than the file|has the shape"):
            load(path)


def test_weights_that_are_not_finite_are_rejected(path):
    def spoil(tree):
        name = next(name for name in tree["weights"] if name.endswith("weight"))
        tree["weights"][name][0] = float("nan")

    changed(path, spoil)
    with pytest.raises(ModelFileError, match="not finite"):
        load(path)
