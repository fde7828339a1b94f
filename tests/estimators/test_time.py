"""A time column: what is held out, what the time becomes, and who votes on whom."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.base import clone
from tests.estimators.models import classifier, regressor
from tests.estimators.tables import classes_of, mixed_table, numbers_of

from modernnca import (
    LNCAClassifier,
    TabConRegressor,
    load,
)
from modernnca.errors import TableError
from modernnca.tune.space import Int

FRAME = mixed_table()
LABELS, NUMBERS = classes_of(FRAME), numbers_of(FRAME)
QUICK = {"max_epochs": 2, "n_members": 1, "baseline_check": False, "random_state": 0}
TIMED = {**QUICK, "time_column": "day", "past_only": "prediction"}


def test_without_a_time_column_nothing_changes():
    plain = regressor(**QUICK).fit(FRAME, NUMBERS)
    timed = regressor(
        **{**TIMED, "past_only": "never"},
        time_features="column",
        validation_split="random",
    ).fit(FRAME, NUMBERS)
    assert (timed.predict(FRAME) == plain.predict(FRAME)).all()
    assert plain.preparation_.times is None


@pytest.mark.parametrize("rows", ["last", "blocks"])
@pytest.mark.parametrize("column", ["day", 4])
def test_rows_are_held_out_by_time(rows, column):
    model = classifier(
        **{**TIMED, "time_column": column}, validation_split=rows, refit="none"
    )
    index = model.fit(FRAME, LABELS).rows_.index
    days = FRAME["day"].iloc[index]
    held = FRAME["day"].drop(index=index)
    assert len(held) == 24
    if rows == "last":
        assert held.min() >= days.max()
    else:
        assert held.min() < days.quantile(0.2) < days.quantile(0.8) < held.max()


def test_the_future_does_not_vote():
    model = regressor(**TIMED).fit(FRAME, NUMBERS)
    before = model.predict(FRAME)
    june = np.datetime64("2024-06-01")
    y = NUMBERS[model.rows_.index]
    y[model.rows_.table.columns["day"] >= june] += 1000
    changed = model.preparation_.part(replace(model.rows_, y=y), torch.device("cpu"))
    for member in model.members_:
        member.remember(changed.encoded)
    after, past = model.predict(FRAME), (FRAME["day"] < june).to_numpy()
    np.testing.assert_array_equal(after[past], before[past])
    assert (after[~past] > before[~past]).all()


@pytest.mark.parametrize("n_members", [1, 2])
def test_neighbors_are_of_the_past(n_members):
    model = classifier(**{**TIMED, "n_members": n_members})
    model.fit(FRAME, LABELS)
    found = model.explain(FRAME, n_neighbors=len(FRAME))
    days = FRAME["day"].to_numpy()
    later = days[found.indices] > days[:, None]
    assert not found.shares[later].any()
    np.testing.assert_allclose(found.shares.sum(1), 1, rtol=1e-5)
    distances, indices = model.kneighbors(FRAME, n_neighbors=len(FRAME))
    later = days[indices] > days[:, None]
    assert np.isinf(distances[later]).all()
    assert np.isfinite(distances[~later]).all()
    assert (np.diff(later.astype(int)) >= 0).all()  # they come last


def test_beyond_the_voters_of_k_nn_come_rows_of_the_past():
    model = classifier(**TIMED, prediction="knn", n_neighbors=2).fit(FRAME, LABELS)
    late = FRAME[FRAME["day"] == FRAME["day"].max()]
    early = FRAME[FRAME["day"] <= FRAME["day"].sort_values().iloc[9]]
    for queries in (late, early):
        found = model.explain(queries, n_neighbors=4)
        days = queries["day"].to_numpy()
        n_past = (FRAME["day"].to_numpy() <= days[:, None]).sum(1)
        n_seen = np.isfinite(found.distances).sum(1)
        np.testing.assert_array_equal(n_seen, n_past.clip(1, 4))


def test_only_validation_and_always_change_what_is_learned():
    future = FRAME.assign(day=pd.Timestamp("2030-01-01"))
    found = {}
    for past_only in ("never", "prediction", "validation", "always"):
        model = regressor(**{**TIMED, "past_only": past_only})
        found[past_only] = model.fit(FRAME, NUMBERS).predict(future)
        found[past_only, "score"] = model.history_[0].score
    np.testing.assert_array_equal(found["prediction"], found["never"])
    assert found["validation", "score"] != found["never", "score"]
    assert (found["always"] != found["never"]).any()


@pytest.mark.parametrize("past_only", ["never", "prediction", "validation", "always"])
def test_all_rows_vote_on_later_queries(past_only):
    model = regressor(**{**TIMED, "past_only": past_only}).fit(FRAME, NUMBERS)
    whole = model.predict(FRAME.assign(day=pd.Timestamp("2030-01-01")))
    unknown = model.predict(FRAME.assign(day=pd.NaT))
    assert np.isfinite([whole, unknown]).all()
    if past_only != "never":
        times = [
            model._read_queries(FRAME.assign(day=day)).time
            for day in (pd.NaT, FRAME["day"].max())
        ]
        assert (times[0] == times[1]).all()


@pytest.mark.parametrize(
    ("features", "treatment"),
    [
        ("column", "days, month, day, weekday, standardized"),
        ("fourier", "13 Fourier features"),
        ("both", "days, month, day, weekday, standardized, 13 Fourier features"),
        ("seasons", "12 Fourier features"),
        ("none", "dropped"),
    ],
)
def test_what_becomes_of_the_time_column(features, treatment):
    model = classifier(**TIMED, time_features=features).fit(FRAME, LABELS)
    described = model.preparation_.preprocessor.describe()
    treatments = {column["name"]: column["treatment"] for column in described}
    assert treatments["day"] == treatment
    moved = FRAME.assign(day=FRAME["day"] + pd.Timedelta("400D"))
    same = (model.transform(FRAME) == model.transform(moved)).all()
    assert same == (features == "none")


@pytest.mark.parametrize("column", ["day", "text", "weight"])
@pytest.mark.parametrize("rows", [True, False])
def test_files_keep_the_time(tmp_path, column, rows):
    frame = FRAME.assign(text=FRAME["day"].dt.strftime("%Y-%m-%d"))
    settings = {**TIMED, "time_column": column, "time_features": "both"}
    model = classifier(**settings, validation_split="blocks")
    model.fit(frame, LABELS).save(tmp_path / "m.mnca", rows=rows)
    again = load(tmp_path / "m.mnca")
    expected = model.predict_proba(frame)
    np.testing.assert_array_equal(again.predict_proba(frame), expected)
    assert again.get_params()["time_column"] == column
    with pytest.raises(TableError, match=f"lacks the time_column '{column}' of the"):
        again.predict(frame.drop(columns=column))


def test_clones_and_tuning_use_the_time():
    model = regressor(**TIMED, validation_split="last")
    assert clone(model).get_params() == model.get_params()
    model.tune(FRAME, NUMBERS, trials=2, space={"dim": Int(4, 8)})
    held = np.argsort(FRAME["day"].to_numpy(), kind="stable")[-24:]
    alone = clone(model).set_params(refit="none").fit(FRAME, NUMBERS)
    assert set(alone.rows_.index).isdisjoint(held)
    error = np.sqrt(np.mean((alone.predict(FRAME.iloc[held]) - NUMBERS[held]) ** 2))
    assert model.best_score_ == pytest.approx(-error)


@pytest.mark.parametrize("kind", [LNCAClassifier, TabConRegressor])
def test_relatives_use_the_time(kind):
    y = LABELS if kind is LNCAClassifier else NUMBERS
    options = {**TIMED, "past_only": "always", "validation_split": "last"}
    model = classifier(kind, **options)
    assert len(model.fit(FRAME, y).predict(FRAME)) == len(FRAME)


def test_an_eval_set_has_times_of_its_own():
    late = FRAME.assign(day=FRAME["day"] + pd.Timedelta("900D"))
    model = regressor(**TIMED).fit(FRAME, NUMBERS, eval_set=(late, NUMBERS))
    times = model.ensemble_.remembered.time
    assert len(times) == 240
    assert times[:120].max() < times[120:].min()


@pytest.mark.parametrize("features", ["fourier", "seasons", "none"])
def test_time_may_be_all_there_is(features):
    hours = pd.DataFrame({"when": pd.date_range("2024-01-01", periods=20, freq="h")})
    model = regressor(**QUICK, time_column="when", time_features=features).fit(
        hours, np.arange(20.0)
    )
    assert np.isfinite(model.predict(hours)).all()


def test_rows_may_all_have_happened_at_once():
    frame = FRAME.assign(day=pd.Timestamp("2024-01-01"))
    model = classifier(**TIMED, time_features="both", validation_split="last")
    assert len(model.fit(frame, LABELS).predict(FRAME)) == len(FRAME)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"time_column": "noon"}, "Unknown column 'noon' in time_column; the columns"),
        ({"time_column": 9}, "Unknown column 9 in time_column"),
        ({"time_column": "color"}, "'color' must hold dates or numbers, but holds 're"),
        (
            {"time_column": "size", "categorical_features": ["size"]},
            "The time_column 'size' is also listed in categorical_features; remove it",
        ),
        ({"past_only": "always"}, "past_only='always' needs to know when rows happ"),
        ({"validation_split": "last"}, "validation_split='last' needs .* time_column"),
        ({"time_features": "none"}, "time_features='none' needs .* time_column"),
        (
            {"time_column": "day", "past_only": "yes"},
            "past_only must be one of: always, never, prediction, validation; got",
        ),
        (
            {"time_column": "day", "validation_split": "first"},
            "validation_split must be one of: blocks, last, random; got 'first'",
        ),
        (
            {"time_column": "day", "time_features": "sin"},
            "time_features must be one of: both, column, fourier, none, seasons; got",
        ),
    ],
)
def test_errors_name_the_way_out(settings, words):
    with pytest.raises(ValueError, match=words):
        classifier(**{**QUICK, **settings}).fit(FRAME, LABELS)
