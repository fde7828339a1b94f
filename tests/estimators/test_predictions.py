"""Predictions, neighbors, and their shares of the vote."""

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_wine
from sklearn.neighbors import KNeighborsClassifier
from tests.estimators.models import classifier, regressor
from tests.estimators.tables import classes_of, mixed_table

QUICK = {
    "max_epochs": 3,
    "random_state": 0,
    "preset": "fast",
    "calibrate": False,
    "baseline_check": False,
}
X, Y = load_wine(return_X_y=True)
MODEL = classifier(**QUICK).fit(X[::2], Y[::2])
DX, DY = load_diabetes(return_X_y=True)
REGRESSOR = regressor(**QUICK).fit(DX, DY)


def test_probabilities_sum_to_one_in_the_order_of_the_classes():
    probabilities = MODEL.predict_proba(X)
    np.testing.assert_allclose(probabilities.sum(1), 1)
    assert np.array_equal(MODEL.classes_[probabilities.argmax(1)], MODEL.predict(X))


def test_all_shares_together_make_the_prediction():
    found = MODEL.explain(X[1::2], n_neighbors=89)
    np.testing.assert_allclose(found.shares.sum(1), 1, rtol=1e-5)
    votes = np.zeros((89, 3))
    for label in range(3):
        votes[:, label] = (found.shares * (Y[::2][found.indices] == label)).sum(1)
    np.testing.assert_allclose(votes, MODEL.predict_proba(X[1::2]), atol=1e-5)
    everyone = REGRESSOR.explain(DX, n_neighbors=len(DX))
    by_hand = (everyone.shares * DY[everyone.indices]).sum(1)
    np.testing.assert_allclose(by_hand, REGRESSOR.predict(DX), rtol=1e-4)


def test_neighbors_come_nearest_first():
    distances, indices = MODEL.kneighbors(X[1::2])
    assert distances.shape == indices.shape == (89, 5)
    assert (np.diff(distances) >= 0).all()
    assert np.array_equal(MODEL.kneighbors(X[1::2], return_distance=False), indices)


@pytest.mark.parametrize("n_members", [1, 3])
def test_kneighbors_is_scikit_learns_in_the_mean_distance(n_members):
    """Brute force over the embeddings gives the same rows in the same order."""
    model = classifier(**QUICK, n_members=n_members).fit(X[::2], Y[::2])
    found = model.kneighbors(X[1::2], n_neighbors=7)
    mean = 0
    for member, weight in zip(model.members_, model.member_weights_, strict=True):
        queries = member.embed(model._read_queries(X[1::2])).double()
        keys = member.embed(model._read_queries(X[::2])).double()
        mean = mean + weight * np.linalg.norm(queries[:, None] - keys, axis=-1)
    np.testing.assert_allclose(found[0], np.sort(mean)[:, :7], rtol=1e-4)
    np.testing.assert_array_equal(found[1], np.argsort(mean)[:, :7])


def test_without_queries_each_remembered_row_finds_the_others():
    distances, indices = MODEL.kneighbors(n_neighbors=3)
    assert distances.shape == indices.shape == (89, 3)
    assert (indices != np.arange(89)[:, None]).all()
    whole = MODEL.kneighbors(X[::2], n_neighbors=4)
    np.testing.assert_array_equal(whole[1][:, 0], np.arange(89))
    np.testing.assert_array_equal(indices, whole[1][:, 1:])
    np.testing.assert_allclose(distances, whole[0][:, 1:], rtol=1e-4, atol=1e-5)


