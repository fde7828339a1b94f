"""What fitted models say about themselves: expected scores, intervals, unlike rows."""

import numpy as np
import pandas as pd
import pytest
import torch

from modernnca import ModernNCAClassifier, ModernNCARegressor, load
from modernnca.ensemble.baselines import ConstantMember
from modernnca.ensemble.held_out import HeldOut
from modernnca.ensemble.moments import moments
from modernnca.errors import ModelFileError
from modernnca.evidence import unlikeness
from modernnca.evidence.score_error import r2_score

N_ROWS = 200
QUICK = {"max_epochs": 3, "random_state": 0, "device": "cpu"}
QUICK["config"] = {"baseline_check": False, "dim": 4}


def table(n_rows=N_ROWS, seed=0):
    rng = np.random.RandomState(seed)
    X = pd.DataFrame(rng.standard_normal((n_rows, 2)), columns=["a", "b"])
    X["site"] = rng.choice(["north", "south"], n_rows)
    noise = np.where(X["site"] == "north", 0.2, 3.0) * rng.standard_normal(n_rows)
    return X, 5 * X["a"].to_numpy() + 100 + noise


@pytest.fixture(scope="module")
def regressor():
    return ModernNCARegressor(n_members=2, **QUICK).fit(*table())


@pytest.fixture(scope="module")
def classifier():
    X, y = table()
    return ModernNCAClassifier(n_members=2, **QUICK).fit(
        X, np.where(y > 100, "hi", "lo")
    )


@pytest.fixture(scope="module")
def queries():
    return table(40, seed=1)[0]


def test_held_out_votes_are_those_of_the_model_before_it_learned_the_rows():
    X, y = table()
    model = ModernNCARegressor(n_members=1, refit="none", **QUICK).fit(X, y)
    held_out, target = model.held_out_, model.preparation_.target
    assert len(held_out) == 40
    assert not np.isin(held_out.index, model.rows_.index).any()
    predicted = target.decode(held_out.votes[:, 0])
    rows = X.iloc[held_out.index]
    np.testing.assert_allclose(predicted, model.predict(rows), rtol=1e-5)
    np.testing.assert_allclose(target.decode(held_out.truth), y[held_out.index])


def test_the_expected_score_is_that_of_the_held_out_votes(regressor, classifier):
    held_out, found = classifier.held_out_, classifier.expected_score_
    right = (held_out.votes.argmax(1) == held_out.truth).mean()
    assert (found.value, found.n_rows) == (pytest.approx(right), 40)
    assert classifier.loo().optimism == pytest.approx(classifier.loo().score - right)
    held_out, found = regressor.held_out_, regressor.expected_score_
    expected = r2_score(held_out.truth, held_out.votes[:, 0])
    assert found == expected


def test_the_error_of_r2_is_how_it_varies_between_samples():
    rng, found = np.random.RandomState(0), []
    for _ in range(400):
        y = rng.standard_normal(200)
        found.append(r2_score(y, y + 0.7 * rng.standard_normal(200)))
    values, errors, _ = np.array(found).T
    assert np.std(values) == pytest.approx(np.mean(errors), rel=0.1)


def test_moments_are_those_of_the_shares(regressor, queries):
    rows = regressor._read_queries(queries)
    found = moments(regressor.ensemble_, rows)
    values = regressor.ensemble_.remembered.values
    for place, member in enumerate(regressor.members_):
        with torch.inference_mode():
            shares = member.pairs(rows).shares
        mean, squares = (shares @ values)[:, 0], (shares @ values.square())[:, 0]
        np.testing.assert_allclose(found.votes[place, :, 0], mean, atol=1e-5)
        np.testing.assert_allclose(found.squares[place], squares, atol=1e-5)


def test_intervals_hold_the_prediction_and_grow_with_the_coverage(regressor, queries):
    narrow = regressor.predict_interval(queries, coverage=0.5)
    wide = regressor.predict_interval(queries, coverage=0.9)
    prediction = regressor.predict(queries)
    assert narrow.shape == (40, 2)
    assert (wide[:, 0] < narrow[:, 0]).all()
    assert (narrow[:, 0] < prediction).all()
    assert (prediction < narrow[:, 1]).all()
    assert (narrow[:, 1] < wide[:, 1]).all()


