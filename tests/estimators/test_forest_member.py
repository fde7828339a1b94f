"""A forest as a member: rows that share its leaves vote on each other."""

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.datasets import load_wine
from tests.estimators.models import classifier, regressor
from tests.estimators.tables import classes_of, mixed_table, numbers_of

from modernnca import ModelFileError, load
from modernnca._tree_file import read_tree, write_tree
from modernnca.ensemble import mixture
from modernnca.ensemble.forest_member import ForestMember

FRAME = mixed_table(80)
LABELS = classes_of(FRAME)
QUICK = {"n_members": 2, "max_epochs": 2, "baseline_check": False, "random_state": 0}


def fitted(**settings):
    return classifier(**{**QUICK, **settings}).fit(FRAME, LABELS)


def are_forests(model):
    return [isinstance(member, ForestMember) for member in model.members_]


def test_a_forest_joins_the_networks():
    model = fitted()
    assert are_forests(model) == [False, False, True]
    assert sum(model.member_weights_) == pytest.approx(1)
    assert len(model.history_) == 2 * 2  # two networks' epochs


@pytest.mark.parametrize(
    "settings",
    [
        {"forest_member": False},
        {"n_members": 1},
        {"combine": "mean"},
        {"prediction": "knn"},
        {"validation_fraction": 0},  # its weight could not be learned
        {"preset": "paper", "n_members": 2},
    ],
    ids=str,
)
def test_where_there_is_no_forest(settings):
    assert not any(are_forests(fitted(**settings)))


def test_regression_has_none():
    model = regressor(**QUICK).fit(FRAME, numbers_of(FRAME))
    assert not any(are_forests(model))


def test_where_rows_are_many_there_is_none(monkeypatch):
    monkeypatch.setattr(mixture, "_FEW_ROWS", 64)  # training rows
    assert not any(are_forests(fitted()))
    monkeypatch.setattr(mixture, "_FEW_ROWS", 65)
    assert any(are_forests(fitted()))
    assert any(are_forests(fitted(refit="full")))  # also with all 80


def test_the_networks_are_as_they_are_without_it():
    for one, other in zip(
        fitted().members_, fitted(forest_member=False).members_, strict=False
    ):
        assert torch.equal(one.keys_, other.keys_)


@pytest.mark.parametrize("settings", [{}, {"class_weight": "balanced"}], ids=str)
def test_shares_make_the_vote(settings):
    model = fitted(**settings)
    found = model.explain(FRAME, n_neighbors=80)
    codes = model.preparation_.target.encode(np.asarray(LABELS))
    values = np.eye(len(model.classes_))[codes]
    votes = (found.shares[..., None] * values[found.indices]).sum(1)
    np.testing.assert_allclose(votes, model._votes(FRAME), atol=1e-5)
    np.testing.assert_allclose(found.shares.sum(1), 1, atol=1e-5)


def test_the_embedding_is_that_of_the_networks():
    model = fitted(dim=8)
    assert model.transform(FRAME).shape == (80, 16)
    assert len(model.get_feature_names_out()) == 16


def test_validation_rows_join_the_forest():
    model = fitted()
    assert len(model.members_[-1].keys_) == 80
    assert len(fitted(refit="none").members_[-1].keys_) == 64


def test_a_full_refit_grows_it_anew():
    sizes = [
        len(fitted(refit=refit).members_[-1].leaves_.left)
        for refit in ("remember", "full")
    ]
    assert sizes[0] < sizes[1]  # with all rows


def test_a_forest_has_most_of_the_vote_where_it_is_best():
    # Sixty columns, two of which decide the class together.
    X = np.random.RandomState(0).rand(400, 60).round(2)
    y = (X[:, 3] > 0.6) | (X[:, 7] < 0.2)
    model = classifier(**QUICK, cooling=False).fit(X[:300], y[:300])
    assert model.member_weights_[-1] == max(model.member_weights_)
    assert model.score(X[300:], y[300:]) > 0.9


def test_later_rows_do_not_vote():
    n = 80
    frame = pd.DataFrame({"x": np.random.RandomState(0).randn(n), "t": range(n)})
    labels = (frame["x"] + frame["t"] / n > 0.5).astype(int)
    model = classifier(**QUICK, time_column="t").fit(frame, labels)
    assert any(are_forests(model))
    found = model.explain(frame, n_neighbors=n)
    assert (found.shares[found.indices > np.arange(n)[:, None]] == 0).all()
    np.testing.assert_allclose(found.shares.sum(1), 1, atol=1e-5)


def test_a_baseline_has_no_forest():
    rng = np.random.RandomState(0)
    noise = rng.randn(60, 3)
    by_score = {"baseline_margin": -np.inf}
    model = classifier(n_members=2, max_epochs=1, random_state=0, **by_score)
    model.fit(noise, rng.rand(60) < 0.1)
    assert model.baseline_ is not None
    assert len(model.members_) == 1


def test_a_forest_is_saved_and_loaded(tmp_path):
    X, y = load_wine(return_X_y=True, as_frame=True)
    model = classifier(**QUICK).fit(X, y)
    model.save(tmp_path / "m")
    again = load(tmp_path / "m")
    assert are_forests(again) == [False, False, True]
    assert np.array_equal(again.predict_proba(X), model.predict_proba(X))
    for one, two in zip(again.explain(X), model.explain(X), strict=True):
        assert np.array_equal(one, two)


@pytest.mark.parametrize(
    ("name", "value", "what"),
    [
        ("left", 10**6, "a child index"),
        ("right", 0, "a child index"),
        ("columns", 99, "a column"),
        ("roots", -1, "a root"),
    ],
)
def test_a_file_with_an_invalid_forest_is_refused(tmp_path, name, value, what):
    fitted().save(tmp_path / "m")
    tree = read_tree(tmp_path / "m")
    tree["ensemble"]["members"][-1]["nodes"][name][-1] = value
    write_tree(tmp_path / "m", tree)
    with pytest.raises(ModelFileError, match=f"Invalid forest: {what} is out of range"):
        load(tmp_path / "m")