def test_of_equal_rows_each_finds_another():
    table = np.repeat([[0.0], [5.0]], 10, axis=0)
    model = classifier(**QUICK).fit(table, np.arange(20) // 10)
    for n in (3, 9):
        indices = model.kneighbors(n_neighbors=n, return_distance=False)
        assert indices.shape == (20, n)
        assert all(i not in found for i, found in enumerate(indices))


def test_the_largest_shares_come_first_and_the_rest_is_told():
    few, everyone = (MODEL.explain(X[1::2], n_neighbors=n) for n in (5, 89))
    assert few.shares.shape == few.indices.shape == few.distances.shape == (89, 5)
    assert (np.diff(few.shares) <= 0).all()
    np.testing.assert_array_equal(few.shares, everyone.shares[:, :5])
    np.testing.assert_allclose(few.shares.sum(1) + few.rest, 1, rtol=1e-5)
    np.testing.assert_allclose(everyone.rest, 0, atol=1e-5)


def test_indices_are_rows_of_the_table_given_to_fit():
    """A training row is its own nearest neighbor, wherever it went in fit."""
    distances, indices = MODEL.kneighbors(X[::2], n_neighbors=1)
    assert np.array_equal(indices[:, 0], np.arange(89))
    assert (distances < 1e-5).all()


def test_rows_of_an_eval_set_come_after_those_of_the_table():
    model = classifier(**QUICK)
    model.fit(X[::2], Y[::2], eval_set=(X[1::2], Y[1::2]))
    indices = model.kneighbors(X[1::2], n_neighbors=1, return_distance=False)
    assert np.array_equal(indices[:, 0], 89 + np.arange(89))


def test_a_prediction_does_not_depend_on_the_other_queries():
    whole = MODEL.predict_proba(X)
    one_by_one = np.concatenate([MODEL.predict_proba(row[None]) for row in X])
    np.testing.assert_allclose(one_by_one, whole, atol=1e-5)
    numbers = REGRESSOR.predict(DX)
    halves = np.concatenate([REGRESSOR.predict(DX[:200]), REGRESSOR.predict(DX[200:])])
    np.testing.assert_allclose(halves, numbers, rtol=1e-5)


def test_a_row_far_from_all_others_is_predicted_alone_as_among_others():
    """So far that float32 distances would not tell the remembered rows apart."""
    model = regressor(preset="fast", max_epochs=2, dim=8, d_block=16, random_state=0)
    model.fit([[0.0, 1.0], [1.0, 0.0]], [1.0, 2.0])
    near = np.random.RandomState(0).randn(7, 2)
    for far in (1e5, 3e5, 1e6):
        rows = np.r_[[[far, 1.0]], near]
        whole = model.predict(rows)
        np.testing.assert_allclose(model.predict(rows[:1]), whole[:1], rtol=1e-4)


def test_hard_prediction_is_knn_in_the_embedding():
    model = classifier(**QUICK, prediction="knn", n_neighbors=7)
    model.fit(X[::2], Y[::2])
    knn = KNeighborsClassifier(7).fit(model.transform(X[::2]), Y[::2])
    expected = knn.predict_proba(model.transform(X[1::2]))
    np.testing.assert_allclose(model.predict_proba(X[1::2]), expected, atol=1e-6)
    shares = model.explain(X[1::2], n_neighbors=8).shares
    np.testing.assert_allclose(shares, [[1 / 7] * 7 + [0]] * 89, atol=1e-6)


def test_shares_are_means_over_the_members():
    model = classifier(**QUICK, n_members=2).fit(X[::2], Y[::2])
    found = model.explain(X[1::2], n_neighbors=89)
    np.testing.assert_allclose(found.shares.sum(1), 1, rtol=1e-5)
    votes = (found.shares * (Y[::2][found.indices] == 1)).sum(1)
    np.testing.assert_allclose(votes, model.predict_proba(X[1::2])[:, 1], atol=1e-5)


def test_new_gaps_and_levels_are_predicted():
    frame = mixed_table()
    model = classifier(**QUICK).fit(frame, classes_of(frame))
    new = frame.head(4).copy()
    new.loc[0, "size"] = np.nan
    new.loc[1, "size"] = np.inf
    new.loc[2, "color"] = "purple"
    new.loc[3, "day"] = None
    assert np.isfinite(model.predict_proba(new)).all()


def test_all_unseen_levels_are_the_same():
    frame = mixed_table()[["color"]]
    frame["color"] = frame["color"].fillna("red")
    model = classifier(**QUICK).fit(frame, classes_of(mixed_table()))
    levels = ["red", "green", "blue", "purple", "mauve"]
    embedded = model.transform(frame.head(5).assign(color=levels))
    assert np.array_equal(embedded[3], embedded[4])
    assert not any(np.allclose(embedded[3], embedded[i]) for i in range(3))


@pytest.mark.parametrize("size", [1, 2, 100])
def test_any_number_of_rows_is_predicted(size):
    assert MODEL.predict(X[:size]).shape == (size,)
