import sys

import numpy as np
import pandas as pd
import pytest

import modernnca
from modernnca import ModernNCAClassifier, ModernNCARegressor
from modernnca.estimators.audited_model import leave_one_out_votes
from modernnca.estimators.cross_votes import cross_votes
from modernnca.evidence.pages import page, part, table
from modernnca.evidence.wide_votes import spread_of_voters, wide_votes

HOSTILE = "<script>document.title='taken'</script>&\"'"
N, START = 240, pd.Timestamp("2024-01-01")


def shop():
    """A table with an identifier, gaps, dates, duplicates and a column without use."""
    rng = np.random.RandomState(0)
    frame = pd.DataFrame(
        {
            "id": np.arange(N),
            "age": rng.normal(40, 10, N).round(2),
            HOSTILE: rng.choice(["red", HOSTILE], N),
            "gap": np.where(rng.rand(N) < 0.7, np.nan, rng.randn(N)),
            "when": START + pd.to_timedelta(rng.randint(0, 900, N), "h"),
            "one": 7,
        }
    )  # fmt: skip
    y = np.where(frame["age"] > 40, "yes", "no").astype(object)
    frame.loc[N - 2, frame.columns[1:]] = frame.loc[3, frame.columns[1:]]
    frame.loc[N - 1, frame.columns[1:]] = frame.loc[4, frame.columns[1:]]
    frame.loc[N - 1, "age"] += 0.005
    y[[N - 2, N - 1]] = y[[3, 4]]
    y[N - 2] = "no" if y[3] == "yes" else "yes"
    return frame.infer_objects(), y


X, Y = shop()
FAR = np.flatnonzero(np.abs(X["age"] - 40) > 6)
WRONG = [row for row in FAR if row not in (3, 4, N - 2, N - 1)][:8]
GIVEN = Y.copy()
GIVEN[WRONG] = np.where(Y[WRONG] == "yes", "no", "yes")
OTHER = X.iloc[:60].assign(age=lambda f: f["age"] + 60).reset_index(drop=True)
OTHER = pd.concat([OTHER, X.iloc[[11]]], ignore_index=True)
OTHER_Y = np.where(OTHER["age"] > 40, "yes", "no")


@pytest.fixture(scope="module")
def model():
    columns = {"preset": "fast", "max_epochs": 8, "random_state": 0, "device": "cpu"}
    with pytest.warns(UserWarning, match="identifier"):
        return ModernNCAClassifier(**columns).fit(X, GIVEN)


@pytest.fixture(scope="module")
def audit(model):
    return model.audit(OTHER, OTHER_Y)


def test_wrong_labels_come_first_with_the_right_one_and_the_rows_that_say_so(audit):
    labels = audit.labels
    assert sorted(labels["row"]) == list(range(N))
    first = labels.head(12)
    assert len({*WRONG} & {*first["row"]}) >= 6
    for _, line in first[first["row"].isin(WRONG)].iterrows():
        assert (line["given"], line["suggested"]) == (
            GIVEN[line["row"]],
            Y[line["row"]],
        )
        voters = [int(row) for row in line["voters"].split(", ")]
        assert len(voters) == 5
        assert line["row"] not in voters
    assert labels["suspicion"].is_monotonic_decreasing
    assert audit.summary()["likely wrong targets"] == labels["likely"].sum() > 0


def test_votes_are_those_of_near_and_of_farther_rows(audit, model):
    labels = audit.labels.sort_values("row")
    near, far = leave_one_out_votes(model), wide_votes(model.ensemble_)
    np.testing.assert_allclose(far.sum(1), 1, atol=1e-4)
    assert far.max(1).mean() < near.max(1).mean()
    order = np.argsort(model.rows_.index)
    chosen = (near + far)[order].argmax(1)
    assert (labels["suggested"].to_numpy() == model.classes_[chosen]).all()


def test_duplicates_are_told_with_whether_their_targets_are_in_conflict(audit):
    lines = audit.duplicates.to_dict("records")
    assert [(x["row"], x["other"], x["kind"]) for x in lines] == [
        (N - 2, 3, "exact"),
        (N - 1, 4, "near"),
    ]
    assert [x["conflict"] for x in lines] == [True, GIVEN[4] != GIVEN[N - 1]]


def test_the_row_that_leaks_is_found(audit):
    lines = audit.leaks.to_dict("records")
    assert [(x["row"], x["other"], x["kind"]) for x in lines] == [(60, 11, "exact")]


def test_columns_and_drift_are_told(audit):
    problems = set(zip(audit.columns["column"], audit.columns["problem"], strict=True))
    assert problems == {("id", "identifier"), ("gap", "missing"), ("one", "constant")}
    assert audit.drift.iloc[0]["column"] == "age"
    assert audit.drift["drifted"].tolist()[:2] == [True, False]


def test_unlike_rows_and_regions_are_told(audit):
    assert len(audit.unlike) > 30
    assert audit.unlike["p_value"].max() < 0.05
    assert audit.regions["rows"].sum() == N
    assert audit.regions["new_share"].sum() == pytest.approx(1)
    assert audit.regions["unknown"].any()
    assert audit.influence["share"].mean() == pytest.approx(1)


def test_targets_of_the_other_table_are_looked_at(audit, model):
    assert sorted(audit.new_labels["row"]) == list(range(len(OTHER)))
    wrong = model.predict(OTHER) != OTHER_Y
    assert audit.new_labels["likely"].sum() <= wrong.sum()


def test_without_another_table_its_frames_are_empty(model):
    alone = model.audit()
    for name in ("leaks", "drift", "unlike", "new_labels"):
        assert len(getattr(alone, name)) == 0
        assert "row" in getattr(alone, name) or name == "drift"
    assert "Leaks" not in alone._repr_html_()


