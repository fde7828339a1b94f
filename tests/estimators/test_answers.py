"""What a fitted model answers: predictions, neighbors and their shares."""

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_wine
from sklearn.neighbors import KNeighborsClassifier
from tests.estimators.tables import classes_of, mixed_table

from modernnca import ModernNCAClassifier, ModernNCARegressor

QUICK = {
    "max_epochs": 3,
    "random_state": 0,
    "preset": "fast",
    "calibrate": False,
    "guard": False,
}
X, Y = load_wine(return_X_y=True)
MODEL = ModernNCAClassifier(**QUICK).fit(X[::2], Y[::2])
DX, DY = load_diabetes(return_X_y=True)
REGRESSOR = ModernNCARegressor(**QUICK).fit(DX, DY)


def test_probabilities_sum_to_one_in_the_order_of_the_classes():
    probabilities = MODEL.predict_proba(X)
    np.testing.assert_allclose(probabilities.sum(1), 1)
    assert np.array_equal(MODEL.classes_[probabilities.argmax(1)], MODEL.predict(X))


def test_all_shares_together_make_the_prediction():
    found = MODEL.kneighbors(X[1::2], n_neighbors=89)
    np.testing.assert_allclose(found.shares.sum(1), 1, rtol=1e-5)
    votes = np.zeros((89, 3))
    for label in range(3):
        votes[:, label] = (found.shares * (Y[::2][found.indices] == label)).sum(1)
    np.testing.assert_allclose(votes, MODEL.predict_proba(X[1::2]), atol=1e-5)
    everyone = REGRESSOR.kneighbors(DX, n_neighbors=len(DX))
    by_hand = (everyone.shares * DY[everyone.indices]).sum(1)
    np.testing.assert_allclose(by_hand, REGRESSOR.predict(DX), rtol=1e-4)


def test_neighbors_come_nearest_first_with_falling_shares():
    distances, indices, shares = MODEL.kneighbors(X[1::2])
    assert distances.shape == indices.shape == shares.shape == (89, 5)
    assert (np.diff(distances) >= 0).all()
    assert (np.diff(shares) <= 1e-6).all()


def test_indices_are_rows_of_the_table_given_to_fit():
    """A training row is its own nearest neighbor, wherever it went in fit."""
    found = MODEL.kneighbors(X[::2], n_neighbors=1)
    assert np.array_equal(found.indices[:, 0], np.arange(89))
    assert (found.distances < 1e-5).all()


def test_distances_are_those_of_the_embeddings():
    queries, keys = MODEL.transform(X[1::2]), MODEL.transform(X[::2])
    distances, indices, _ = MODEL.kneighbors(X[1::2])
    by_hand = np.linalg.norm(queries[:, None] - keys[indices], axis=-1)
    np.testing.assert_allclose(distances, by_hand, rtol=1e-4)


def test_rows_of_an_eval_set_come_after_those_of_the_table():
    model = ModernNCAClassifier(**QUICK)
    model.fit(X[::2], Y[::2], eval_set=(X[1::2], Y[1::2]))
    found = model.kneighbors(X[1::2], n_neighbors=1)
    assert np.array_equal(found.indices[:, 0], 89 + np.arange(89))


def test_an_answer_does_not_depend_on_the_rows_beside():
    whole = MODEL.predict_proba(X)
    one_by_one = np.concatenate([MODEL.predict_proba(row[None]) for row in X])
    np.testing.assert_allclose(one_by_one, whole, atol=1e-5)
    numbers = REGRESSOR.predict(DX)
    halves = np.concatenate([REGRESSOR.predict(DX[:200]), REGRESSOR.predict(DX[200:])])
    np.testing.assert_allclose(halves, numbers, rtol=1e-5)


def test_hard_prediction_is_knn_in_the_embedding():
    model = ModernNCAClassifier(**QUICK, prediction="knn", n_neighbors=7)
    model.fit(X[::2], Y[::2])
    knn = KNeighborsClassifier(7).fit(model.transform(X[::2]), Y[::2])
    expected = knn.predict_proba(model.transform(X[1::2]))
    np.testing.assert_allclose(model.predict_proba(X[1::2]), expected, atol=1e-6)
    shares = model.kneighbors(X[1::2], n_neighbors=8).shares
    np.testing.assert_allclose(shares, [[1 / 7] * 7 + [0]] * 89, atol=1e-6)


def test_members_agree_on_neighbors_by_their_mean_share():
    model = ModernNCAClassifier(**QUICK, n_members=2).fit(X[::2], Y[::2])
    found = model.kneighbors(X[1::2], n_neighbors=89)
    np.testing.assert_allclose(found.shares.sum(1), 1, rtol=1e-5)
    votes = (found.shares * (Y[::2][found.indices] == 1)).sum(1)
    np.testing.assert_allclose(votes, model.predict_proba(X[1::2])[:, 1], atol=1e-5)


def test_gaps_and_levels_first_seen_at_prediction_are_answered():
    frame = mixed_table()
    model = ModernNCAClassifier(**QUICK).fit(frame, classes_of(frame))
    new = frame.head(4).copy()
    new.loc[0, "size"] = np.nan
    new.loc[1, "size"] = np.inf
    new.loc[2, "color"] = "purple"
    new.loc[3, "day"] = None
    assert np.isfinite(model.predict_proba(new)).all()


def test_an_unseen_level_means_none_of_the_known():
    frame = mixed_table()[["color"]]
    frame["color"] = frame["color"].fillna("red")
    model = ModernNCAClassifier(**QUICK).fit(frame, classes_of(mixed_table()))
    levels = ["red", "green", "blue", "purple", "mauve"]
    embedded = model.transform(frame.head(5).assign(color=levels))
    assert np.array_equal(embedded[3], embedded[4])
    assert not any(np.allclose(embedded[3], embedded[i]) for i in range(3))


@pytest.mark.parametrize("size", [1, 2, 100])
def test_any_number_of_rows_may_be_asked_for(size):
    assert MODEL.predict(X[:size]).shape == (size,)
