"""Foreign estimators: what they see, how they stop, and what their files hold."""

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

from modernnca._tree_file import read_tree, write_tree
from modernnca.errors import ModelFileError
from modernnca.lab.peers import peer
from modernnca.lab.peers.peer_files import load


def some_table(n_rows=60, seed=0):
    rng = np.random.RandomState(seed)
    X = rng.randn(n_rows, 4)
    return X, np.where(X[:, 0] * X[:, 1] > 0, "same", "other"), X[:, 0] + 100


def fit(name, task, X, y, *, eval_set=None, **settings):
    model = peer(name).build(task, seed=0, settings=settings)
    return model.fit(X, y, eval_set=eval_set)


def test_a_forest_grown_by_the_clock_is_the_same_forest():
    X, labels, _ = some_table()
    at_once = fit("random-forest", "binclass", X, labels, n_estimators=45)
    by_clock = fit(
        "random-forest", "binclass", X, labels, n_estimators=45, time_limit=1e6
    )
    assert len(by_clock.trees_) == 45
    assert np.array_equal(at_once.predict_proba(X), by_clock.predict_proba(X))


@pytest.mark.parametrize("task", ["binclass", "regression"])
def test_a_forest_predicts_what_scikit_learns_predicts(task):
    X, labels, numbers = some_table()
    y = numbers if task == "regression" else labels
    model = fit("random-forest", task, X, y, n_estimators=30)
    kind = RandomForestRegressor if task == "regression" else RandomForestClassifier
    plain = kind(n_estimators=30, max_depth=12, random_state=0)
    x, codes = model.columns.transform(X), model.target_.encode(y)
    plain.fit(x, codes)
    expected = plain.predict(x) if task == "regression" else plain.predict_proba(x)
    assert np.allclose(model.answer(x), expected, rtol=0, atol=1e-12)


def test_a_forest_without_time_has_its_first_trees():
    X, labels, _ = some_table()
    model = fit(
        "random-forest", "binclass", X, labels, n_estimators=500, time_limit=1e-9
    )
    assert len(model.trees_) == 20


def test_a_forest_that_points_out_of_itself_is_refused(tmp_path):
    X, labels, _ = some_table()
    path = tmp_path / "forest"
    fit("random-forest", "binclass", X, labels, n_estimators=3).save(path)
    tree = read_tree(path)
    tree["model"]["nodes"]["left_child"][0] = 10**9
    write_tree(path, tree)
    with pytest.raises(ModelFileError, match="the nodes of a tree do not make a tree"):
        load(path)


@pytest.mark.parametrize("name", ["knn", "svm", "random-forest"])
def test_many_levels_are_sparse_and_come_back_from_a_file(name, tmp_path):
    rng = np.random.RandomState(0)
    levels = [f"level {i}" for i in range(600)] * 3
    X = pd.DataFrame({"level": levels, "number": rng.randn(1800)})
    y = X["number"] + rng.randn(1800) / 10
    settings = {"random-forest": {"n_estimators": 3}, "svm": {"C": 0.01}}
    model = fit(name, "regression", X, y, **settings.get(name, {}))
    assert not isinstance(model.columns.transform(X), np.ndarray)
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert np.array_equal(model.predict(X[:40]), again.predict(X[:40]))


def test_no_more_neighbors_than_rows():
    X, labels, _ = some_table(8)
    p = fit("knn", "binclass", X, labels, n_neighbors=50, weights="uniform")
    shares = [(labels == label).mean() for label in p.classes_]
    assert np.allclose(p.predict_proba(X), [shares] * 8)


def test_a_softmax_of_margins_ranks_as_the_margins_do():
    X, labels, _ = some_table()
    model = fit("svm", "binclass", X, labels)
    margins = model.model.decision_function(model.columns.transform(X))
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


def test_boosting_stops_by_the_rows_given(boosted):
    name, steps, count = boosted
    X, labels, _ = some_table(200)
    upside_down = np.where(labels == "same", "other", "same")
    settings = {steps: 300}
    right = fit(name, "binclass", X, labels, eval_set=(X, labels), **settings)
    wrong = fit(name, "binclass", X, labels, eval_set=(X, upside_down), **settings)
    assert count(wrong) < 100 < count(right)


def test_boosting_without_time_has_few_trees_and_a_lavish_limit_changes_nothing(
    boosted,
):
    name, steps, count = boosted
    X, _, numbers = some_table(200)
    settings = {steps: 60}
    free = fit(name, "regression", X, numbers, **settings)
    lavish = fit(name, "regression", X, numbers, time_limit=1e6, **settings)
    hasty = fit(name, "regression", X, numbers, time_limit=1e-9, **settings)
    assert count(hasty) <= 2 < count(free)
    assert np.array_equal(free.predict(X), lavish.predict(X))


def test_boosting_takes_few_rows(boosted):
    name, steps, _ = boosted
    X, labels, _ = some_table(4)
    labels[:2] = "same", "other"
    model = fit(name, "binclass", X, labels, **{steps: 5})
    assert model.predict_proba(X).shape == (4, 2)


@pytest.mark.parametrize("name", ["catboost", "lightgbm", "xgboost"])
@pytest.mark.parametrize("task", ["binclass", "regression"])
def test_refitted_boosting_has_as_many_rounds_as_found_on_all_rows(name, task):
    pytest.importorskip(name)
    X, labels, numbers = some_table(300)
    X = pd.DataFrame(X, columns=list("abcd")).assign(
        e=np.where(X[:, 3] > 0, "up", "down")
    )
    rng = np.random.RandomState(1)  # noise, so that many rounds are too many
    y = numbers + rng.randn(300) if task == "regression" else labels.copy()
    if task == "binclass":
        y[rng.rand(300) < 0.3] = "same"
    few = {"iterations" if name == "catboost" else "n_estimators": 300}
    stop = (X[200:], y[200:])
    short = fit(name, task, X[:200], y[:200], eval_set=stop, **few)
    twice = fit(name, task, X[:200], y[:200], eval_set=stop, refit=True, **few)
    fresh = peer(name).build(task, seed=0, settings={})
    fresh.columns, fresh.target_ = twice.columns, twice.target_
    own = {key: value for key, value in twice.own().items() if "early" not in key}
    fresh.model = fresh.estimator(**{**own, twice.rounds: short.n_rounds()})
    seen = type("Seen", (), {"x": fresh._see(X), "y": fresh.target_.encode(y)})
    fresh.learn(seen, None, np.inf)
    assert 1 <= short.n_rounds() < 300
    assert np.allclose(twice.answer(twice._see(X)), fresh.answer(fresh._see(X)))
    assert not np.allclose(twice.answer(twice._see(X)), short.answer(short._see(X)))