def test_quantiles_are_in_the_units_of_the_target(regressor, queries):
    found = regressor.predict_quantiles(queries, [0.05, 0.5, 0.95])
    assert found.shape == (40, 3)
    assert (np.diff(found, axis=1) > 0).all()
    assert np.abs(np.median(found[:, 1]) - 100) < 10
    np.testing.assert_array_equal(
        regressor.predict_quantiles(queries, 0.95), found[:, 2]
    )
    raw = regressor.predict_quantiles(queries, 0.5, calibrated=False)
    np.testing.assert_array_equal(
        raw, regressor.predict_distribution(queries).quantile(0.5)
    )


def test_groups_are_calibrated_by_themselves(regressor, queries):
    found = regressor.predict_interval(queries, coverage=0.8, by="site")
    same = regressor.predict_interval(queries, coverage=0.8)
    wider = (found[:, 1] - found[:, 0]) > (same[:, 1] - same[:, 0])
    south = (queries["site"] == "south").to_numpy()
    assert wider[south].all()
    assert not wider[~south].any()
    with pytest.raises(ValueError, match="by must be a column of the table: 'a', 'b'"):
        regressor.predict_interval(queries, by="place")


def test_groups_need_the_raw_rows(regressor, queries, tmp_path):
    regressor.save(tmp_path / "model", rows=False)
    model = load(tmp_path / "model", device="cpu")
    with pytest.raises(ValueError, match="save it with rows=True"):
        model.predict_interval(queries, by="site")


def test_sets_hold_probable_classes_first(classifier, queries):
    found = classifier.predict_set(queries, coverage=0.9)
    assert found.shape == (40, 2)
    assert found.dtype == bool
    probabilities = classifier.predict_proba(queries)
    assert (probabilities[found].min()) >= probabilities[~found].max() - 1e-9


def test_coverage_is_checked_before_anything_is_predicted(regressor, classifier):
    with pytest.raises(ValueError, match=r"coverage must be .* got 1.5"):
        regressor.predict_interval("no table", coverage=1.5)
    with pytest.raises(ValueError, match=r"coverage must be .* got 0"):
        classifier.predict_set("no table", coverage=0)


def test_without_held_out_rows_nothing_is_promised(queries):
    X, y = table(30)
    model = ModernNCARegressor(n_members=1, validation_fraction=0, **QUICK).fit(X, y)
    assert model.held_out_ is None
    assert model.expected_score_ is None
    assert model.loo().optimism is None
    with pytest.raises(ValueError, match="no held-out rows: it was fitted without"):
        model.predict_interval(queries)
    rows, truth = table(60, seed=2)
    model.calibrate_on(rows, truth)
    assert model.expected_score_.n_rows == 60
    assert model.predict_interval(queries).shape == (40, 2)


def test_intervals_of_rows_that_it_has_not_seen_are_about_this_very_model():
    X, y = table(30)
    model = ModernNCARegressor(n_members=1, validation_fraction=0, **QUICK).fit(X, y)
    rows, truth = table(400, seed=2)
    model.calibrate_on(rows, truth)
    assert model.expected_score_.value == pytest.approx(model.score(rows, truth))
    new, y_new = table(400, seed=3)
    low, high = model.predict_interval(new).T
    assert 0.86 < ((low <= y_new) & (y_new <= high)).mean() < 0.94


def test_calibration_rows_need_as_many_targets(regressor, queries):
    with pytest.raises(ValueError, match="X has 40 rows, but y has 3 targets"):
        regressor.calibrate_on(queries, [1.0, 2.0, 3.0])


def test_rows_like_the_training_rows_have_uniform_p_values():
    model = ModernNCARegressor(n_members=1, **QUICK).fit(*table(400))
    found = np.sort(model.ood_score(table(400, seed=3)[0]))
    uniform = np.arange(1, 401) / 401
    assert np.abs(found - uniform).max() < 0.11  # Kolmogorov-Smirnov, two samples