def test_the_page_is_whole_and_escapes_what_the_table_says(audit, tmp_path):
    audit.to_html(tmp_path / "audit.html")
    text = (tmp_path / "audit.html").read_text()
    assert text.startswith("<!doctype html>")
    assert "<script" not in text
    assert "&lt;script&gt;" in text
    assert "http" not in text
    assert "prefers-color-scheme: dark" in text
    assert text.count('<svg role="img" aria-label="') == 3


def test_csv_goes_to_one_file_or_a_folder(audit, tmp_path):
    audit.to_csv(tmp_path / "all.csv")
    whole = pd.read_csv(tmp_path / "all.csv", low_memory=False)
    assert (whole["part"] == "labels").sum() == N
    audit.to_csv(tmp_path / "folder")
    again = pd.read_csv(tmp_path / "folder" / "duplicates.csv")
    assert again["row"].tolist() == [N - 2, N - 1]


def test_a_loaded_model_is_audited_alike(model, audit, tmp_path):
    model.save(tmp_path / "m.mnca")
    again = modernnca.load(tmp_path / "m.mnca", device="cpu").audit(OTHER, OTHER_Y)
    for name, held in audit.frames():
        pd.testing.assert_frame_equal(getattr(again, name), held)


def test_numbers_have_residuals_and_their_own_units():
    rng = np.random.RandomState(0)
    x = rng.randn(200, 3)
    y = 1000 * x[:, 0] + 50
    y[17] = 9000.0
    model = ModernNCARegressor(
        members=["knn"], random_state=0, device="cpu", config={"refit": "remember"}
    ).fit(x, y)
    first = model.audit().labels.iloc[0]
    assert first["row"] == 17
    assert first["given"] == pytest.approx(9000)
    assert abs(first["suggested"]) < 3000
    assert first["residual"] > 4


def test_bad_input_gets_a_sentence_with_the_way_out(model, tmp_path, monkeypatch):
    with pytest.raises(ValueError, match="y was given without X; give the rows"):
        model.audit(y=GIVEN)
    with pytest.raises(
        ValueError, match="X has 61 rows, but y has 3 targets; give one"
    ):
        model.audit(OTHER, GIVEN[:3])
    with pytest.raises(ValueError, match=r"The table lacks the column 'age'"):
        model.audit(OTHER.drop(columns="age"))
    with pytest.raises(ValueError, match="The label 'maybe' is not a class"):
        model.audit(OTHER.head(1), ["maybe"])
    with pytest.raises(ValueError, match=r"0 sample\(s\)"):
        model.audit(OTHER.head(0))
    model.save(tmp_path / "m.mnca", rows=False)
    with pytest.raises(ValueError, match=r"saved without them; save it with save\("):
        modernnca.load(tmp_path / "m.mnca").audit()
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"pip install 'modernnca\[audit\]'"):
        model.audit()


def test_an_unfitted_model_says_so():
    with pytest.raises(ValueError, match="not fitted yet"):
        ModernNCAClassifier().audit()


def test_parts_of_pages_escape_text():
    assert "<script" not in page(HOSTILE, part(table([HOSTILE], [[HOSTILE]])))


def test_votes_of_a_cross_fit_are_of_models_that_did_not_see_the_row(model):
    votes = leave_one_out_votes(model)
    found = cross_votes(model, votes, 3)
    assert found.shape == votes.shape
    np.testing.assert_allclose(found.sum(1), 1, atol=1e-5)
    assert not np.isclose(found, votes).all(1).any()
    with pytest.raises(
        ValueError, match=r"n_folds must be 0, or between 2 and .* got 1"
    ):
        model.audit(n_folds=1)
    labels = model.audit(n_folds=2).labels
    assert len({*WRONG} & {*labels["row"].head(12)}) >= 6


def test_a_cross_fit_in_regression_has_the_units_of_the_target():
    rng = np.random.RandomState(0)
    x = rng.randn(90, 2)
    y = 1000 * x[:, 0] + 500
    model = ModernNCARegressor(
        preset="fast", max_epochs=8, random_state=0, device="cpu"
    )
    model.fit(x, y)
    found = cross_votes(model, leave_one_out_votes(model), 2)
    predicted = model.preparation_.target.decode(found[:, 0])
    truth = y[model.rows_.index]
    assert np.corrcoef(predicted, truth)[0, 1] > 0.7
    assert abs((predicted - truth).mean()) < 300


def test_a_class_of_one_row_keeps_its_own_votes_in_a_cross_fit():
    rng = np.random.RandomState(0)
    x, y = rng.randn(40, 2), np.array(["a", "b"] * 19 + ["c", "c"])
    y[-1] = "d"
    model = ModernNCAClassifier(
        members=["knn"], random_state=0, device="cpu", config={"baseline_check": False}
    ).fit(x, y, eval_set=(x[:10], y[:10]))
    votes = leave_one_out_votes(model)
    alone = np.isin(model.loo().y, ["c", "d"])
    order = np.argsort(model.rows_.index, kind="stable")
    found = cross_votes(model, votes, 2)
    assert alone.sum() == 2
    np.testing.assert_array_equal(found[order][alone], votes[order][alone])


def test_the_spread_of_voters_is_that_of_their_targets():
    x = np.arange(40.0)[:, None]
    model = ModernNCARegressor(
        members=["constant"], random_state=0, config={"baseline_check": False}
    ).fit(x, np.r_[x[:39, 0], 500.0])
    values = model.ensemble_.remembered.values[:, 0].double().numpy()
    others = [np.delete(values, row).std() for row in range(40)]
    found = spread_of_voters(model.ensemble_)
    np.testing.assert_allclose(found, others, rtol=1e-4)
