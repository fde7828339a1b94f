"""Explanations: shares give back predictions, columns add up to distances."""

import numpy as np
import pandas as pd
import pytest

import modernnca
from modernnca import PRESETS, KNNMember, ModernNCAClassifier, ModernNCARegressor
from modernnca.core.distances import DISTANCES
from modernnca.core.encodings import ENCODINGS
from modernnca.ensemble.baselines import ConstantMember
from modernnca.ensemble.forest_member import ForestMember
from modernnca.ensemble.network_member import NetworkMember

N = 60
RNG = np.random.RandomState(0)
X = pd.DataFrame(
    {
        "income": RNG.randn(N),
        "town": RNG.choice(["<b>Ulm</b>", "Bonn", None], N),
        "noise": RNG.randn(N),
        "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(RNG.randint(0, 99, N), "D"),
        "owner": RNG.rand(N) > 0.5,
        "constant": 7.0,
    }
)
SIGNAL = X["income"].to_numpy() + 2 * (X["town"] == "Bonn").to_numpy()
LABELS = np.array(["no", "yes"])[(SIGNAL > 0.5).astype(int)]
OPTIONS = {"max_epochs": 2, "random_state": 0}


def check(model, *, n_queries=7):
    """Shares add to one and to the vote; columns add to the distances."""
    queries, n_rows = X[:n_queries], len(model.rows_.index)
    found = model.explain(queries, n_neighbors=n_rows)
    np.testing.assert_allclose(found.shares.sum(1) + found.rest, 1, atol=1e-5)
    if isinstance(model, ModernNCAClassifier):
        onehot = (found.targets[..., None] == model.classes_).astype(float)
        votes = (found.shares[..., None] * onehot).sum(1)
        np.testing.assert_allclose(
            model.calibration_(votes), model.predict_proba(queries), atol=1e-5
        )
    else:
        votes = (found.shares * found.targets).sum(1)
        np.testing.assert_allclose(votes, model.predict(queries), rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(found.prediction, model.predict(queries))
    assert found.columns.shape == (n_queries, n_rows, X.shape[1])
    np.testing.assert_allclose(
        found.columns.sum(2), found.distances, rtol=1e-5, atol=1e-5
    )
    assert not found.columns[:, :, -1].any()  # the constant column is not used
    assert found.importances.shape == (n_queries, X.shape[1])
    total = found.importances.sum(1)
    assert (np.isclose(total, 1) | (total == 0)).all()
    assert ((found.n_effective >= 1 - 1e-4) & (found.n_effective <= N + 1e-3)).all()


@pytest.mark.parametrize("preset", PRESETS)
def test_presets_explain_their_votes(preset):
    model = ModernNCAClassifier(preset=preset, n_members=2, **OPTIONS).fit(X, LABELS)
    check(model)


@pytest.mark.parametrize(
    "members",
    [
        [KNNMember()],
        [ConstantMember()],
        [ForestMember()],
        [NetworkMember(), KNNMember(3), ForestMember()],
    ],
    ids=lambda members: "+".join(member.kind for member in members),
)
@pytest.mark.parametrize("kind", [ModernNCAClassifier, ModernNCARegressor])
def test_members_explain_their_votes(members, kind):
    model = kind(members=members, config={"baseline_check": False}, **OPTIONS)
    check(model.fit(X, LABELS if kind is ModernNCAClassifier else SIGNAL))


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("distance", DISTANCES)
def test_distances_and_encodings_explain_their_votes(distance, encoding):
    config = {"distance": distance, "encoding": encoding, "baseline_check": False}
    kind, y = (
        (ModernNCAClassifier, LABELS)
        if len(distance + encoding) % 2
        else (ModernNCARegressor, SIGNAL)
    )
    model = kind(preset="fast", n_members=2, config=config, **OPTIONS)
    check(model.fit(X, y))


@pytest.fixture(scope="module")
def model():
    return ModernNCAClassifier(n_members=3, max_epochs=25, random_state=0).fit(
        X, LABELS
    )


@pytest.fixture(scope="module")
def regressor():
    return ModernNCARegressor(n_members=3, max_epochs=25, random_state=0).fit(X, SIGNAL)


def test_it_unpacks_as_four_arrays(model):
    indices, shares, distances, rest = model.explain(X[:5], n_neighbors=4)
    assert indices.shape == shares.shape == distances.shape == (5, 4)
    assert rest.shape == (5,)


def test_few_queries_change_nothing(model):
    whole, single = model.explain(X[:5]), model.explain(X[4:5])
    np.testing.assert_array_equal(whole.indices[4:], single.indices)
    np.testing.assert_allclose(whole.columns[4:], single.columns, atol=1e-6)
    np.testing.assert_allclose(whole.n_effective[4:], single.n_effective, rtol=1e-4)


def test_the_effective_number_is_that_of_the_shares(model):
    found = model.explain(X[:5], n_neighbors=N)
    expected = 1 / np.square(found.shares).sum(1)
    np.testing.assert_allclose(found.n_effective, expected, rtol=1e-4)


def test_columns_of_noise_have_less_importance(model, regressor):
    for each in (model, regressor):
        means = dict(zip(X.columns, each.explain(X).mean_importances, strict=True))
        signal = means["income"] + means["town"]
        assert signal > 2 * (means["noise"] + means["day"])
        assert means["constant"] == 0


def test_counterfactuals_are_the_nearest_of_another_class(model):
    found = model.explain(X[:9])
    others = found.counterfactuals
    distances, indices = model.kneighbors(X[:9], n_neighbors=N)
    for b in range(9):
        disagree = LABELS[indices[b]] != found.prediction[b]
        np.testing.assert_array_equal(others.indices[b], indices[b][disagree][:3])
        np.testing.assert_allclose(
            others.distances[b], distances[b][disagree][:3], rtol=1e-5
        )
    assert (others.targets != found.prediction[:, None]).all()
    np.testing.assert_allclose(
        others.columns.sum(2), others.distances, rtol=1e-5, atol=1e-5
    )
    for place, name in enumerate(X.columns):
        own, cells = X[name].to_numpy()[:9, None], X[name].to_numpy()[others.indices]
        missing = pd.isna(own) & pd.isna(cells)
        expected = (own != cells) & ~missing
        np.testing.assert_array_equal(others.differs[:, :, place], expected)


def test_counterfactuals_of_numbers_are_a_deviation_away(regressor):
    found = regressor.explain(X[:9])
    others = found.counterfactuals
    away = np.abs(others.targets - found.prediction[:, None])
    known = others.indices >= 0
    assert known.any()
    deviation = regressor.preparation_.target.scale_  # of the training part
    assert (away[known] >= deviation * (1 - 1e-5)).all()


def test_without_disagreement_there_is_no_counterfactual():
    table = pd.DataFrame({"a": np.arange(40.0)})
    y = np.r_[np.zeros(39), 1]
    model = ModernNCAClassifier(members=[ConstantMember()], random_state=0).fit(
        table, y
    )
    others = model.explain(table[:2]).counterfactuals
    assert (others.indices[:, 0] == 39).all()
    assert (others.indices[:, 1:] == -1).all()
    assert np.isinf(others.distances[:, 1:]).all()


def test_a_file_without_rows_says_what_it_lacks(model, tmp_path):
    model.save(tmp_path / "model", rows=False)
    found = modernnca.load(tmp_path / "model").explain(X[:2])
    np.testing.assert_array_equal(found.indices, model.explain(X[:2]).indices)
    np.testing.assert_array_equal(found.targets, model.explain(X[:2]).targets)
    for ask in (
        lambda: found.columns,
        lambda: found.importances,
        lambda: found.counterfactuals,
        lambda: found.to_frame(),
    ):
        with pytest.raises(ValueError, match=r"saved without them; save it with rows="):
            ask()


def test_unknown_row_numbers_are_refused(model):
    with pytest.raises(ValueError, match="There is no remembered row 99; the rows are"):
        model.explain(X[:1]).values(np.array([[99]]))


@pytest.mark.parametrize("bad", [0, N + 1, 2.5])
def test_bad_numbers_of_neighbors_are_refused(model, bad):
    with pytest.raises(ValueError, match="n_neighbors must be between 1 and"):
        model.explain(X[:1], n_neighbors=bad)


def test_the_frame_has_a_line_for_each_neighbor(model):
    found = model.explain(X[:5], n_neighbors=4)
    frame = found.to_frame()
    assert len(frame) == 20
    assert [*frame.columns[:6]] == [
        "query",
        "prediction",
        "neighbor",
        "share",
        "distance",
        "target",
    ]
    for name in X.columns:
        expected = X[name].to_numpy()[frame["neighbor"]]
        cells = frame[name].to_numpy()
        same = (cells == expected) | (pd.isna(cells) & pd.isna(expected))
        assert same.all()
    near = frame[[f"{name} (part)" for name in X.columns]].to_numpy().sum(1)
    np.testing.assert_allclose(near, frame["distance"], rtol=1e-5, atol=1e-5)


def test_what_sets_a_rare_class_apart_is_important():
    # Rows of the table differ most in columns with long tails, which say nothing.
    rng = np.random.RandomState(0)
    table = pd.DataFrame(np.exp(2 * rng.randn(600, 3)), columns=["a", "b", "c"])
    table["sign"] = rng.randn(600)
    rare = table["sign"].to_numpy() > 1.8
    model = ModernNCAClassifier(preset="fast", max_epochs=20, random_state=0)
    found = model.fit(table, rare).explain(table[:50])
    assert found.mean_importances[3] > 0.6
    chosen = found._explainer._others(np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]]))
    assert (rare[found._explainer.remembered.index[chosen]].mean(1) == [1, 0, 1]).all()
    np.testing.assert_array_equal(chosen[0], chosen[2])  # whoever else is asked for


def test_numbers_far_from_the_vote_are_what_it_is_compared_with():
    y = X["income"].to_numpy()
    model = ModernNCARegressor(preset="fast", **OPTIONS).fit(X, y)
    explainer = model.explain(X[:1])._explainer
    far = model.preparation_.target.encode(y)[explainer.remembered.index]
    chosen = explainer._others(np.array([[far.max()], [far.min()]]))
    assert far[chosen[0]].mean() < far.mean() < far[chosen[1]].mean()