def test_far_rows_are_unlike_the_training_rows(regressor):
    rows = pd.DataFrame({"a": [50.0, 0.0], "b": [-50.0, 0.0], "site": "north"})
    found = regressor.ood_score(rows)
    assert found[0] == pytest.approx(1 / (N_ROWS + 1))
    assert found[1] > 0.5
    rows["site"] = ["mars", "mars"]
    assert (regressor.ood_score(rows) < 0.3).all()


def test_known_rows_are_compared_with_others():
    X, y = table(60)
    model = ModernNCARegressor(n_members=1, **QUICK).fit(X, y)
    rows, shape = model._encode(model.rows_.table), model.preparation_.shape
    wide = unlikeness._side_by_side(rows, shape)
    distances = torch.cdist(wide, wide).fill_diagonal_(torch.inf)
    typical = distances.topk(5, largest=False).values.mean(1).numpy()
    query = table(10, seed=5)[0]
    asked = unlikeness._side_by_side(model._read_queries(query), shape)
    own = torch.cdist(asked, wide).topk(5, largest=False).values.mean(1).numpy()
    expected = (1 + (typical[None] >= own[:, None]).sum(1)) / 61
    np.testing.assert_allclose(model.ood_score(query), expected)


def test_unlike_rows_need_the_raw_rows(regressor, queries, tmp_path):
    regressor.save(tmp_path / "model", rows=False)
    model = load(tmp_path / "model", device="cpu")
    with pytest.raises(ValueError, match="ood_score needs the raw rows"):
        model.ood_score(queries)


def test_abstaining_masks_unlike_rows(regressor, classifier, queries):
    for model in (regressor, classifier):
        found = model.predict(queries, abstain=0.3)
        np.testing.assert_array_equal(found.mask, model.ood_score(queries) < 0.3)
        assert found.mask.any()
        np.testing.assert_array_equal(found.data, model.predict(queries))
        with pytest.raises(ValueError, match="abstain must be between 0 and 1"):
            model.predict(queries, abstain=1)


def test_a_file_keeps_the_held_out_rows(regressor, classifier, queries, tmp_path):
    for model, ask in ((regressor, "predict_interval"), (classifier, "predict_set")):
        model.save(tmp_path / "model")
        again = load(tmp_path / "model", device="cpu")
        assert again.expected_score_ == model.expected_score_
        found, expected = getattr(again, ask)(queries), getattr(model, ask)(queries)
        np.testing.assert_array_equal(found, expected)


def test_an_earlier_file_has_none(regressor, queries, monkeypatch, tmp_path):
    import modernnca.estimators.persistence as persistence

    state = persistence._state
    monkeypatch.setattr(
        persistence,
        "_state",
        lambda *a, **o: {n: v for n, v in state(*a, **o).items() if n != "held_out"},
    )
    regressor.save(tmp_path / "model")
    model = load(tmp_path / "model", device="cpu")
    assert model.held_out_ is None
    with pytest.raises(ValueError, match="saved by an earlier version"):
        model.predict_interval(queries)


BAD = {
    "truth": (np.full(40, 0.5), "of unknown classes"),
    "votes": (np.full((40, 2), 2.0), "probabilities of held-out rows are out of range"),
    "neighbors": (np.full(40, -1.0), "spreads of held-out rows are negative"),
    "index": (np.full(40, -1), "held-out rows have negative numbers"),
    "members": (np.zeros(39), "members of held-out rows has the shape"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_file_with_impossible_held_out_rows_is_refused(name, classifier, tmp_path):
    part, message = BAD[name]
    good = classifier.held_out_
    classifier.held_out_ = HeldOut(**{**good.state(), name: part})
    try:
        classifier.save(tmp_path / "model")
    finally:
        classifier.held_out_ = good
    with pytest.raises(ModelFileError, match=message):
        load(tmp_path / "model")


def test_a_constant_has_intervals_of_one_width(queries):
    X, y = table()
    model = ModernNCARegressor(members=[ConstantMember()], **QUICK).fit(X, y)
    assert np.ptp(model.predict_interval(queries), axis=0) == pytest.approx([0, 0])
