"""A forest is a member: its leaves say what is near, and its rows vote."""

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.datasets import load_wine
from tests.estimators.tables import classes_of, mixed_table, numbers_of

from modernnca import ModelFileError, ModernNCAClassifier, ModernNCARegressor, load
from modernnca.core.leaves import Leaves
from modernnca.estimators import learning
from modernnca.estimators.files import read_tree, write_tree

FRAME = mixed_table(80)
LABELS = classes_of(FRAME)
QUICK = {"n_members": 2, "max_epochs": 2, "guard": False, "random_state": 0}


def fitted(**settings):
    return ModernNCAClassifier(**{**QUICK, **settings}).fit(FRAME, LABELS)


def has_leaves(model):
    return [isinstance(member.net, Leaves) for member in model.members_]


def test_a_forest_stands_beside_the_networks():
    model = fitted()
    assert has_leaves(model) == [False, False, True]
    assert sum(model.member_weights_) == pytest.approx(1)
    assert len(model.history_) == 2 * 2  # two networks' epochs


@pytest.mark.parametrize(
    "settings",
    [
        {"forest_member": False},
        {"n_members": 1},
        {"weigh": False},
        {"prediction": "knn"},
        {"validation_fraction": 0},  # nobody could say how much it should count
        {"preset": "paper", "n_members": 2},
    ],
    ids=str,
)
def test_where_it_is_no_member(settings):
    assert not any(has_leaves(fitted(**settings)))


def test_numbers_have_none():
    model = ModernNCARegressor(**QUICK).fit(FRAME, numbers_of(FRAME))
    assert not any(has_leaves(model))


def test_where_rows_are_not_few_there_is_none(monkeypatch):
    monkeypatch.setattr(learning, "_FEW_ROWS", 64)  # so many are learned from
    assert not any(has_leaves(fitted()))
    monkeypatch.setattr(learning, "_FEW_ROWS", 65)
    assert any(has_leaves(fitted()))
    assert any(has_leaves(fitted(refit="full")))  # also with all 80


def test_the_networks_are_as_they_are_without_it():
    for one, other in zip(
        fitted().members_, fitted(forest_member=False).members_, strict=False
    ):
        assert torch.equal(one.memory.keys, other.memory.keys)


@pytest.mark.parametrize("settings", [{}, {"class_weight": "balanced"}], ids=str)
def test_rows_explain_the_vote_of_all(settings):
    model = fitted(**settings)
    _, indices, shares = model.kneighbors(FRAME, n_neighbors=80)
    values = np.eye(len(model.classes_))[model.target_.encode(np.asarray(LABELS))]
    told = (shares[..., None] * values[indices]).sum(1)
    np.testing.assert_allclose(told, model._votes(FRAME), atol=1e-5)
    np.testing.assert_allclose(shares.sum(1), 1, atol=1e-5)


def test_the_embedding_is_that_of_the_networks():
    model = fitted(dim=8)
    assert model.transform(FRAME).shape == (80, 16)
    assert len(model.get_feature_names_out()) == 16


def test_held_out_rows_join_the_leaves():
    model = fitted()
    assert len(model.members_[-1].memory) == 80
    assert len(fitted(refit=None).members_[-1].memory) == 64


def test_what_is_learned_anew_is_grown_anew():
    shapes = [fitted(refit=r).members_[-1].net.shape for r in ("remember", "full")]
    assert shapes[0].n_nodes < shapes[1].n_nodes  # with all rows


def test_trees_are_heard_where_they_see_more():
    # Sixty columns, two of which tell the class together.
    X = np.random.RandomState(0).rand(400, 60).round(2)
    y = (X[:, 3] > 0.6) | (X[:, 7] < 0.2)
    model = ModernNCAClassifier(**QUICK).fit(X[:300], y[:300])
    assert model.member_weights_[-1] == max(model.member_weights_)
    assert model.score(X[300:], y[300:]) > 0.9


def test_a_row_hears_no_later_one():
    n = 80
    frame = pd.DataFrame({"x": np.random.RandomState(0).randn(n), "t": range(n)})
    labels = (frame["x"] + frame["t"] / n > 0.5).astype(int)
    model = ModernNCAClassifier(**QUICK, time_column="t").fit(frame, labels)
    assert any(has_leaves(model))
    _, indices, shares = model.kneighbors(frame, n_neighbors=n)
    assert (shares[indices > np.arange(n)[:, None]] == 0).all()
    np.testing.assert_allclose(shares.sum(1), 1, atol=1e-5)


def test_a_fall_back_has_no_forest():
    rng = np.random.RandomState(0)
    noise = rng.randn(60, 3)
    model = ModernNCAClassifier(n_members=2, max_epochs=1, random_state=0)
    model.fit(noise, rng.rand(60) < 0.1)
    assert model.fallback_ is not None
    assert len(model.members_) == 1


def test_a_forest_comes_back_from_a_file(tmp_path):
    X, y = load_wine(return_X_y=True, as_frame=True)
    model = ModernNCAClassifier(**QUICK).fit(X, y)
    model.save(tmp_path / "m")
    again = load(tmp_path / "m")
    assert has_leaves(again) == [False, False, True]
    assert np.array_equal(again.predict_proba(X), model.predict_proba(X))
    for one, two in zip(again.kneighbors(X), model.kneighbors(X), strict=True):
        assert np.array_equal(one, two)


@pytest.mark.parametrize(
    ("name", "value"), [("left", 10**6), ("right", 0), ("columns", 99), ("roots", -1)]
)
def test_a_file_whose_trees_lead_nowhere_is_refused(tmp_path, name, value):
    fitted().save(tmp_path / "m")
    tree = read_tree(tmp_path / "m")
    tree["members"][-1]["weights"][name][-1] = value
    write_tree(tmp_path / "m", tree)
    with pytest.raises(ModelFileError, match="its trees lead nowhere"):
        load(tmp_path / "m")
