"""Wrapped estimators: their inputs, early stopping, time limits and files."""

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

from modernnca._tree_file import read_tree, write_tree
from modernnca.errors import ModelFileError
from modernnca.lab.peers import peer
from modernnca.lab.peers.peer_files import load


def make_table(n_rows=60, seed=0):
    rng = np.random.RandomState(seed)
    X = rng.randn(n_rows, 4)
    return X, np.where(X[:, 0] * X[:, 1] > 0, "same", "other"), X[:, 0] + 100


def fit(name, task, X, y, *, eval_set=None, **settings):
    model = peer(name).build(task, seed=0, settings=settings)
    return model.fit(X, y, eval_set=eval_set)


def test_a_time_limit_that_suffices_does_not_change_a_forest():
    X, labels, _ = make_table()
    at_once = fit("random-forest", "binclass", X, labels, n_estimators=45)
    limited = fit(
        "random-forest", "binclass", X, labels, n_estimators=45, time_limit=1e6
    )
    assert len(limited.trees_) == 45
    assert np.array_equal(at_once.predict_proba(X), limited.predict_proba(X))


@pytest.mark.parametrize("task", ["binclass", "regression"])
def test_a_forest_predicts_the_same_as_scikit_learn(task):
    X, labels, numbers = make_table()
    y = numbers if task == "regression" else labels
    model = fit("random-forest", task, X, y, n_estimators=30)
    forest = RandomForestRegressor if task == "regression" else RandomForestClassifier
    plain = forest(n_estimators=30, max_depth=12, random_state=0)
    x, codes = model.encoder.transform(X), model.target_.encode(y)
    plain.fit(x, codes)
    expected = plain.predict(x) if task == "regression" else plain.predict_proba(x)
    assert np.allclose(model.predict_encoded(x), expected, rtol=0, atol=1e-12)


def test_a_forest_without_time_grows_its_first_trees():
    X, labels, _ = make_table()
    model = fit(
        "random-forest", "binclass", X, labels, n_estimators=500, time_limit=1e-9
    )
    assert len(model.trees_) == 20


def test_a_forest_with_an_index_out_of_range_is_rejected(tmp_path):
    X, labels, _ = make_table()
    path = tmp_path / "forest"
    fit("random-forest", "binclass", X, labels, n_estimators=3).save(path)
    tree = read_tree(path)
    tree["model"]["nodes"]["left_child"][0] = 10**9
    write_tree(path, tree)
    with pytest.raises(ModelFileError, match="child or feature index is out of range"):
        load(path)


@pytest.mark.parametrize("name", ["knn", "svm", "random-forest"])
def test_many_levels_give_a_sparse_matrix_that_survives_saving(name, tmp_path):
    rng = np.random.RandomState(0)
    levels = [f"level {i}" for i in range(600)] * 3
    X = pd.DataFrame({"level": levels, "number": rng.randn(1800)})
    y = X["number"] + rng.randn(1800) / 10
    settings = {"random-forest": {"n_estimators": 3}, "svm": {"C": 0.01}}
    model = fit(name, "regression", X, y, **settings.get(name, {}))
    assert not isinstance(model.encoder.transform(X), np.ndarray)
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert np.array_equal(model.predict(X[:40]), again.predict(X[:40]))


def test_there_are_no_more_neighbors_than_rows():
    X, labels, _ = make_table(8)
    p = fit("knn", "binclass", X, labels, n_neighbors=50, weights="uniform")
    shares = [(labels == label).mean() for label in p.classes_]
    assert np.allclose(p.predict_proba(X), [shares] * 8)


def test_a_softmax_of_margins_ranks_as_the_margins_do():
    X, labels, _ = make_table()
    model = fit("svm", "binclass", X, labels)
    margins = model.model.decision_function(model.encoder.transform(X))
    p = model.predict_proba(X)
    assert (np.argsort(margins) == np.argsort(p[:, 1])).all()
    assert np.allclose(np.log(p[:, 1] / p[:, 0]), margins)


BOOSTED = {
    "xgboost": ("n_estimators", lambda m: m.model.get_booster().num_boosted_rounds()),
    "lightgbm": ("n_estimators", lambda m: m.booster_.num_trees()),
    "catboost": ("iterations", lambda m: m.model.tree_count_),
}


@pytest.fixture(params=BOOSTED)
def boosted(request):
    pytest.importorskip(request.param)
    return request.param, *BOOSTED[request.param]


def test_boosting_stops_early_by_the_eval_set(boosted):
    name, steps, count = boosted
    X, labels, _ = make_table(200)
    inverted = np.where(labels == "same", "other", "same")
    settings = {steps: 300}
    right = fit(name, "binclass", X, labels, eval_set=(X, labels), **settings)
    wrong = fit(name, "binclass", X, labels, eval_set=(X, inverted), **settings)
    assert count(wrong) < 100 < count(right)


def test_a_tight_time_limit_gives_few_trees_and_a_loose_one_changes_nothing(
    boosted,
):
    name, steps, count = boosted
    X, _, numbers = make_table(200)
    settings = {steps: 60}
    free = fit(name, "regression", X, numbers, **settings)
    loose = fit(name, "regression", X, numbers, time_limit=1e6, **settings)
    tight = fit(name, "regression", X, numbers, time_limit=1e-9, **settings)
    assert count(tight) <= 2 < count(free)
    assert np.array_equal(free.predict(X), loose.predict(X))


def test_boosting_accepts_few_rows(boosted):
    name, steps, _ = boosted
    X, labels, _ = make_table(4)
    labels[:2] = "same", "other"
    model = fit(name, "binclass", X, labels, **{steps: 5})
    assert model.predict_proba(X).shape == (4, 2)


@pytest.mark.parametrize("name", ["catboost", "lightgbm", "xgboost"])
@pytest.mark.parametrize("task", ["binclass", "regression"])
def test_refitting_uses_all_rows_and_the_best_number_of_rounds(name, task):
    pytest.importorskip(name)
    X, labels, numbers = make_table(300)
    X = pd.DataFrame(X, columns=list("abcd")).assign(
        e=np.where(X[:, 3] > 0, "up", "down")
    )
    rng = np.random.RandomState(1)  # noise, so that 300 rounds overfit
    y = numbers + rng.randn(300) if task == "regression" else labels.copy()
    if task == "binclass":
        y[rng.rand(300) < 0.3] = "same"
    few = {"iterations" if name == "catboost" else "n_estimators": 300}
    valid = (X[200:], y[200:])
    stopped = fit(name, task, X[:200], y[:200], eval_set=valid, **few)
    refitted = fit(name, task, X[:200], y[:200], eval_set=valid, refit=True, **few)
    fresh = peer(name).build(task, seed=0, settings={})
    fresh.encoder, fresh.target_ = refitted.encoder, refitted.target_
    settings = {
        key: value
        for key, value in refitted.estimator_settings().items()
        if "early" not in key
    }
    settings[refitted.rounds_setting] = stopped.best_n_rounds()
    fresh.model = fresh.make_estimator(**settings)
    fresh.fit_estimator(fresh._encode_data(X, y), None, np.inf)
    assert 1 <= stopped.best_n_rounds() < 300
    expected = fresh.predict_encoded(fresh._encode(X))
    found = refitted.predict_encoded(refitted._encode(X))
    assert np.allclose(found, expected)
    assert not np.allclose(found, stopped.predict_encoded(stopped._encode(X)))
