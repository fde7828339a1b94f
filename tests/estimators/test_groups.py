"""Groups: rows of a query's own group do not vote, in any phase."""

import numpy as np
import pandas as pd
import pytest

import modernnca
from modernnca import ModernNCAClassifier, ModernNCARegressor
from modernnca._tree_file import read_tree, write_tree
from modernnca.errors import ModelFileError

N, N_GROUPS = 120, 12
RNG = np.random.RandomState(0)
GROUPS = np.array([f"patient {number}" for number in range(N_GROUPS)])[
    np.arange(N) % N_GROUPS
]
# A patient is recognized by the first columns; the target is a matter of the patient.
PATIENTS = RNG.randn(N_GROUPS, 3)[np.arange(N) % N_GROUPS]
X = pd.DataFrame(PATIENTS + 0.01 * RNG.randn(N, 3), columns=["a", "b", "c"])
Y = np.array(["no", "yes"])[(np.arange(N) % N_GROUPS) % 2]
OPTIONS = {"n_members": 2, "max_epochs": 3, "random_state": 0}


@pytest.fixture(scope="module")
def model():
    return ModernNCAClassifier(**OPTIONS).fit(X, Y, groups=GROUPS)


def test_rows_of_the_same_group_have_no_share(model):
    found = model.explain(X, n_neighbors=N, groups=GROUPS)
    own = GROUPS[found.indices] == GROUPS[:, None]
    assert not found.shares[own].any()
    np.testing.assert_allclose(found.shares.sum(1), 1, atol=1e-5)
    assert np.isinf(found.distances[own]).all()
    known = model.explain(X, n_neighbors=N)
    assert known.shares[GROUPS[known.indices] == GROUPS[:, None]].sum() > 1


def test_a_grouped_prediction_is_that_of_the_other_groups(model):
    votes = model.predict_proba(X, groups=GROUPS)
    found = model.explain(X, n_neighbors=N, groups=GROUPS)
    onehot = (Y[found.indices][..., None] == model.classes_).astype(float)
    expected = model.calibration_((found.shares[..., None] * onehot).sum(1))
    np.testing.assert_allclose(votes, expected, atol=1e-5)
    assert (model.predict(X) == Y).mean() > 0.9
    assert (model.predict(X, groups=GROUPS) == Y).mean() < 0.8


def test_a_new_group_masks_nothing(model):
    new = model.predict_proba(X[:5], groups=["new"] * 5)
    np.testing.assert_array_equal(new, model.predict_proba(X[:5]))


def test_one_query_at_a_time_gets_the_same_answer(model):
    whole = model.predict_proba(X[:4], groups=GROUPS[:4])
    single = [model.predict_proba(X[i : i + 1], groups=GROUPS[[i]]) for i in range(4)]
    np.testing.assert_allclose(np.concatenate(single), whole, atol=1e-5)


def test_groups_survive_a_file(model, tmp_path):
    model.save(tmp_path / "with")
    again = modernnca.load(tmp_path / "with")
    expected = model.predict_proba(X, groups=GROUPS)
    np.testing.assert_allclose(again.predict_proba(X, groups=GROUPS), expected)
    model.save(tmp_path / "without", rows=False)
    with pytest.raises(ValueError, match="saved without its rows and so without the"):
        modernnca.load(tmp_path / "without").predict(X, groups=GROUPS)


def test_a_file_of_unknown_groups_is_refused(model, tmp_path):
    model.save(tmp_path / "model")
    tree = read_tree(tmp_path / "model")
    tree["group_names"] = tree["group_names"][:-1]
    write_tree(tmp_path / "model", tree)
    with pytest.raises(ModelFileError, match="groups that are unknown"):
        modernnca.load(tmp_path / "model")


@pytest.mark.parametrize("loss", ["log", "t-distribution"])
@pytest.mark.parametrize("refit", ["remember", "full"])
def test_training_does_not_see_the_own_group(loss, refit):
    """With the group as the only signal, there is nothing to learn or to predict."""
    rng = np.random.RandomState(1)
    patients = np.arange(100) % 10
    y = rng.rand(10)[patients]
    table = np.c_[np.eye(10)[patients], rng.randn(100, 1)]
    model = ModernNCARegressor(
        n_members=1, max_epochs=2, random_state=0, refit=refit
    ).set_params(config={"loss": loss, "baseline_check": False})
    model.fit(table, y, groups=patients)
    epoch = model.history_[-1]
    assert np.isfinite(epoch.train_loss)
    masked = model.explain(table, n_neighbors=100, groups=patients)
    assert not masked.shares[patients[masked.indices] == patients[:, None]].any()


def test_the_training_loss_is_that_of_other_groups():
    patients = np.arange(100) // 10
    y = np.where(patients % 2, 1.0, -1.0)
    table = np.c_[patients * 1.0, y]
    losses = {}
    for groups in (None, patients):
        model = ModernNCARegressor(n_members=1, max_epochs=1, random_state=0, dim=4)
        model.fit(table[:, :1], y, groups=groups)
        losses[groups is None] = model.history_[0].train_loss
    assert losses[False] > 1.05 * losses[True]


def test_groups_and_time_mask_together():
    table = X.assign(when=np.arange(N))
    model = ModernNCAClassifier(time_column="when", **OPTIONS)
    model.fit(table, Y, groups=GROUPS)
    found = model.explain(table, n_neighbors=N, groups=GROUPS)
    counted = found.shares > 0
    own = GROUPS[found.indices] == GROUPS[:, None]
    assert not (own & counted).any()
    later = found.indices > np.maximum(np.arange(N), 1)[:, None]
    assert not (later & counted).any()
    np.testing.assert_allclose(found.shares.sum(1), 1, atol=1e-5)


def test_groups_of_validation_rows():
    model = ModernNCAClassifier(**OPTIONS)
    valid = (X[80:], Y[80:], np.r_[GROUPS[80:100], ["new"] * 20])
    model.fit(X[:80], Y[:80], groups=GROUPS[:80], eval_set=valid)
    found = model.explain(X[100:], n_neighbors=N, groups=["new"] * 20)
    assert not found.shares[found.indices >= 100].any()
    with pytest.raises(ValueError, match=r"With groups, eval_set must hold three"):
        model.fit(X[:80], Y[:80], groups=GROUPS[:80], eval_set=valid[:2])


def test_tuning_takes_groups():
    model = ModernNCAClassifier(**OPTIONS).set_params(n_members=1)
    model.tune(X, Y, groups=GROUPS, trials=1)
    assert model.rows_.group_names == tuple(sorted(set(GROUPS)))


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        (GROUPS[:7], "each of the 120 rows of X; got 7."),
        (np.c_[GROUPS, GROUPS], r"each of the 120 rows of X; got the shape \(120, 2\)"),
        (["a"] * N, r"names 1 group \('a'\), and a row needs neighbors of another"),
        ([None] * N, r"names 0 group \(all are missing\)"),
    ],
)
def test_bad_groups_are_refused(groups, message):
    with pytest.raises(ValueError, match=message):
        ModernNCAClassifier(**OPTIONS).fit(X, Y, groups=groups)


def test_groups_need_a_model_with_groups():
    model = ModernNCAClassifier(**OPTIONS).set_params(n_members=1).fit(X, Y)
    with pytest.raises(ValueError, match="fitted without groups; give groups to fit"):
        model.predict(X, groups=GROUPS)
